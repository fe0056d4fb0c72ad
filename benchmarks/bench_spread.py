"""What spreading adds.

Recall, precision, notes fully covered, notes withheld for a surviving value. As Markdown.

DEID_CORPORA=<folder with annotated/ and raw/> python benchmarks/bench_spread.py [--notes 600]
[--seed 77]

Synthetic notes of eight languages, in which patients have several notes; the development sets, most
of whose patients have one; and MTSamples, which has no identifiers of patients: what is spread
there is over-redaction. ``rules`` is the ensemble. Characters are letters and digits, whatever
their category.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from conditions import conditions
from score_corpora import CORPORA

from deid_assets.core.detector import detect
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.resolve import Ensemble
from deid_assets.core.span import DisjointSpans, Span, SpanSet
from deid_assets.formats import Fault, read_notes
from deid_assets.languages import SYNTHESIS, languages
from deid_assets.pipeline.redacting import survival_by_note
from deid_assets.pipeline.resolving import LEAVABLE, by_note, resolve_all
from deid_assets.pipeline.spreading import is_found, spread
from deid_assets.plugins import load

LANGUAGES = languages(SYNTHESIS)
Spans = Mapping[str, DisjointSpans]
Gold = Mapping[str, SpanSet]


class Figures(NamedTuple):
    """Counts of what is covered in a set of notes.

    Args:
        covered: Characters of gold that are covered.
        touched: Characters that are covered.
        gold: Characters of gold.
        full: Notes with gold of which all is covered.
        withheld: Notes in which a known value is readable.
    """

    covered: int
    touched: int
    gold: int
    full: int
    withheld: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=600, help="synthetic notes a language")
    parser.add_argument("--seed", type=int, default=77)
    options = parser.parse_args()
    print(f"`python benchmarks/bench_spread.py --notes {options.notes} --seed {options.seed}`")
    print(f"{conditions(str(options.seed))}\n")
    print(
        "| Set | notes | withheld | characters covered | precision | notes fully covered | spread"
        " characters |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, notes, gold in sets(options.notes, options.seed):
        show(name, notes, gold)


def sets(count: int, seed: int) -> Iterable[tuple[str, Sequence[Note], Gold]]:
    """Yield each set: its name, its notes, and their gold where there is any."""
    from deid_synthesis import make_corpus  # noqa: PLC0415 - loads Faker

    for lang in LANGUAGES:
        made = list(make_corpus(lang=lang, notes=count, seed=seed))
        yield (
            f"synthetic {lang}",
            [note for note, _ in made],
            {note.note_id: spans for note, spans in made},
        )
    folder = os.environ.get("DEID_CORPORA")
    if not folder:
        return
    for name, corpus in CORPORA.items():
        path = Path(folder, "annotated", corpus.path)
        read = [
            one
            for one in read_notes(path, labels=label_map(corpus.labels))
            if not isinstance(one, Fault)
        ]
        yield (
            name,
            [one.note for one in read],
            {one.note.note_id: one.spans for one in read if one.spans},
        )
    path = next(Path(folder, "raw", "mtsamples").glob("*.jsonl"))
    yield "MTSamples", [one.note for one in read_notes(path) if not isinstance(one, Fault)], {}


def show(name: str, notes: Sequence[Note], gold: Gold) -> None:
    """Print a row: each figure without and with spreading."""
    rules = load("rules")
    ensemble = Ensemble(("rules",), yielding=LEAVABLE)
    resolved = resolve_all(
        notes, {"rules": by_note(detect(rules, notes))}, resolve_by="union", ensemble=ensemble
    )
    before = {one.note_id: one for one in resolved if isinstance(one, DisjointSpans)}
    after = spread(notes, before)
    old, new = figures(notes, before, gold), figures(notes, after, gold)
    with_gold = sum(any(gold.get(note.note_id, ())) for note in notes)
    if not with_gold:
        print(
            f"| {name} | {len(notes):,} | {old.withheld} → {new.withheld} | - | - | - |"
            f" {new.touched - old.touched} |"
        )
        return
    print(
        f"| {name} | {len(notes):,} | {old.withheld} → {new.withheld} |"
        f" {_ratio(old.covered, old.gold)} → {_ratio(new.covered, new.gold)} |"
        f" {_ratio(old.covered, old.touched)} → {_ratio(new.covered, new.touched)} | {old.full} →"
        f" {new.full} of {with_gold} | {new.touched - old.touched} |",
        flush=True,
    )


def figures(notes: Sequence[Note], spans: Spans, gold: Gold) -> Figures:
    """Return what is covered."""
    covered = touched = of_gold = full = 0
    for note in notes:
        found = _characters(note, spans.get(note.note_id, ()))
        wanted = _characters(note, gold.get(note.note_id, ()))
        covered += len(found & wanted)
        touched += len(found)
        of_gold += len(wanted)
        full += bool(wanted) and wanted <= found
    known = [(note, spans[note.note_id]) for note in notes if note.note_id in spans]
    left, _ = survival_by_note(
        [(note, filter(is_found, found), found.spans) for note, found in known]
    )
    return Figures(covered, touched, of_gold, full, sum(one.whole > 0 for one in left))


def _characters(note: Note, spans: Iterable[Span]) -> set[int]:
    return {at for span in spans for at in range(span.start, span.end) if note.text[at].isalnum()}


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.4f}" if whole else "-"


if __name__ == "__main__":
    main()
