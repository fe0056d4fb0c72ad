"""Evaluation inside a site.

A submission is spans, or a model that this code runs, and two rounded scores leave.

No program of a sender runs. Spans are a JSON object per line, ``{"id", "spans": [{"start", "end",
"label"}]}``; a model is a folder of weights as ``site_models`` opens it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from deid_assets.extending import Document, InputError, Phi
from deid_privacy.site_models import answers

STEP = 0.05
"""Of the scores that leave.

A submission chooses what it is told of a note, and two of 21 values are under nine bits.
"""
LEAST = 10
"""Gold spans below which nothing is scored: a count of one may tell a person."""

Places = tuple[int, int, str]


def evaluate_model(
    folder: Path, documents: Sequence[Document], *, seconds: float = 600
) -> dict[str, Any]:
    """Return the rounded scores of a model, run by this code in a process of its own.

    Args:
        folder: Of its weights.
        documents: Notes with gold.
        seconds: After which it is ended.

    Raises:
        InputError: It is no folder that can be opened, failed, took too long, or there is too
            little gold.
    """
    _check_gold(documents)
    found = answers(folder, [one.note for one in documents], seconds=seconds)
    given = {one.note.note_id: spans for one, spans in zip(documents, found, strict=True)}
    return scores(documents, given)


def evaluate_spans(written: bytes, documents: Sequence[Document]) -> dict[str, Any]:
    """Return the rounded scores of a file of spans.

    Raises:
        InputError: A line is no such object, or there is too little gold; no message holds a word
            of the file.
    """
    _check_gold(documents)
    return scores(
        documents, _read(written, {one.note.note_id: len(one.note.text) for one in documents})
    )


def round_score(value: float) -> float:
    """Return the nearest step: all that a sender is told of a score."""
    return round(round(value / STEP) * STEP, 2)


def scores(
    documents: Sequence[Document], found: Mapping[str, AbstractSet[Places]]
) -> dict[str, Any]:
    """Return what leaves of a submission.

    Rounded F1, and the rounded share of gold spans that are covered whole.
    """
    said = right = covered = expected = 0
    for one in documents:
        spans = found.get(one.note.note_id, frozenset())
        said += len(spans)
        open_places = bytearray(b"o" * len(one.note.text))
        for start, end, _ in spans:
            open_places[start:end] = bytes(end - start)
        for gold in one.spans:
            expected += 1
            right += (gold.start, gold.end, gold.label.value) in spans
            covered += b"o" not in open_places[gold.start : gold.end]
    f1 = 2 * right / (expected + said)
    return {
        "notes": len(documents),
        "f1": round_score(f1),
        "covered": round_score(covered / expected),
    }


def _check_gold(documents: Sequence[Document]) -> None:
    every = sum(len(one.spans) for one in documents)
    if every < LEAST:
        raise InputError(
            f"the notes have {every} annotated spans; scores of fewer than {LEAST} are not given"
        )


def _read(written: bytes, known: Mapping[str, int]) -> dict[str, set[Places]]:
    """Return the spans of each note.

    Raises:
        InputError: A line is no such object; the message has its number and nothing of it.
    """
    found: dict[str, set[Places]] = {}
    for number, line in enumerate(written.splitlines(), 1):
        try:
            name, spans = _parse_line(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(
                f"line {number} of the spans is no object of id and spans; correct it"
            ) from None
        if name not in known or name in found:
            raise InputError(
                f"line {number} of the spans answers an unknown note, or one twice; correct it"
            )
        if any(not 0 <= start < end <= known[name] for start, end, _ in spans):
            raise InputError(f"line {number} of the spans has a span outside its note; correct it")
        found[name] = spans
    return found


def _parse_line(line: Any) -> tuple[str, set[Places]]:
    """Return a note's name and its spans; what is no whole number is no place."""
    name, spans = (
        line["id"],
        {(one["start"], one["end"], str(Phi(one["label"]).value)) for one in line["spans"]},
    )
    if type(name) is not str or any(type(place) is not int for one in spans for place in one[:2]):
        raise TypeError
    return name, spans
