"""The text of a PDF that this package wrote: exactly, by the rows of its pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypdf import PageObject

PRODUCER = "deid-formats"
"""The only property of a file that is written."""
_EXACT = "/ActualText"
_BEFORE, _ROW, _AFTER = [b"BT", b"Tf", b"TL", b"Td"], [b"BDC", b"Tj", b"EMC", b"T*"], [b"ET"]
"""Operators of a page that is written: what begins it, each row, and what ends it."""


def read_written_text(page: PageObject) -> str:
    """Return what the rows of a page say that they stand for, line breaks and all."""
    return "".join(
        _exact_text(operands) for operands, operator in _operations(page) if operator == b"BDC"
    )


def has_rows_alone(page: PageObject) -> bool:
    """Whether a page draws at least one row as this package writes it, and nothing besides.

    Each row shows one glyph for each character that it says it stands for.
    """
    operations = list(_operations(page))
    operators = [operator for _, operator in operations]
    rows = (len(operators) - len(_BEFORE) - len(_AFTER)) // len(_ROW)
    if rows < 1 or operators != [*_BEFORE, *_ROW * rows, *_AFTER]:
        return False
    drawn = operations[len(_BEFORE) : -len(_AFTER)]
    return all(
        _is_row(marked, shown)
        for (marked, _), (shown, _) in zip(drawn[:: len(_ROW)], drawn[1 :: len(_ROW)], strict=True)
    )


def _is_row(marked: list[Any], shown: list[Any]) -> bool:
    """Whether a row says what it stands for alone, and shows a code of two bytes for each of it."""
    if marked[0] != "/Span" or not isinstance(marked[1], dict) or marked[1].keys() != {_EXACT}:
        return False
    raw: bytes = shown[0] if isinstance(shown[0], bytes) else shown[0].original_bytes
    return len(raw) == 2 * len(_exact_text(marked).removesuffix("\n").removesuffix("\f"))


def _operations(page: PageObject) -> Iterator[tuple[list[Any], bytes]]:
    content = page.get_contents()
    yield from content.operations if content is not None else ()


def _exact_text(operands: list[Any]) -> str:
    from pypdf.generic import ByteStringObject  # noqa: PLC0415 - only who has a page needs it

    if len(operands) < 2 or not isinstance(operands[1], dict):
        return ""
    text = operands[1].get(_EXACT, "")
    return bytes(text).decode("utf-16") if isinstance(text, ByteStringObject) else str(text)
