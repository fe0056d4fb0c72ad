"""RTF (Microsoft, version 1.9.1) cut into groups, control words and text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    # a control word, its number and the blank that ends it
    rb"\\([a-zA-Z]{1,32})(-?[0-9]{1,10})? ?"
    rb"|\\'([0-9a-fA-F]{2})"
    rb"|\\([^a-zA-Z'])"
    rb"|([{}])"
    rb"|[\r\n]+"
    rb"|([^\\{}\r\n]+)",
    re.DOTALL,
)


class RtfToken(NamedTuple):
    r"""One token.

    Args:
        kind: ``word``, ``symbol`` (a backslash and one character), ``text``, ``open``, ``close`` or
            ``bad``.
        name: Of a control word or symbol.
        number: Of a control word, where it has one.
        content: Of text, the bytes; of a ``\'hh``, one byte.
        is_hex: The text is one ``\'hh``.
    """

    kind: str
    name: str = ""
    number: int | None = None
    content: bytes = b""
    is_hex: bool = False


def tokens(blob: bytes) -> Iterator[RtfToken]:
    """Yield the tokens.

    ``bad`` is the last where the rest is none, and line breaks between tokens mean nothing.
    """
    at = 0
    while at < len(blob):
        match = _TOKEN.match(blob, at)
        if match is None:
            yield RtfToken("bad")
            return
        at = match.end()
        word, number, code, symbol, brace, text = match.groups()
        if word is not None:
            value = None if number is None else int(number)
            if word == b"bin":
                at += max(value or 0, 0)  # raw bytes of a picture or object
                if at > len(blob):
                    yield RtfToken("bad")
                    return
            yield RtfToken("word", word.decode(), value)
        elif code is not None:
            yield RtfToken("text", content=bytes.fromhex(code.decode()), is_hex=True)
        elif symbol is not None:
            yield RtfToken("symbol", symbol.decode("latin-1"))
        elif brace is not None:
            yield RtfToken("open" if brace == b"{" else "close")
        elif text is not None:
            yield RtfToken("text", content=text)
