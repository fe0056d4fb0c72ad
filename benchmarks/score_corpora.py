"""Scores of every installed detector, and of rules with presidio, on public development sets, as Markdown.

DEID_CORPORA=<folder with annotated/> python benchmarks/score_corpora.py [--corpus meddocan ...]

None of the files is a test set. Categories are those of i2b2 2014; what a corpus does not annotate is left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from conditions import conditions

from deid_assets.core.detector import Failed, detect
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import profile
from deid_assets.core.resolve import LineUp, resolve
from deid_assets.core.score import Evaluation, Scheme, evaluate_corpus
from deid_assets.core.span import SpanSet
from deid_assets.formats import Fault, read_notes
from deid_assets.plugins import load

CORPORA: Mapping[str, tuple[str, str, str]] = {
    "asq-phi": ("asq-phi/dev.jsonl", "asq_phi", "safe_harbor"),
    "meddocan": ("meddocan/dev.jsonl", "meddocan", "i2b2"),
    "grascco": ("grascco-phi/dev.jsonl", "grascco", "i2b2"),
    "eds-pseudo": ("eds-pseudo-templates/dev.jsonl", "eds_pseudo", "i2b2"),
    "deduce": ("deduce-cases-nl/cases.jsonl", "deduce", "i2b2"),
}
"""File, label map, and the profile that the corpus was annotated under: in ASQ-PHI a bare year is not PHI."""
PROFILE = "i2b2"
DETECTORS = ("rules", "presidio")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", choices=sorted(CORPORA), action="append")
    options = parser.parse_args()
    root = Path(os.environ.get("DEID_CORPORA", "")) / "annotated"
    if not root.is_dir():
        sys.exit(f"{root} is not there; set DEID_CORPORA")
    print(f"{conditions()}; profile {PROFILE}\n")
    for corpus in options.corpus or CORPORA:
        path, labels, annotated_under = CORPORA[corpus]
        detectors = {"rules": load("rules", options={"profile": annotated_under}), "presidio": load("presidio")}
        notes, gold = _read(root / path, labels)
        found: dict[str, dict[str, SpanSet]] = {}
        for name, detector in detectors.items():
            started = time.process_time()
            found[name] = _detect(detector, notes)
            speed = len(notes) / (time.process_time() - started)
            print(f"<!-- {corpus}: {name} {speed:,.0f} notes/s of CPU time -->")
        found["union"] = _union(notes, found)
        _show(corpus, notes, {name: _score(notes, gold, spans, labels) for name, spans in found.items()})


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
        sys.exit(f"{len(failed)} notes failed, the first with {failed[0].error} in {failed[0].stage}")
    return {outcome.note_id: outcome for outcome in outcomes if isinstance(outcome, SpanSet)}


def _union(notes: Sequence[Note], found: Mapping[str, Mapping[str, SpanSet]]) -> dict[str, SpanSet]:
    line_up = LineUp(DETECTORS)
    return {
        note.note_id: resolve(note, [found[name][note.note_id] for name in DETECTORS], line_up=line_up)
        for note in notes
    }


def _score(notes: Sequence[Note], gold: Mapping[str, SpanSet], found: Mapping[str, SpanSet], labels: str) -> Evaluation:
    return evaluate_corpus(
        ((spans, found[note_id]) for note_id, spans in gold.items()),
        profile=profile(PROFILE),
        scope=label_map(labels).categories,
        lengths={note.note_id: len(note.text) for note in notes},
    )


def _show(corpus: str, notes: Sequence[Note], evaluations: Mapping[str, Evaluation]) -> None:
    total = next(iter(evaluations.values())).notes
    print(f"\n### {corpus}: {len(notes):,} notes, {total.with_phi:,} with PHI\n")
    heads = [f"{name} {what}" for name in evaluations for what in ("P", "R", "F1", "chars")]
    print("| category | gold | " + " | ".join(heads) + " |")
    print("|:--|--:|" + "--:|" * len(heads))
    labels = next(iter(evaluations.values())).labels
    gold_labels = [label for label in labels if next(iter(evaluations.values())).counts(label, Scheme.STRICT).gold]
    for label in [*gold_labels, None]:
        cells = []
        for found in evaluations.values():
            strict = found.micro(Scheme.STRICT) if label is None else found.counts(label, Scheme.STRICT)
            chars = found.characters if label is None else found.counts(label, Scheme.CHARACTERS)
            cells += [_written(value) for value in (strict.precision, strict.recall, strict.f1, chars.recall)]
        gold = strict.gold
        print(f"| {label or '**all**'} | {gold:,} | " + " | ".join(cells) + " |")
    for name, found in evaluations.items():
        notes_found = found.notes
        print(
            f"\n{name}: {notes_found.covered:,} of {notes_found.with_phi:,} notes with PHI fully covered; "
            f"{notes_found.touched:,} of {notes_found.phi_free:,} without PHI touched; "
            f"{found.characters.fp:,} characters hidden needlessly of {notes_found.chars:,}"
        )


def _written(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
