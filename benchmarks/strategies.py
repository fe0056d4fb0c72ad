"""What notes of another language, or synthetic ones, add to a tagger trained on a small corpus, as
Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/strategies.py [--tagger encoder|bilstm]
[--target grascco ...] [--plain]
    [--work FOLDER]

The strategies of Catelli (2021), section 3, from two sources to four targets. ``single`` learns
from the target alone, ``zero-shot`` from the source alone, ``mix`` from both, ``sequential`` from
the source and then, with the weights that gave, from the target. The last is for the networks
alone: the CRF's objective is convex, so where it starts does not matter. A target without a train
part is divided into folds by note, and each note is read by a model that has not seen it. Labels
are the seven categories of i2b2 2014, of which those are kept that the target and both sources
annotate. Intervals are of a paired bootstrap over the notes of the target. FOLDER keeps the result
of each training, so that a killed run goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pickle
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from conditions import conditions
from utility import compare_paired, crf_recipe, train_tagger

from deid_assets import plugins
from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.phi import I2B2_2014, Phi
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.core.trainer import Document
from deid_assets.evaluation.comparison import Comparison, Ratio
from deid_assets.evaluation.counts import Scheme
from deid_assets.evaluation.six_scores import Granularity, Level, SixScores, six_scores
from deid_assets.training.corpora import check_apart, folds, read_corpus
from deid_assets.training.recipe import Recipe

FOLDS = 3
ENCODER = {
    "new": {"layers": 2, "hidden": 96, "heads": 4, "vocabulary": 4_000},
    "epochs": 10,
    "batch": 4,
    "keep_empty": 0.3,
    "learning_rate": 1e-3,
    "collapse_after": 10,
    "threads": 1,
}
"""Settings of the network: a small encoder from nothing.

The last epoch is kept, since nothing is held out.
"""
BILSTM = {
    "optimizer": "adamw",
    "learning_rate": 0.005,
    "schedule": "cycle",
    "max_epochs": 10,
    "hidden": 96,
    "locked_dropout": 0.3,
    "embeddings": [
        {"kind": "bpemb", "train": True, "vocabulary": 2_000, "width": 50},
        {"kind": "character"},
    ],
}
"""Settings of the Bi-LSTM-CRF.

Sub-words learnt on the training notes of both languages, and characters.
"""
GROUPING = 4
MEDDOCAN = "es"
"""The source of real notes: MEDDOCAN's train part, Spanish."""
COLUMNS = (
    (Level.ENTITY, Granularity.BINARY),
    (Level.TOKEN, Granularity.CATEGORY),
    (Level.TOKEN, Granularity.BINARY),
)
"""Beside entities by category, which have an interval."""
OF_CATEGORY = {
    "NAME": Phi.NAME,
    "PROFESSION": Phi.PROFESSION,
    "LOCATION": Phi.LOCATION,
    "AGE": Phi.AGE,
    "DATE": Phi.DATE,
    "CONTACT": Phi.PHONE,
    "ID": Phi.ID,
}
"""Replacement of each category of i2b2 2014."""


class Target(NamedTuple):
    """A corpus that a tagger is wanted for: files below ``annotated/``, label map, language."""

    train: str
    labels: str
    lang: str
    test: str = ""


TARGETS = {
    "grascco": Target("grascco-phi/dev.jsonl", "grascco", "de"),
    "eds-pseudo": Target("eds-pseudo-templates/dev.jsonl", "eds_pseudo", "fr"),
    "asq-phi": Target("asq-phi/dev.jsonl", "asq_phi", "en"),
    "turku-ner": Target("turku-ner-fi/train.jsonl", "turku_ner", "fi", "turku-ner-fi/dev.jsonl"),
}
Documents = Sequence[Document]
Phases = Sequence[Documents]
"""Training sets, one per phase."""
Parts = list[tuple[list[Document], list[Document]]]


