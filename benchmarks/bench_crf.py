"""What the CRF tagger reaches, and what it costs, as Markdown.

DEID_CORPORA=<folder with annotated/ and raw/> python benchmarks/bench_crf.py [--part meddocan ...]

``meddocan`` and ``turku-ner`` train on the train part and score the development part, which decided
nothing: settings were chosen on the train part of MEDDOCAN alone. ``folds`` cross-validates on
development sets that are too small to be split. Spans are right when boundaries and the corpus' own
label are. ``synthetic`` trains on notes of the generator and asks what the union of rules and CRF
gains, and what it covers needlessly, on corpora that neither has seen. ``speed`` trains on English
synthetic notes and reads 400 others of 2 KB with some 18 identifiers; with ``--processes`` also in
as many processes at once, each with its share of the notes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from conditions import conditions
from crf_speed import show_speed

from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi, profile
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.core.tagging import TagScheme, tokenize
from deid_assets.core.trainer import Document, Epoch, Task, label_inventory, tag_label
from deid_assets.evaluation.score import Evaluation, Scheme, evaluate_corpus
from deid_assets.formats import Fault, read_notes
from deid_assets.plugins import load
from deid_crf import CrfDetector, CrfTrainer
from deid_synthesis import languages, make_corpus

GROUPING = 1000
"""More sentences than a note has: one sequence per note."""
SEED = 1
SPLIT = {"meddocan": ("meddocan", "meddocan"), "turku-ner": ("turku-ner-fi", "turku_ner")}
"""Sets with a train part: folder and label map."""
FOLDED = {
    "grascco": ("grascco-phi/dev.jsonl", "grascco"),
    "eds-pseudo": ("eds-pseudo-templates/dev.jsonl", "eds_pseudo"),
    "asq-phi": ("asq-phi/dev.jsonl", "asq_phi"),
}
FOLDS = 5
JUDGED = {
    "asq-phi": ("asq-phi/dev.jsonl", "asq_phi", "safe_harbor"),
    "grascco": ("grascco-phi/dev.jsonl", "grascco", "i2b2"),
    "eds-pseudo": ("eds-pseudo-templates/dev.jsonl", "eds_pseudo", "i2b2"),
    "meddocan": ("meddocan/dev.jsonl", "meddocan", "i2b2"),
}
"""Sets on which the synthetic model is judged.

File, label map, and the profile that the rules run under.
"""
RAW = {
    "mtsamples": ("mtsamples/notes.jsonl", "en"),
    "case reports, en": ("case-reports-ccby/en.jsonl", "en"),
    "case reports, es": ("case-reports-ccby/es-nubes.jsonl", "es"),
    "case reports, fr": ("case-reports-ccby/fr.jsonl", "fr"),
    "case reports, it": ("case-reports-ccby/it.jsonl", "it"),
}
RAW_NOTES = 250
SCORES = (0.5, 0.9, 0.95, 0.99, 0.999)
PARTS = (*SPLIT, "folds", "synthetic", "speed")


class Trained(NamedTuple):
    """A model and what it cost."""

    detector: CrfDetector
    cpu_s: float
    wall_s: float
    load_s: float
    megabytes: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="all when not given")
    parser.add_argument(
        "--settings", type=json.loads, default={}, help="JSON, in place of the defaults"
    )
    parser.add_argument("--scheme", type=TagScheme, choices=list(TagScheme), default=TagScheme.BIO)
    parser.add_argument("--notes", type=int, default=25, help="synthetic notes per language")
    parser.add_argument(
        "--processes", type=int, default=1, help="of speed: how many read at once, from 2 on"
    )
    options = parser.parse_args()
    root = Path(os.environ.get("DEID_CORPORA", ""))
    if not (root / "annotated").is_dir():
        sys.exit(f"{root / 'annotated'} is not there; set DEID_CORPORA")
    print(conditions(str(SEED)))
    for part in options.part or PARTS:
        if part in SPLIT:
            _show_split(part, root, options.settings, options.scheme)
        elif part == "folds":
            _show_folds(root, options.settings, options.scheme)
        elif part == "speed":
            _show_speed(options.settings, options.scheme, options.processes)
        else:
            _show_synthetic(root, options.settings, options.scheme, notes=options.notes)


def _documents(path: Path, labels: str) -> list[Document]:
    found = []
    for read in read_notes(path, labels=label_map(labels)):
        if isinstance(read, Fault):
            sys.exit(read.message)
        spans = read.spans.spans if read.spans else ()
        found.append(Document(read.note, DisjointSpans(read.note.note_id, read.note.digest, spans)))
    return found


def _train(
    documents: Sequence[Document],
    out: Path,
    settings: Mapping[str, Any],
    scheme: TagScheme,
    *,
    native: bool,
) -> Trained:
    trainer = CrfTrainer()
    task = Task(
        phases=[documents],
        dev=[],
        labels=label_inventory(documents, native=native),
        native=native,
        scheme=scheme,
        grouping=GROUPING,
        seed=SEED,
        settings=trainer.settings(settings),
    )
    cpu, wall = time.process_time(), time.perf_counter()
    trainer.train(task, out, _progress)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    started = time.perf_counter()
    detector = CrfDetector(model=out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return Trained(detector, cpu, wall, time.perf_counter() - started, size / 1e6)


def _progress(epoch: Epoch) -> None:
    print(f"\r{epoch.epoch:4} {epoch.loss:12,.1f}", end="", file=sys.stderr, flush=True)


def _counts(documents: Sequence[Document], detector: CrfDetector) -> dict[str, Counter[str]]:
    """True, false and missed spans by the corpus' label."""
    counted: dict[str, Counter[str]] = {}
    for document, found in zip(
        documents, detector.detect([each.note for each in documents]), strict=True
    ):
        gold, pred = (
            {(span.start, span.end, tag_label(span, native=True)) for span in spans}
            for spans in (document.spans, found)
        )
        for what, spans in (("true", gold & pred), ("false", pred - gold), ("missed", gold - pred)):
            for *_, label in spans:
                counted.setdefault(label, Counter())[what] += 1
    return counted


