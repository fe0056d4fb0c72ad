"""``deid agreement``: two detectors compared where there is no gold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets.cli.app import PARTIAL
from deid_assets.cli.streams import NoteSource, SpansFile, Withheld
from deid_assets.cli.tables import print_json, print_table
from deid_assets.core.agreement import Agreement, Missed, agreement, missed_by_both
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.span import SpanSet
from deid_assets.formats import Fault
from deid_assets.reports.numbers import UNDEFINED, ratio


def compare_sources(spans: Path, notes: NoteSource | None, *, sources: Sequence[str], as_json: bool) -> int:
    """Print how far two detectors agree and what both may have missed.

    Args:
        spans: File with the opinions of both.
        notes: Their notes, for what needs the length of the text; all in the file are compared where not given.
        sources: Names of the two.
        as_json: Print JSON in place of a table.

    Raises:
        ConfigError: There are not two different names.
        InputError: A name is not in the file, or spans and notes are not for the same notes.
    """
    if len(sources) != 2 or sources[0] == sources[1]:
        raise ConfigError("agreement is between two detectors; give --source twice, with two names")
    withheld = Withheld()
    every = SpansFile(spans).rest()
    present = {span.source for of_note in every.values() for span in of_note}
    if absent := sorted(set(sources) - present):
        raise InputError(f"{spans}: no span is from {', '.join(absent)}; it has {', '.join(sorted(present)) or 'none'}")
    lengths = _lengths(every, notes, withheld)
    total = sum(_compared(every, lengths, sources), Agreement())
    figures = _figures(total, missed_by_both(total.ranges))
    if as_json:
        print_json({"sources": list(sources), "notes": len(lengths), "withheld": len(withheld), **figures})
    else:
        print_table((" and ".join(sources), f"{len(lengths):,} notes"), _rows(figures), numbers_from=1)
    return PARTIAL if len(withheld) else 0


def _lengths(every: Mapping[str, SpanSet], notes: NoteSource | None, withheld: Withheld) -> dict[str, int]:
    if notes is None:
        return dict.fromkeys(every, 0)
    lengths: dict[str, int] = {}
    for found in notes.read():
        if isinstance(found, Fault):
            withheld.fault(found)
            continue
        note = found.note
        if note.note_id not in every:
            raise InputError(f"note {note.note_id!r} is not in the spans file; detect on all notes")
        every[note.note_id].checked(note)
        lengths[note.note_id] = len(note.text)
    unknown = sorted(every.keys() - lengths.keys())
    if unknown and not len(withheld):
        raise InputError(f"{len(unknown)} notes of the spans file are not in {notes.path}, as {unknown[0]!r}")
    if not lengths:
        raise InputError(f"{notes.path}: no note could be read; nothing was compared")
    return lengths


def _compared(every: Mapping[str, SpanSet], lengths: Mapping[str, int], sources: Sequence[str]) -> Iterator[Agreement]:
    for note_id, length in lengths.items():
        spans = every[note_id]
        first, second = (
            SpanSet(note_id, spans.digest, tuple(span for span in spans if span.source == source)) for source in sources
        )
        yield agreement(first, second, length=length)


def _figures(total: Agreement, missed: Missed | None) -> dict[str, Any]:
    return {
        "spans": {
            "both": total.ranges.tp,
            "first_alone": total.ranges.fn,
            "second_alone": total.ranges.fp,
        },
        "f1": {"strict": total.strict.f1, "overlap": total.ranges.f1, "characters": total.characters.f1},
        "observed": total.observed,
        "kappa": total.kappa,
        "missed": {"value": missed.value, "low": missed.low, "high": missed.high} if missed else None,
    }


def _rows(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    spans, f1, missed = figures["spans"], figures["f1"], figures["missed"]
    return [
        ("spans of both", f"{spans['both']:,}"),
        ("of the first alone", f"{spans['first_alone']:,}"),
        ("of the second alone", f"{spans['second_alone']:,}"),
        ("F1, same boundaries and label", ratio(f1["strict"])),
        ("F1, overlap", ratio(f1["overlap"])),
        ("F1, characters", ratio(f1["characters"])),
        ("characters alike", ratio(figures["observed"])),
        ("Cohen's kappa, characters", UNDEFINED if figures["kappa"] is None else f"{figures['kappa']:.3f}"),
        (
            "missed by both, if independent",
            f"{missed['value']:,.0f} [{missed['low']:,.0f}, {missed['high']:,.0f}]" if missed else UNDEFINED,
        ),
    ]