class Outcome(NamedTuple):
    """Result of a strategy.

    Scores of each note of the target, mean training notes of a model, and its cost.
    """

    notes: Sequence[SixScores]
    learnt: float
    cpu_s: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", choices=TARGETS, action="append", help="all when not given")
    parser.add_argument("--source-notes", type=int, default=60, help="notes of each source")
    parser.add_argument(
        "--turku-notes", type=int, default=60, help="training notes of turku-ner, drawn at random"
    )
    parser.add_argument("--tagger", choices=("crf", "encoder", "bilstm"), default="crf")
    parser.add_argument(
        "--plain", action="store_true", help="train the CRF without the predictions of the rules"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="folder for what each training gave")
    options = parser.parse_args()
    root = Path(os.environ.get("DEID_CORPORA", "")) / "annotated"
    if not root.is_dir():
        sys.exit(f"{root} is not there; set DEID_CORPORA")
    is_network = options.tagger != "crf"
    recipe = _recipe(options.tagger, seed=options.seed, plain=options.plain)
    rules = "not asked" if options.plain or is_network else "asked"
    print(
        f"{conditions(str(options.seed))}\n\nTagger: {options.tagger}. Predictions of the rules:"
        f" {rules}",
        flush=True,
    )
    meddocan = _draw_documents(
        _read(root, "meddocan/train.jsonl", "meddocan"), options.source_notes, seed=options.seed
    )
    for name in options.target or TARGETS:
        target = TARGETS[name]
        synthetic = read_corpus(f"synthetic:{target.lang}:{options.source_notes}").documents
        parts = _parts(root, target, most=options.turku_notes, seed=options.seed)
        _show(name, parts, {MEDDOCAN: meddocan, "synthetic": synthetic}, recipe, options.work)


def _recipe(tagger: str, *, seed: int, plain: bool) -> Recipe:
    if tagger == "crf":
        return crf_recipe(labels="category", seed=seed, plain=plain)
    if tagger == "bilstm":
        return Recipe(
            name="bilstm",
            plugin="flair",
            labels="category",
            grouping=GROUPING,
            seed=seed,
            settings=BILSTM,
        )
    return Recipe(
        name="encoder",
        plugin="transformers",
        labels="category",
        grouping=GROUPING,
        seed=seed,
        settings=ENCODER,
    )


def _read(root: Path, path: str, labels: str) -> list[Document]:
    return list(read_corpus(str(root / path), labels=labels).documents)


def _draw_documents(documents: Documents, most: int, *, seed: int) -> list[Document]:
    return random.Random(seed).sample(documents, min(most, len(documents)))


def _parts(root: Path, target: Target, *, most: int, seed: int) -> Parts:
    """Return training and test documents: the corpus' own parts, or folds."""
    documents = _read(root, target.train, target.labels)
    if target.test:
        return [
            (_draw_documents(documents, most, seed=seed), _read(root, target.test, target.labels))
        ]
    return folds(documents, count=FOLDS, seed=seed)


def categories(documents: Iterable[Document]) -> frozenset[str]:
    """Return the categories of i2b2 2014 that are annotated."""
    labels = {span.label for document in documents for span in document.spans}
    return frozenset(category for label in labels if (category := I2B2_2014.label_of(label)))


def coarse(documents: Iterable[Document], kept: frozenset[str]) -> list[Document]:
    """Return the documents with spans of these categories alone, each under the label that stands
    for it.
    """
    return [
        Document(each.note, DisjointSpans.of(each.note, _coarse(each.spans, kept)))
        for each in documents
    ]


def _coarse(spans: SpanSet, kept: frozenset[str]) -> list[Span]:
    named = ((span, I2B2_2014.label_of(span.label)) for span in spans)
    return [
        replace(span, label=OF_CATEGORY[name], native_label="")
        for span, name in named
        if name in kept
    ]


def _show(
    name: str, parts: Parts, sources: Mapping[str, Documents], recipe: Recipe, work: Path | None
) -> None:
    every = [document for train, test in parts for document in (*train, *test)]
    kept = frozenset.intersection(
        *(categories(documents) for documents in (every, *sources.values()))
    )
    parts = [(coarse(train, kept), coarse(test, kept)) for train, test in parts]
    sources = {source: coarse(documents, kept) for source, documents in sources.items()}
    found = _outcomes(parts, sources, recipe, kept, work)
    tested = [document for _, test in parts for document in test]
    counts = {
        strategy: [one.micro(Level.ENTITY, Granularity.CATEGORY) for one in outcome.notes]
        for strategy, outcome in found.items()
    }
    gaps = compare_paired(counts, tested, seed=recipe.seed)
    spans = sum(len(document.spans) for document in tested)
    how = f"{len(parts)} folds" if len(parts) > 1 else "its own parts"
    print(
        f"\n### {name}: {len(tested)} notes and {spans:,} spans scored, {how};"
        f" {', '.join(sorted(kept))}\n"
    )
    print(
        "| Strategy | Training notes | C_E | C_E to single | p | B_E | C_T | B_T | Training, s"
        " CPU |"
    )
    print("|:--|--:|--:|--:|--:|--:|--:|--:|--:|")
    for strategy, outcome in found.items():
        _show_row(strategy, outcome, gaps)


