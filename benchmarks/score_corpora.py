"""Scores of rules, of presidio, and of both together on public development sets, as Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/score_corpora.py [--corpus meddocan ...]
[--detector rules]

None of the files is a test set. Categories are those of i2b2 2014; what a corpus does not annotate
is left out: a finding of a category that the corpus never marks is neither right nor wrong. Spans
are right when boundaries and category are; of characters, the share covered under any category is
given.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from conditions import conditions

from deid_assets.core.detector import Failed, detect
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import profile
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.score import Evaluation, Scheme, evaluate_corpus
from deid_assets.formats import Fault, read_notes
from deid_assets.plugins import load


class Corpus(NamedTuple):
    """A development set below ``annotated/``.

    Args:
        path: The file.
        labels: Its label map.
        annotated_under: The profile whose rules are used: in ASQ-PHI a bare year is not PHI.
        remark: What to know when reading its scores.
    """

    path: str
    labels: str
    annotated_under: str
    remark: str


CORPORA: Mapping[str, Corpus] = {
    "asq-phi": Corpus(
        "asq-phi/dev.jsonl",
        "asq_phi",
        "safe_harbor",
        "English queries, written by a model; titles are part of names",
    ),
    "meddocan": Corpus(
        "meddocan/dev.jsonl", "meddocan", "i2b2", "Spanish cases with identifiers planted by hand"
    ),
    "grascco": Corpus("grascco-phi/dev.jsonl", "grascco", "i2b2", "German letters, alienated"),
    "eds-pseudo": Corpus(
        "eds-pseudo-templates/dev.jsonl",
        "eds_pseudo",
        "i2b2",
        "French fragments, layout broken on purpose; given and family name are a span each, which"
        " no strict score of names shows",
    ),
    "deduce": Corpus(
        "deduce-cases-nl/cases.jsonl", "deduce", "i2b2", "Dutch regression cases of another tool"
    ),
    "turku-ner": Corpus(
        "turku-ner-fi/dev.jsonl",
        "turku_ner",
        "i2b2",
        "Finnish web text, not clinical: any place, organisation and span of time counts; products"
        " and events do not",
    ),
    "presidio-research": Corpus(
        "presidio-research-synth/synth_dataset_v2.jsonl",
        "presidio_research",
        "i2b2",
        "English templates, not clinical; nationalities and titles do not count",
    ),
    "legal-snippets": Corpus(
        "legal-snippets-cs-de-en/cases.jsonl",
        "stella",
        "i2b2",
        "Czech, German and English contracts; an address is one span, and any company counts",
    ),
}
PROFILE = "i2b2"
DETECTORS = ("rules", "presidio")
RATIOS = ("F1", "recall", "precision", "characters")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", choices=sorted(CORPORA), action="append")
    parser.add_argument(
        "--detector",
        choices=DETECTORS,
        action="append",
        help="both, and their union, when not given",
    )
    options = parser.parse_args()
    root = Path(os.environ.get("DEID_CORPORA", "")) / "annotated"
    if not root.is_dir():
        sys.exit(f"{root} is not there; set DEID_CORPORA")
    print(f"{conditions()}; profile {PROFILE}")
    summary = {}
    for name in options.corpus or CORPORA:
        summary[name] = _scores(name, root, options.detector or DETECTORS)
    _show_summary(summary)


def _scores(name: str, root: Path, detectors: Sequence[str]) -> dict[str, Evaluation]:
    corpus = CORPORA[name]
    notes, gold = _read(root / corpus.path, corpus.labels)
    found: dict[str, dict[str, SpanSet]] = {}
    speeds = []
    for detector in detectors:
        loaded = load(
            detector, options={"profile": corpus.annotated_under} if detector == "rules" else {}
        )
        started = time.process_time()
        found[detector] = _detect(loaded, notes)
        speeds.append(
            f"{detector} {len(notes) / (time.process_time() - started):,.0f} notes/s of CPU time"
        )
    if len(detectors) > 1:
        found["union"] = _union(notes, found)
    evaluations = {
        detector: _score(notes, gold, spans, corpus.labels) for detector, spans in found.items()
    }
    _show(name, notes, evaluations)
    print(f"\n{'; '.join(speeds)}")
    return evaluations


def _read(path: Path, labels: str) -> tuple[list[Note], dict[str, SpanSet]]:
    notes, gold = [], {}
    for found in read_notes(path, labels=label_map(labels)):
        if isinstance(found, Fault):
            sys.exit(found.message)
        notes.append(found.note)
        gold[found.note.note_id] = found.spans or SpanSet.of(found.note, [])
    return notes, gold


def _detect(detector: object, notes: Sequence[Note]) -> dict[str, SpanSet]:
    outcomes = detect(detector, notes)  # type: ignore[arg-type]
    if failed := [outcome for outcome in outcomes if isinstance(outcome, Failed)]:
        sys.exit(
            f"{len(failed)} notes failed, the first with {failed[0].error} in {failed[0].stage}"
        )
    return {outcome.note_id: outcome for outcome in outcomes if isinstance(outcome, SpanSet)}


def _union(notes: Sequence[Note], found: Mapping[str, Mapping[str, SpanSet]]) -> dict[str, SpanSet]:
    ensemble = Ensemble(tuple(found))
    return {
        note.note_id: resolve(
            note, [spans[note.note_id] for spans in found.values()], ensemble=ensemble
        )
        for note in notes
    }


def _score(
    notes: Sequence[Note], gold: Mapping[str, SpanSet], found: Mapping[str, SpanSet], labels: str
) -> Evaluation:
    return evaluate_corpus(
        ((spans, found[note_id]) for note_id, spans in gold.items()),
        profile=profile(PROFILE),
        scope=label_map(labels).categories,
        lengths={note.note_id: len(note.text) for note in notes},
    )


def _show(corpus: str, notes: Sequence[Note], evaluations: Mapping[str, Evaluation]) -> None:
    total = next(iter(evaluations.values())).notes
    print(
        f"\n### {corpus}: {len(notes):,} notes, {total.with_phi:,} with"
        f" PHI\n\n{CORPORA[corpus].remark}.\n"
    )
    heads = [f"{name} {what}" for name in evaluations for what in RATIOS]
    print("| category | annotated | " + " | ".join(heads) + " |")
    print("|:--|--:|" + "--:|" * len(heads))
    labels = next(iter(evaluations.values())).labels
    gold_labels = [
        label
        for label in labels
        if next(iter(evaluations.values())).counts(label, Scheme.STRICT).gold
    ]
    for label in [*gold_labels, None]:
        cells = []
        for found in evaluations.values():
            strict = (
                found.micro(Scheme.STRICT) if label is None else found.counts(label, Scheme.STRICT)
            )
            chars = found.characters if label is None else found.counts(label, Scheme.CHARACTERS)
            cells += [
                _show_value(value)
                for value in (strict.f1, strict.recall, strict.precision, chars.recall)
            ]
        gold = strict.gold
        print(f"| {label or '**all**'} | {gold:,} | " + " | ".join(cells) + " |")
    for name, found in evaluations.items():
        notes_found = found.notes
        print(
            f"\n{name}: {notes_found.covered:,} of {notes_found.with_phi:,} notes with PHI fully"
            f" covered; {notes_found.touched:,} of {notes_found.phi_free:,} without PHI touched;"
            f" {found.characters.fp:,} characters covered needlessly of {notes_found.chars:,}"
        )


def _show_summary(summary: Mapping[str, Mapping[str, Evaluation]]) -> None:
    print("\n### Summary: all categories\n")
    heads = [
        f"{name} {what}"
        for name in next(iter(summary.values()))
        for what in (*RATIOS, "char. precision", "spans covered")
    ]
    print("| set | notes | annotated | " + " | ".join(heads) + " |")
    print("|:--|--:|--:|" + "--:|" * len(heads))
    for corpus, evaluations in summary.items():
        cells = []
        for found in evaluations.values():
            strict, chars = found.micro(Scheme.STRICT), found.characters
            covered = found.micro(Scheme.COVERED).recall
            ratios = (
                strict.f1,
                strict.recall,
                strict.precision,
                chars.recall,
                chars.precision,
                covered,
            )
            cells += [_show_value(value) for value in ratios]
        print(f"| {corpus} | {found.notes.notes:,} | {strict.gold:,} | " + " | ".join(cells) + " |")


def _show_value(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
