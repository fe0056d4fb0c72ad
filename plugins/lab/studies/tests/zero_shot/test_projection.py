"""Spans follow the alignment into a translation, and each that does not is told."""

from __future__ import annotations

import pytest

from deid_assets import Note
from deid_assets.core.errors import InputError
from deid_assets.testing import mark, parse_marked
from deid_zero_shot.projection import Why, project, read_alignment, words


def projected(source: str, target: str, line: str):
    note, spans = parse_marked(source)
    other = Note("t", target, lang="es")
    pairs = read_alignment(
        line, source=len(words(note.text)), target=len(words(target)), note_id="t"
    )
    return other, project(note, list(spans), other, pairs)


@pytest.mark.parametrize(
    ("source", "target", "line", "expected"),
    [
        (
            "Seen by Dr. <NAME>Ana Lee</NAME>, <AGE>47</AGE> years.",
            "Vista por la Dra. Ana Lee, de 47 años.",
            "0-0 1-1 2-3 3-4 4-5 5-7 6-8",
            "Vista por la Dra. <NAME>Ana Lee</NAME>, de <AGE>47</AGE> años.",
        ),
        (
            "On <DATE>3 May 2021</DATE> fever.",
            "Fiebre el 3 de mayo de 2021.",
            "0-1 1-2 2-4 3-6 4-0",
            "Fiebre el <DATE>3 de mayo de 2021</DATE>.",
        ),
        ("<CITY>Rome</CITY>", "(Roma)", "0-0", "(<CITY>Roma</CITY>)"),
    ],
    ids=["order", "inserted words", "punctuation"],
)
def test_a_span_takes_the_words_that_its_own_are_aligned_to(
    source: str, target: str, line: str, expected: str
) -> None:
    note, found = projected(source, target, line)

    assert mark(note, found.spans) == expected
    assert not found.doubts


def test_what_cannot_be_placed_is_told() -> None:
    source = "<NAME>Ana</NAME> saw <NAME>Tom Hill</NAME> in <CITY>Rome</CITY>"
    note, found = projected(source, "Tom vio a Ana aquí en la calle alta de Hill", "2-0 3-9 0-9")

    assert [(doubt.why, doubt.placed) for doubt in found.doubts] == [
        (Why.SCATTERED, True),
        (Why.UNALIGNED, False),
    ]
    assert (found.lost, found.total) == (1, 3)
    assert mark(note, found.spans).startswith("<NAME>Tom</NAME>")


def test_two_spans_never_take_one_place() -> None:
    _, found = projected("<NAME>Ana</NAME> <CITY>Rome</CITY>", "Ana-Roma", "0-0 1-0")

    assert len(found.spans) == 1
    assert [doubt.why for doubt in found.doubts] == [Why.TAKEN]


def test_a_span_that_cuts_a_word_is_to_be_looked_at() -> None:
    _, found = projected("aged <AGE>47</AGE>y", "de 47a", "0-0 1-1")

    assert [(doubt.why, doubt.placed) for doubt in found.doubts] == [(Why.EDGE, True)]


@pytest.mark.parametrize(("letter", "is_told"), [("M", True), ("H", False)])
def test_a_letter_for_a_sex_that_means_the_other_one_is_told(letter: str, *, is_told: bool) -> None:
    _, found = projected("Sex: <SEX>M</SEX>", f"Sexo: {letter}", "0-0 1-1")

    assert [doubt.why for doubt in found.doubts] == [Why.SEX] * is_told


@pytest.mark.parametrize("line", ["0", "0-x", "-1-0", "0-0-0"])
def test_an_entry_that_is_no_pair_is_named(line: str) -> None:
    with pytest.raises(InputError, match="must read i-j"):
        read_alignment(line, source=3, target=3, note_id="n")


def test_a_number_that_no_word_has_is_named() -> None:
    with pytest.raises(InputError, match="'9-0'"):
        read_alignment("0-0 9-0", source=3, target=3, note_id="n")