def _ratios(counts: Mapping[str, int]) -> str:
    true, false, missed = (counts.get(what, 0) for what in ("true", "false", "missed"))
    f1 = 2 * true / (2 * true + false + missed) if true + false + missed else 0.0
    return (
        f"{true + missed:,} | {true / max(true + false, 1):.3f} |"
        f" {true / max(true + missed, 1):.3f} | {f1:.4f} |"
    )


def _show_split(name: str, root: Path, settings: Mapping[str, Any], scheme: TagScheme) -> None:
    folder, labels = SPLIT[name]
    train, test = (
        _documents(root / "annotated" / folder / f"{part}.jsonl", labels)
        for part in ("train", "dev")
    )
    with tempfile.TemporaryDirectory() as out:
        trained = _train(train, Path(out), settings, scheme, native=True)
        tokens = sum(len(tokenize(document.note.text)) for document in test)
        speeds = []
        for _ in range(2):
            started = time.process_time()
            counted = _counts(test, trained.detector)
            speeds.append(tokens / (time.process_time() - started))
    print(f"\n### {name}: {len(train)} notes to train on, {len(test)} scored\n")
    print("| label | annotated | precision | recall | F1 |\n|:--|--:|--:|--:|--:|")
    for label, counts in sorted(counted.items()):
        print(f"| {label} | {_ratios(counts)}")
    print(f"| **all** | {_ratios(sum(counted.values(), Counter()))}")
    print(
        f"\nTrained in {trained.cpu_s:.0f} s of one core ({trained.wall_s:.0f} s by the clock);"
        f" {trained.megabytes:.1f} MB, loaded in {trained.load_s:.2f} s; {speeds[0]:,.0f} tokens/s"
        f" of CPU time, {speeds[1]:,.0f} the second time"
    )


def _show_folds(root: Path, settings: Mapping[str, Any], scheme: TagScheme) -> None:
    print(f"\n### {FOLDS}-fold cross-validation by note\n")
    print("| set | notes | spans | precision | recall | F1 |\n|:--|--:|--:|--:|--:|--:|")
    for name, (path, labels) in FOLDED.items():
        documents = _documents(root / "annotated" / path, labels)
        random.Random(SEED).shuffle(documents)
        total: Counter[str] = Counter()
        for fold in range(FOLDS):
            train = [
                document for number, document in enumerate(documents) if number % FOLDS != fold
            ]
            with tempfile.TemporaryDirectory() as out:
                trained = _train(train, Path(out), settings, scheme, native=True)
                total = sum(_counts(documents[fold::FOLDS], trained.detector).values(), total)
        print(f"| {name} | {len(documents)} | {_ratios(total)}", flush=True)


