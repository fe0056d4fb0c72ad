"""Labels of fields are no identifiers; names before a colon are."""

from __future__ import annotations

from pathlib import Path

import marisa_trie
import pytest

from deid_assets import Span
from deid_assets.extending import Phi
from deid_compact.field_labels import drop_field_labels
from deid_compact.lexicon import COLUMNS, ListIndex, read_lexicon

COMMON = 1
FIRST_NAME = 2
SURNAME = 4
FREQUENT = 64
WORDS = {
    "provincia": COMMON,
    "de": COMMON,
    "birth": FREQUENT,
    "place": COMMON,
    "of": COMMON,
    "rosa": COMMON | FIRST_NAME,
    "koch": COMMON | SURNAME,
}


@pytest.fixture
def lexicon(tmp_path: Path) -> ListIndex:
    words = [(word, (held,)) for word, held in WORDS.items()]
    marisa_trie.RecordTrie("<H", words).save(str(tmp_path / "lists.marisa"))
    return read_lexicon(tmp_path / "lists.marisa", COLUMNS)


def kept(text: str, marked: str, lexicon: ListIndex) -> bool:
    start = text.index(marked)
    span = Span(start, start + len(marked), Phi.NAME, 0.9, "compact")
    return drop_field_labels([span], text, lexicon) == [span]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Provincia: Madrid", "Provincia"),
        ("Localidad/ Provincia : Madrid", "Provincia"),
        ("x\n  Place of birth: Ulm", "Place"),
        ("a;PROVINCIA: Madrid", "PROVINCIA"),
    ],
)
def test_a_field_label_is_left_out(text: str, marked: str, lexicon: ListIndex) -> None:
    assert not kept(text, marked, lexicon)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Rosa: I am late", "Rosa"),  # a first name
        ("Koch: patient stable", "Koch"),  # a surname
        ("Provincia Rosa: x", "Provincia"),  # beside a name
        ("Umbrel: x", "Umbrel"),  # in no list
        ("lives in Provincia: x", "Provincia"),  # within a line
        ("Provincia Madrid", "Provincia"),  # no colon
        ("Provincia: Provincia", "Provincia: Provincia"),  # more than the label
        ("place of birth of provincia: x", "provincia"),  # too many words
    ],
)
def test_anything_else_stays(text: str, marked: str, lexicon: ListIndex) -> None:
    assert kept(text, marked, lexicon)


@pytest.mark.parametrize(
    ("text", "marked", "left"),
    [
        ("Ana Lee NºCol: 28 28", "Ana Lee NºCol", "Ana Lee"),
        ("Ana Lee  N°: 28", "Ana Lee  N°", "Ana Lee"),
        ("Ana Lee n.º : 28", "Ana Lee n.º", "Ana Lee"),
        ("Calle Sol Nº 4", "Calle Sol Nº", "Calle Sol Nº"),  # no colon
        ("NºCol: 28", "NºCol", None),
    ],
)
def test_the_label_of_a_number_ends_a_span(
    text: str, marked: str, left: str | None, lexicon: ListIndex
) -> None:
    span = Span(0, len(marked), Phi.NAME, 0.9, "compact")
    kept = [text[each.start : each.end] for each in drop_field_labels([span], text, lexicon)]
    assert kept == ([left] if left else [])
