"""The text of a PDF that this package wrote: exactly, by the rows of its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdf import PageObject

PRODUCER = "deid-formats"
"""The only property of a file that is written."""


def read_written_text(page: PageObject) -> str:
    """Return what the rows of a page say that they stand for, line breaks and all."""
    from pypdf.generic import ByteStringObject  # noqa: PLC0415 - only who has a page needs it

    content = page.get_contents()
    rows = []
    for operands, operator in content.operations if content is not None else ():
        if operator != b"BDC" or not isinstance(operands[1], dict):
            continue
        text = operands[1].get("/ActualText", "")
        is_bytes = isinstance(text, ByteStringObject)
        rows.append(bytes(text).decode("utf-16") if is_bytes else str(text))
    return "".join(rows)
