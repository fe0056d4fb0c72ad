"""The tables in the docstrings of ``deid_rules``: each row reads as the detector marks it.

A row has a language, a text with its marks, and the reason; what is kept on purpose has ``kept`` in
the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import pytest

from deid_assets.testing import mark, parse_marked
from deid_rules import RulesDetector
from deid_rules.patterns import OVER_89

MODULES = (
    "ages",
    "checks",
    "grammar",
    "inverted",
    "misread",
    "names",
    "national_checks",
    "phones",
    "places",
    "propagate",
    "proper",
    "uncased",
)
"""Modules that say what is found."""
RULE = re.compile(r"=+( +=+)+")


class Row(NamedTuple):
    lang: str
    text: str
    why: str


@cache
def detector(*, ocr: bool) -> RulesDetector:
    return RulesDetector(ocr=ocr)


def rows_of(docstring: str) -> Iterator[Row]:
    """Yield the rows between the second and the third line of equals signs."""
    lines = docstring.splitlines()
    _, start, stop = [at for at, line in enumerate(lines) if RULE.fullmatch(line)]
    columns = [match.span() for match in re.finditer("=+", lines[start])]
    for line in lines[start + 1 : stop]:
        yield Row(*(line[first:last].strip() for first, last in columns))


def rows(module: str) -> list[Row]:
    return list(rows_of(import_module(f"deid_rules.{module}").__doc__ or ""))


def cases() -> list[Any]:
    return [
        pytest.param(module, row, id=f"{module}-{number}")
        for module in MODULES
        for number, row in enumerate(rows(module))
    ]


@pytest.mark.parametrize(("module", "row"), cases())
def test_a_text_is_marked_as_the_docstring_says(module: str, row: Row) -> None:
    note, _ = parse_marked(row.text, lang=row.lang)

    (spans,) = detector(ocr=module == "misread").detect([note])

    assert mark(note, spans) == row.text, row.why
    if module == "ages":
        is_over = row.why.startswith("over 89")
        assert [span.native_label for span in spans if span.native_label] == [OVER_89] * is_over


@pytest.mark.parametrize("module", MODULES)
def test_a_table_says_what_is_found_and_what_is_not(module: str) -> None:
    found = [row for row in rows(module) if "<" in row.text]
    assert found
    assert len(found) < len(rows(module)) or any("any " in row.why for row in rows(module))


def test_what_a_scan_confused_stays_without_the_option() -> None:
    changed = [row for row in rows("misread") if "<" in row.text]
    for row in changed:
        note, _ = parse_marked(row.text, lang=row.lang)
        (spans,) = detector(ocr=False).detect([note])
        assert mark(note, spans) == note.text


def test_rows_are_read_by_their_columns() -> None:
    table = "About.\n\n====  ====\nLang  Text\n====  ====\nen    A b\n====  ====\n"
    with pytest.raises(TypeError, match="why"):
        list(rows_of(table))
    table = "====  ====  ===\nLang  Text  Why\n====  ====  ===\nen    A  b  c\n====  ====  ===\n"
    assert list(rows_of(table)) == [Row("en", "A  b", "c")]