def _show_row(strategy: str, outcome: Outcome, gaps: Comparison) -> None:
    pooled = sum(outcome.notes, SixScores())
    own = gaps.interval(strategy, Scheme.STRICT, Ratio.F1)
    gap = gaps.difference(strategy, Scheme.STRICT, Ratio.F1)
    others = [pooled.micro(*column).f1 for column in COLUMNS]
    cells = [
        f"{own.value:.3f} [{own.low:.3f}, {own.high:.3f}]" if own else "-",
        f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}] | {gap.p:.3f}" if gap else "- | -",
        *("-" if value is None else f"{value:.3f}" for value in others),
        f"{outcome.cpu_s:.0f}",
    ]
    print(f"| {strategy} | {outcome.learnt:.0f} | {' | '.join(cells)} |", flush=True)


def _outcomes(
    parts: Parts,
    sources: Mapping[str, Documents],
    recipe: Recipe,
    kept: frozenset[str],
    work: Path | None,
) -> dict[str, Outcome]:
    """Return each strategy's outcome.

    ``single`` comes first and is what the others are compared with.
    """
    found = {"single": _learnt([([train], test) for train, test in parts], recipe, kept, work)}
    tested = [document for _, test in parts for document in test]
    for source, documents in sources.items():
        found[f"zero-shot, {source}"] = _learnt([([documents], tested)], recipe, kept, work)
        mixed = [([[*documents, *train]], test) for train, test in parts]
        found[f"mix, {source} + target"] = _learnt(mixed, recipe, kept, work)
        if recipe.plugin != "crf":
            phases = [([documents, train], test) for train, test in parts]
            found[f"sequential, {source}, then target"] = _learnt(phases, recipe, kept, work)
    rules = _score_notes(plugins.load("rules"), tested, kept)
    return {**found, "rules alone": Outcome(rules, 0, 0)}


def _learnt(
    parts: Sequence[tuple[Phases, Documents]],
    recipe: Recipe,
    kept: frozenset[str],
    work: Path | None = None,
) -> Outcome:
    found = [_train_and_score(phases, test, recipe, kept, work) for phases, test in parts]
    notes = [each for scored, _ in found for each in scored]
    learnt = sum(len(phase) for phases, _ in parts for phase in phases) / len(parts)
    return Outcome(notes, learnt, sum(cpu for _, cpu in found))


def _train_and_score(
    phases: Phases, test: Documents, recipe: Recipe, kept: frozenset[str], work: Path | None
) -> tuple[list[SixScores], float]:
    """Return the scores of each note after one training, and its seconds of the processor.

    Of a work folder, made once.
    """
    every = [
        [(each.note.digest, [(s.start, s.end, s.label) for s in each.spans]) for each in one]
        for one in phases
    ]
    what = repr((recipe, sorted(kept), every, [each.note.digest for each in test]))
    path = work / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.pickle" if work else None
    if path and path.exists():
        return pickle.loads(path.read_bytes())
    check_apart([document for phase in phases for document in phase], test, role="test")
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        train_tagger(recipe, phases, Path(folder))
        cpu = time.process_time() - started
        detector = plugins.load(
            recipe.name, plugin=recipe.plugin, options={"model": folder, "name": recipe.name}
        )
        found = _score_notes(detector, test, kept), cpu
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(found))
    return found


def _score_notes(detector: Detector, documents: Documents, kept: frozenset[str]) -> list[SixScores]:
    """Return the scores of each note. Predictions of categories that are not kept do not count."""
    scored = []
    for document, outcome in zip(
        documents, detect(detector, [each.note for each in documents]), strict=True
    ):
        note = document.note
        if isinstance(outcome, Failed):
            sys.exit(f"{detector.name} failed on note {note.note_id!r} with {outcome.error}")
        found = SpanSet.of(note, _coarse(outcome, kept))
        scored.append(six_scores([(note, document.spans, found)]))
    return scored


if __name__ == "__main__":
    main()
