"""Characters of clinical short forms that redaction touches, by language, for each detector and
policy, as Markdown.

python benchmarks/bench_short_forms.py [--detector rules ...] [--policy safe_harbor ...] [--lang en
...] [--without-lang] [--show]

``short_forms/<language>.txt`` has a line per note, written for this purpose: doses, times, values,
scales, stages, devices and abbreviations, in which nothing may be touched. In lines with marks,
what is marked must go and nothing else.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from conditions import conditions

from deid_assets.core.detector import Failed, detect
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy, redact
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.languages import SYNTHESIS, languages
from deid_assets.plugins import load
from deid_assets.policies import load_policy
from deid_assets.testing import mark, parse_marked

FOLDER = Path(__file__).with_name("short_forms")
LANGUAGES = languages(SYNTHESIS)
DETECTORS = ("rules", "presidio")
POLICIES = ("safe_harbor", "gdpr_strict", "tag")
KEY = Key(b"key of the short-form benchmark")

Line = tuple[Note, SpanSet]
"""A note and what is to be found in it."""


class Tally(NamedTuple):
    """Characters of some lines.

    Args:
        touched: Replaced, though no identifier.
        left: Of identifiers, standing as they were.
    """

    touched: int = 0
    left: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--detector", action="append", help=f"{' and '.join(DETECTORS)} when not given"
    )
    parser.add_argument("--policy", action="append", help=f"{', '.join(POLICIES)} when not given")
    parser.add_argument("--lang", choices=LANGUAGES, action="append", help="all when not given")
    parser.add_argument(
        "--without-lang", action="store_true", help="do not tell the detectors the language"
    )
    parser.add_argument(
        "--show", action="store_true", help="print each line that is not as it should be"
    )
    options = parser.parse_args()
    lines = {
        lang: read_lines(lang, with_lang=not options.without_lang)
        for lang in options.lang or LANGUAGES
    }
    print(f"{conditions()}; language {'not ' if options.without_lang else ''}given")
    print("\nCharacters touched needlessly / characters of identifiers left\n")
    print(
        "| detector | policy | "
        + " | ".join(lines)
        + " | all |\n|:--|:--|"
        + "--:|" * (len(lines) + 1)
    )
    for name in options.detector or DETECTORS:
        found = {lang: resolve_lines(name, pairs) for lang, pairs in lines.items()}
        for policy in options.policy or POLICIES:
            print(f"| {name} | {policy} | " + _cells(lines, found, load_policy(policy)) + " |")
        if options.show:
            _show(lines, found)
    sizes = [f"{len(pairs):,}" for pairs in lines.values()]
    print("| lines | | " + " | ".join(sizes) + f" | {sum(map(len, lines.values())):,} |")


def read_lines(lang: str, *, with_lang: bool = True) -> list[Line]:
    """Return the lines of a language, each a note with its gold spans."""
    rows = (FOLDER / f"{lang}.txt").read_text(encoding="utf-8").splitlines()
    kept = [row for row in rows if row and not row.startswith("#")]
    return [
        parse_marked(row, note_id=f"{lang}-{at}", lang=lang if with_lang else None)
        for at, row in enumerate(kept)
    ]


def resolve_lines(detector: str, lines: Sequence[Line]) -> list[DisjointSpans]:
    """Return what a detector alone would have redacted in each line."""
    spans = []
    for (note, _), outcome in zip(
        lines, detect(load(detector), [note for note, _ in lines]), strict=True
    ):
        if isinstance(outcome, Failed):
            raise SystemExit(f"{detector} failed on line {note.note_id} with {outcome.error}")
        spans.append(resolve(note, [outcome], ensemble=Ensemble((detector,))))
    return spans


def tally(line: Line, spans: DisjointSpans, policy: Policy) -> Tally:
    """Return the characters of a line that a policy touches needlessly, and those of identifiers
    that it leaves.
    """
    note, gold = line
    redacted = redact(note, spans, policy, key=KEY)
    changed = {
        at
        for edit in redacted.edits
        if note.text[edit.start : edit.end] != redacted.text[edit.new_start : edit.new_end]
        for at in range(edit.start, edit.end)
    }
    marks = {at for span in gold for at in range(span.start, span.end)}
    must_go = {
        at
        for span in gold
        if span.label not in policy.may_leave
        for at in range(span.start, span.end)
    }
    return Tally(len(changed - marks), len(must_go - changed))


def _cells(
    lines: Mapping[str, Sequence[Line]],
    found: Mapping[str, Sequence[DisjointSpans]],
    policy: Policy,
) -> str:
    sums = []
    for lang, pairs in lines.items():
        tallies = [
            tally(line, spans, policy) for line, spans in zip(pairs, found[lang], strict=True)
        ]
        sums.append(
            Tally(sum(each.touched for each in tallies), sum(each.left for each in tallies))
        )
    total = Tally(sum(each.touched for each in sums), sum(each.left for each in sums))
    return " | ".join(f"{each.touched:,} / {each.left:,}" for each in (*sums, total))


def _show(
    lines: Mapping[str, Sequence[Line]], found: Mapping[str, Sequence[DisjointSpans]]
) -> None:
    for lang, pairs in lines.items():
        for (note, gold), spans in zip(pairs, found[lang], strict=True):
            if mark(note, spans) != mark(note, gold):
                print(f"{note.note_id}: {mark(note, spans)}")


if __name__ == "__main__":
    main()
