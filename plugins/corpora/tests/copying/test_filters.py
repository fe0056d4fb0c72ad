"""Filters of synthetic notes: planted faults are taken away and counted, other notes are kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from deid_assets import Note, Phi, Span
from deid_assets.cli import app
from deid_assets.extending import DisjointSpans, InputError
from deid_assets.extending.commands import Annotated
from deid_copying.filters import NoteFilters, sieve

REAL = "Mrs. Ada Quillfeather was seen on the ward for a broken wrist after a fall at home today."
PLAIN = "Nothing of that kind is said here about anybody in particular."


def note(number: int, text: str, *names: str) -> Annotated:
    own = Note(f"n{number}", text)
    spans = [Span(text.index(one), text.index(one) + len(one), Phi.NAME) for one in names]
    return Annotated(own, DisjointSpans.of(own, spans))


SOURCE = [note(0, REAL, "Ada Quillfeather")]
MADE = [
    note(0, "Too short."),
    note(1, PLAIN),
    note(2, PLAIN.upper()),
    note(3, "He was seen on the ward for a broken wrist after a fall, she says."),
    note(4, "Then Quillfeather was seen, as the story has it in this place."),
    note(5, "A word on Ada, and then on Ada Quillfeather, who is somebody else."),
    note(6, "Kind of that nothing is said here about anybody in particular."),
]


def test_each_fault_is_taken_by_its_filter_and_the_rest_is_kept() -> None:
    found = sieve(lambda: MADE, lambda: SOURCE, NoteFilters(shortest=4))
    assert np.flatnonzero(found.kept).tolist() == [1, 6]
    assert found.removed == {
        "too short": 1,
        "too long": 0,
        "said before": 1,
        "copied words": 1,
        "identifier with what stands beside it": 1,
        "name of the source": 1,
    }
    assert [one.note.note_id for one in found.of(MADE)] == ["n1", "n6"]


def test_a_filter_of_0_is_not_applied_and_1_takes_every_word_of_a_name() -> None:
    none = NoteFilters(shortest=0, copied=0, sensitive=0, name_words=0, again=False)
    assert sieve(lambda: MADE, lambda: SOURCE, none).kept.all()
    words = NoteFilters(shortest=0, copied=0, sensitive=0, name_words=1, again=False)
    assert sieve(lambda: MADE, lambda: SOURCE, words).removed["name of the source"] == 2
    assert sieve(lambda: MADE, None).removed == {"too short": 1, "too long": 0, "said before": 1}
    with pytest.raises(InputError, match="at most 64 words"):
        sieve(lambda: MADE, None, NoteFilters(copied=65))


def test_a_source_in_which_nothing_can_be_looked_for_is_refused() -> None:
    bare = [*SOURCE, Annotated(Note("n1", PLAIN))]
    with pytest.raises(InputError, match="1 of 2 notes of the source are not annotated"):
        sieve(lambda: MADE, lambda: bare)
    assert sieve(lambda: MADE, lambda: bare, NoteFilters(sensitive=0, name_words=0)).kept.any()
    with pytest.raises(InputError, match="the source has no word in 0 notes"):
        sieve(lambda: MADE, list)


def test_a_name_of_more_than_five_words_is_looked_for_too() -> None:
    name = "María del Carmen de la Fuente García"
    real = [note(0, f"Paciente {name} ingresa hoy.", name)]
    made = [note(0, f"Vino con {name.upper()} ayer."), note(1, "Vino de la Fuente ayer mismo.")]
    filters = NoteFilters(copied=0, sensitive=0)
    assert sieve(lambda: made, lambda: real, filters).kept.tolist() == [False, True]


def test_the_last_words_of_a_name_are_a_name_and_the_first_are_not() -> None:
    name = "Anna Maria Meier-Schmidt"
    real = [note(0, f"Seen by {name} on the ward.", name)]
    texts = ("We saw Meier Schmidt again.", "We saw MARIA MEIER-SCHMIDT.", "Anna Maria was here.")
    made = [note(number, text) for number, text in enumerate(texts)]
    filters = NoteFilters(copied=0, sensitive=0)
    assert sieve(lambda: made, lambda: real, filters).kept.tolist() == [False, False, True]


def test_the_same_words_in_another_order_are_another_note() -> None:
    made = [note(0, "a b c d"), note(1, "b a c d"), note(2, "a b c d"), note(3, "a b c d e")]
    assert sieve(lambda: made, None).kept.tolist() == [True, True, False, True]


def test_the_command_writes_what_is_kept_and_says_what_each_filter_took(tmp_path: Path) -> None:
    made, source = tmp_path / "made.jsonl", tmp_path / "source.jsonl"
    made.write_text("".join(f"{_row(one)}\n" for one in MADE))
    source.write_text("".join(f"{_row(one)}\n" for one in SOURCE))
    out = tmp_path / "kept.jsonl"
    words = ["corpus", "sift", str(made), "--from", str(source), "--out", str(out)]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["kept"] == 2
    assert [json.loads(one)["id"] for one in out.read_text().splitlines()] == ["n1", "n6"]
    assert "Quillfeather" not in done.output
    words[-1] = str(made)
    assert CliRunner().invoke(app, words).exit_code == 2


def _row(one: Annotated) -> str:
    spans = [
        {"start": span.start, "end": span.end, "label": str(span.label)} for span in one.spans or ()
    ]
    return json.dumps({"id": one.note.note_id, "text": one.note.text, "spans": spans})
