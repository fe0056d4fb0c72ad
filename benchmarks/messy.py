"""Characters covered, precision and clean notes of detectors on the composed notes, as Markdown
with intervals.

python benchmarks/messy.py [--part dev] [--detector rules] [--detector compact] [--detector
encoder=MODEL] [--by lang]

Letters and digits count. One is covered where any span lies on it; a finding on a character that
nobody marked is wrong, whatever its category; professions count neither way, since HIPAA does not
name them. A note is clean where nothing marked is left, and untouched where it has no mark and
nothing is found. Intervals are percentiles of 1,000 bootstrap samples of notes (Efron 1979). Choose
nothing by the part test.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from conditions import conditions
from numpy.typing import NDArray

from deid_assets.core.detector import Failed, detect
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import LabelMap, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.formats import Fault, detect_format, read_notes
from deid_assets.plugins import load

COMPOSED = Path(__file__).resolve().parents[1] / "corpora" / "composed"
SAMPLES = 1_000
SEED = 1
GROUPS: Mapping[str, frozenset[Phi]] = {
    "names": frozenset({Phi.NAME, Phi.USERNAME}),
    "dates and ages": frozenset({Phi.DATE, Phi.AGE}),
    "places": frozenset({Phi.STREET, Phi.ZIP, Phi.CITY, Phi.REGION, Phi.COUNTRY, Phi.LOCATION}),
    "institutions": frozenset({Phi.HOSPITAL, Phi.ORGANIZATION}),
    "contacts": frozenset({Phi.PHONE, Phi.FAX, Phi.EMAIL, Phi.URL, Phi.IP}),
    "numbers": frozenset(
        {
            Phi.NATIONAL_ID,
            Phi.MRN,
            Phi.HEALTH_PLAN,
            Phi.ACCOUNT,
            Phi.LICENSE,
            Phi.VEHICLE,
            Phi.DEVICE,
            Phi.ID,
        }
    ),
}


@dataclass(frozen=True, slots=True)
class Counts:
    """Letters and digits of a note.

    Args:
        marked: By hand.
        covered: Of these, by a span.
        found: By a span, professions left out.
        groups: Of each group: marked, and of these covered.
    """

    marked: int
    covered: int
    found: int
    groups: NDArray[np.int64]


def read(
    paths: Iterable[Path], labels: LabelMap | None = None
) -> list[tuple[Note, Sequence[Span]]]:
    """Return annotated notes."""
    found = []
    for path in paths:
        for entry in read_notes(path, format=detect_format(path), labels=labels):
            if isinstance(entry, Fault):
                raise SystemExit(entry.message)
            found.append((entry.note, list(entry.spans or ())))
    return found


def counts_of(note: Note, marks: Sequence[Span], spans: Iterable[Span]) -> Counts:
    """Return the counts of a note."""
    is_letter = np.array([letter.isalnum() for letter in note.text], dtype=bool)
    is_marked = (
        mark_covered(note, [mark for mark in marks if mark.label is not Phi.PROFESSION]) & is_letter
    )
    is_profession = mark_covered(note, [mark for mark in marks if mark.label is Phi.PROFESSION])
    is_found = mark_covered(note, spans) & is_letter & ~(is_profession & ~is_marked)
    groups = []
    for categories in GROUPS.values():
        of_group = (
            mark_covered(note, [mark for mark in marks if mark.label in categories]) & is_letter
        )
        groups.append([int(of_group.sum()), int((of_group & is_found).sum())])
    return Counts(
        marked=int(is_marked.sum()),
        covered=int((is_marked & is_found).sum()),
        found=int(is_found.sum()),
        groups=np.array(groups),
    )


def mark_covered(note: Note, spans: Iterable[Span]) -> NDArray[np.bool_]:
    """Return whether a span lies on each character: (characters,)."""
    at = np.zeros(len(note.text), dtype=bool)
    for span in spans:
        at[span.start : span.end] = True
    return at


def row(name: str, counts: Sequence[Counts]) -> str:
    """Return a row of the table."""
    sums = np.array([[each.marked, each.covered, each.found] for each in counts])
    is_free = sums[:, 0] == 0
    draws = np.random.default_rng(SEED).integers(0, len(counts), (SAMPLES, len(counts)))
    drawn = sums[draws].sum(axis=1)
    recall = share_with_interval(sums[:, 1].sum(), sums[:, 0].sum(), drawn[:, 1], drawn[:, 0])
    precision = share_with_interval(sums[:, 1].sum(), sums[:, 2].sum(), drawn[:, 1], drawn[:, 2])
    clean = int((~is_free & (sums[:, 0] == sums[:, 1])).sum())
    untouched = int((is_free & (sums[:, 2] == 0)).sum())
    groups = sum((each.groups for each in counts), start=np.zeros((len(GROUPS), 2), dtype=np.int64))
    shares = " | ".join(
        f"{covered / marked:.3f}" if marked else "" for marked, covered in groups.tolist()
    )
    return (
        f"| {name} | {recall} | {precision} | {clean} of {(~is_free).sum()} | {untouched} of"
        f" {is_free.sum()} | {shares} |"
    )


def share_with_interval(
    right: int, of: int, drawn: NDArray[np.int64], drawn_of: NDArray[np.int64]
) -> str:
    shares = drawn / np.maximum(drawn_of, 1)
    low, high = np.percentile(shares, [2.5, 97.5])
    return f"{right / max(of, 1):.3f} [{low:.3f}, {high:.3f}]"


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", default="dev", choices=("train", "dev", "test"))
    parser.add_argument(
        "--notes", type=Path, action="append", help="annotated notes in place of the composed ones"
    )
    parser.add_argument("--labels", help="label map of these notes, as deid labels lists")
    parser.add_argument("--first", type=int, help="take so many notes from the beginning")
    parser.add_argument(
        "--detector", action="append", help="NAME or NAME=MODEL; rules when not given"
    )
    parser.add_argument(
        "--by", choices=("lang", "none"), default="none", help="a row for each language too"
    )
    options = parser.parse_args()
    paths = options.notes or sorted((COMPOSED / options.part).glob("*.jsonl"))
    labels = label_map(options.labels) if options.labels else None
    notes = read(paths, labels)[: options.first]
    print(
        f"{len(notes)} notes of {options.part if not options.notes else 'given files'};"
        f" {conditions()}\n"
    )
    heads = ["detector", "characters covered", "precision", "clean", "untouched", *GROUPS, "CPU s"]
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for spec in options.detector or ["rules"]:
        _print_rows(spec, notes, by_language=options.by == "lang")
    return 0


def run_detector(spec: str, notes: Sequence[Note]) -> tuple[list[SpanSet], float]:
    """Return what a detector finds in each note, and its seconds of CPU time.

    Args:
        spec: NAME or NAME=MODEL.
        notes: To be read.
    """
    name, _, model = spec.partition("=")
    detector = load(name, options={"model": model} if model else {})
    began = time.process_time()
    outcomes = detect(detector, notes)
    seconds = time.process_time() - began
    found = []
    for note, outcome in zip(notes, outcomes, strict=True):
        if isinstance(outcome, Failed):
            raise SystemExit(f"{name}: note {note.note_id} failed with {outcome.error}")
        found.append(outcome)
    return found, seconds


def _print_rows(
    spec: str, notes: Sequence[tuple[Note, Sequence[Span]]], *, by_language: bool
) -> None:
    name = spec.partition("=")[0]
    spans, seconds = run_detector(spec, [note for note, _ in notes])
    counts = [
        counts_of(note, marks, found) for (note, marks), found in zip(notes, spans, strict=True)
    ]
    print(f"{row(name, counts)} {seconds:.1f} |", flush=True)
    if by_language:
        for language in sorted({note.lang or "" for note, _ in notes}):
            of_language = [
                each for (note, _), each in zip(notes, counts, strict=True) if note.lang == language
            ]
            print(f"{row(f'{name}, {language}', of_language)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
