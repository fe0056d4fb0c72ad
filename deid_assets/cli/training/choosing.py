"""Inputs and outputs of ``deid next``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets import plugins
from deid_assets.cli.endings import say
from deid_assets.cli.restricted import check_restricted, write_files
from deid_assets.cli.tables import print_json, print_table
from deid_assets.core.detector import Detector, Failed, detect
from deid_assets.core.errors import ConfigError, InputError, did_you_mean
from deid_assets.core.note import Note
from deid_assets.core.span import Span, SpanSet
from deid_assets.reports.page import render
from deid_assets.training import CARD, read_card
from deid_assets.training.choosing import QueryStrategy, RankedNote, rank
from deid_assets.training.corpora import read_raw

PAGE, DOCUMENT = "next.html", "next.json"
_MOST_SHOWN = 12
"""Spans of a note that are shown."""
_SURE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoosingOptions:
    """Options of the command.

    Args:
        model: Folder that ``deid train`` wrote.
        notes: Raw notes, as recipes name them.
        out: Folder of the page.
        choice: What notes are ranked by.
        most: Notes that are shown.
        detector: What is there already.
        restricted: Show the words in question, in files that only their owner may read.
    """

    model: Path
    notes: str
    out: Path
    choice: str
    most: int
    detector: str = "rules"
    restricted: bool = False


def choose_notes(wanted: ChoosingOptions, *, as_json: bool) -> int:
    """Rank notes, write the page and print the first of them.

    Raises:
        ConfigError: Notes cannot be ranked like that.
        InputError: The model or the notes cannot be read, a detector fails on a note, or ``out`` is
            open to others.
    """
    choice = ranking(wanted.choice)
    if (wanted.out / CARD).exists():
        raise InputError(f"--out {wanted.out}: it holds a model; name another folder for the page")
    if wanted.restricted:
        check_restricted(wanted.out)
    recipe = read_card(wanted.model, verify=True).recipe
    tagger = plugins.load(
        str(recipe["name"]), plugin=str(recipe["plugin"]), options={"model": str(wanted.model)}
    )
    notes = read_raw(wanted.notes)
    found = {
        name: _answers(one, notes)
        for name, one in (("there", plugins.load(wanted.detector)), ("tagger", tagger))
    }
    ranked = rank(notes, found["there"], found["tagger"], choice)[: wanted.most]
    asked = _select_asked(ranked, notes, found) if wanted.restricted else {}
    document = {"by": choice, "notes": [_row(one, asked) for one in ranked]}
    page = render(
        "next.html.j2",
        ranked=ranked,
        asked=asked,
        by=choice,
        of=len(notes),
        tagger=tagger.name,
        detector=wanted.detector,
        restricted=wanted.restricted,
    )
    files = {DOCUMENT: json.dumps(document, ensure_ascii=False) + "\n", PAGE: page}
    write_files(wanted.out, files, restricted=wanted.restricted)
    if as_json:
        print_json(
            {"out": str(wanted.out), "by": choice, "notes": [_row(one, {}) for one in ranked]}
        )
        return 0
    _show(ranked, wanted, tagger.name, of=len(notes))
    return 0


def _show(ranked: Sequence[RankedNote], wanted: ChoosingOptions, tagger: str, *, of: int) -> None:
    columns = (
        "note",
        "characters",
        "disagreement",
        "uncertainty",
        f"{tagger} alone",
        f"{wanted.detector} alone",
    )
    print_table(columns, [_cells(one) for one in ranked[:20]], numbers_from=1)
    note = ", with words of the notes: for you alone" if wanted.restricted else ""
    say(
        f"annotate these first; {len(ranked):,} of {of:,} notes are ranked in"
        f" {wanted.out / PAGE}{note}"
    )


def ranking(name: str) -> QueryStrategy:
    """Return what notes are ranked by.

    Raises:
        ConfigError: There is no such ranking.
    """
    known = [choice.value for choice in QueryStrategy if choice is not QueryStrategy.RANDOM]
    if name not in known:
        raise ConfigError(
            f"--by {name!r}{did_you_mean(name, known)}; choose one of {', '.join(known)}"
        )
    return QueryStrategy(name)


def _answers(detector: Detector, notes: Sequence[Note]) -> list[SpanSet]:
    found = []
    for outcome in detect(detector, notes):
        if isinstance(outcome, Failed):
            raise InputError(
                f"note {outcome.note_id!r}: {detector.name} failed on it ({outcome.error}); take"
                " it out"
            )
        found.append(outcome)
    return found


def _select_asked(
    ranked: Sequence[RankedNote], notes: Sequence[Note], found: Mapping[str, Sequence[SpanSet]]
) -> dict[str, list[dict[str, Any]]]:
    """Return, with their words, the spans of each note that one of the two alone found, or that the
    tagger is unsure of.
    """
    place = {note.note_id: number for number, note in enumerate(notes)}
    asked = {}
    for one in ranked:
        note = notes[place[one.note_id]]
        there, tagger = (found[name][place[one.note_id]] for name in ("there", "tagger"))
        spans = [
            *(span for span in tagger if span.score < _SURE or _is_alone(span, there)),
            *(span for span in there if _is_alone(span, tagger)),
        ]
        asked[one.note_id] = [
            {
                "by": span.source,
                "category": span.label.value,
                "score": span.score,
                "text": note.text[span.start : span.end],
            }
            for span in sorted(spans, key=lambda span: (span.score, span.start))[:_MOST_SHOWN]
        ]
    return asked


def _is_alone(span: Span, others: SpanSet) -> bool:
    return not any(span.start < other.end and other.start < span.end for other in others)


def _row(one: RankedNote, asked: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    row = {name: getattr(one, name) for name in one.__slots__}
    return {**row, "asked": asked[one.note_id]} if one.note_id in asked else row


def _cells(one: RankedNote) -> tuple[str, ...]:
    figures = (f"{one.chars:,}", f"{one.disagreement:.1f}", f"{one.uncertainty:.2f}")
    return (one.note_id, *figures, f"{one.tagger_alone:,}", f"{one.detector_alone:,}")
