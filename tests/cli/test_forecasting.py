"""How long the rest of a batch takes is told once, from the first notes, where it takes long."""

from __future__ import annotations

import pytest

from deid_assets.cli.notes.redaction import Forecast
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.pipeline.batch import Batch
from deid_assets.pipeline.redacting import Redact

NOTES = [Note(f"n{number}", "one two three four five") for number in range(100)]


def _told(seconds_a_note: float, *, first: float, notes: list[Note]) -> list[str]:
    now, lines = 0.0, list[str]()
    forecast = Forecast(lines.append, clock=lambda: now)
    for number, _ in enumerate(forecast(notes)):
        now += seconds_a_note if number else first
    return lines


def test_the_rest_is_told_once_without_the_note_that_loads_the_model():
    assert _told(2.0, first=60.0, notes=NOTES) == [
        "redacting: 3 notes took 6 s; 96 notes (480 words) left of this batch, about 3 min"
    ]


def test_words_count_not_notes():
    (line,) = _told(5.0, first=1.0, notes=[*NOTES[:2], Note("long", "word " * 50)])

    assert line == "redacting: 1 note took 5 s; the last note left of this batch, about 50 s"


@pytest.mark.parametrize(
    ("seconds", "count"), [(0.01, 100), (2.0, 5), (30.0, 1), (30.0, 0)], ids=str
)
def test_a_short_rest_is_not_told(seconds, count):
    assert _told(seconds, first=seconds, notes=NOTES[:count]) == []


def test_a_policy_s_slow_replacer_is_seen_by_the_step_that_redacts():
    now, lines = 0.0, list[str]()

    def slow(text: str, span: Span, context: object) -> str:
        nonlocal now
        now += 3.0
        return "*"

    spans = {note.note_id: DisjointSpans.of(note, [Span(0, 3, "NAME")]) for note in NOTES}
    step = Redact(
        Policy("slow", slow, {}), Key(bytes(16)), following=Forecast(lines.append, lambda: now)
    )
    done = step.run(Batch(tuple(NOTES), spans=spans))

    assert len(done.redacted) == len(NOTES)
    assert lines == [
        "redacting: 2 notes took 6 s; 97 notes (485 words) left of this batch, about 5 min"
    ]