def _show_speed(settings: Mapping[str, Any], scheme: TagScheme, processes: int) -> None:
    documents = [
        Document(note, DisjointSpans(spans.note_id, spans.digest, spans.spans))
        for note, spans in make_corpus(lang="en", notes=100, seed=SEED)
    ]
    with tempfile.TemporaryDirectory() as out:
        _train(documents, Path(out), settings, scheme, native=False)
        show_speed(out, processes)


def _show_synthetic(
    root: Path, settings: Mapping[str, Any], scheme: TagScheme, *, notes: int
) -> None:
    documents = [
        Document(note, DisjointSpans(spans.note_id, spans.digest, spans.spans))
        for lang in languages()
        for note, spans in make_corpus(lang=lang, notes=notes, seed=SEED)
    ]
    with tempfile.TemporaryDirectory() as out:
        trained = _train(documents, Path(out), settings, scheme, native=False)
    print(
        f"\n### Trained on {len(documents)} synthetic notes in {trained.cpu_s:.0f} s,"
        f" {trained.megabytes:.1f} MB\n"
    )
    print(
        "| set | ensemble | strict F1 | recall | precision | characters | char. precision | spans"
        " covered |"
    )
    print("|:--|:--|--:|--:|--:|--:|--:|--:|")
    for name, (path, labels, rules_profile) in JUDGED.items():
        judged = _documents(root / "annotated" / path, labels)
        texts = [document.note for document in judged]
        rules = list(load("rules", options={"profile": rules_profile}).detect(texts))
        found = list(trained.detector.detect(texts))
        _show_ensemble(name, "rules", _evaluate(judged, rules, labels))
        for score in SCORES:
            merged = [
                _union(note, *pair, score=score)
                for note, *pair in zip(texts, rules, found, strict=True)
            ]
            _show_ensemble(name, f"rules + crf from {score}", _evaluate(judged, merged, labels))
    _show_raw(root, trained.detector)


def _union(note: Note, rules: SpanSet, found: SpanSet, *, score: float) -> SpanSet:
    sure = tuple(span for span in found if span.score >= score)
    return resolve(
        note, [rules, SpanSet(note.note_id, note.digest, sure)], ensemble=Ensemble(("rules", "crf"))
    )


def _evaluate(documents: Sequence[Document], found: Sequence[SpanSet], labels: str) -> Evaluation:
    return evaluate_corpus(
        ((document.spans, spans) for document, spans in zip(documents, found, strict=True)),
        profile=profile("i2b2"),
        scope=label_map(labels).categories,
        lengths={document.note.note_id: len(document.note.text) for document in documents},
    )


def _show_ensemble(name: str, ensemble: str, found: Evaluation) -> None:
    strict, chars = found.micro(Scheme.STRICT), found.characters
    ratios = (strict.f1, strict.recall, strict.precision, chars.recall, chars.precision)
    covered = found.micro(Scheme.COVERED).recall
    cells = ("-" if value is None else f"{value:.3f}" for value in (*ratios, covered))
    print(f"| {name} | {ensemble} | " + " | ".join(cells) + " |", flush=True)


def _show_raw(root: Path, detector: CrfDetector) -> None:
    print("\nCharacters covered per 10,000 where next to no patient is named, ages aside\n")
    print("| set | rules | " + " | ".join(f"+ crf from {score}" for score in SCORES) + " |")
    print("|:--|--:|" + "--:|" * len(SCORES))
    for name, (path, lang) in RAW.items():
        notes = list(_raw(root / "raw" / path, lang))
        pairs = list(zip(load("rules").detect(notes), detector.detect(notes), strict=True))
        chars = sum(len(note.text) for note in notes)
        covered = [
            sum(_count_covered(rules, found, score) for rules, found in pairs)
            for score in (2.0, *SCORES)
        ]
        print(
            f"| {name} | " + " | ".join(f"{1e4 * count / chars:.1f}" for count in covered) + " |",
            flush=True,
        )


def _raw(path: Path, lang: str) -> Iterator[Note]:
    """Notes at random from every second line: those that no vocabulary was counted in."""
    rows = path.read_text(encoding="utf-8").splitlines()[1::2]
    for number, row in enumerate(random.Random(SEED).sample(rows, min(RAW_NOTES, len(rows)))):
        yield Note(f"{number}", json.loads(row)["text"], lang=lang)


def _count_covered(rules: SpanSet, found: SpanSet, score: float) -> int:
    spans = [*rules, *(span for span in found if span.score >= score)]
    return len(
        {
            place
            for span in spans
            if span.label is not Phi.AGE
            for place in range(span.start, span.end)
        }
    )


if __name__ == "__main__":
    main()
