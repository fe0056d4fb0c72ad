"""Character sets as records of hospital systems name them, and bytes of a record as text."""

from __future__ import annotations

import base64
import binascii
import codecs
import re

from deid_assets.extending.formats import RecordError

_NOT_OF_TEXT = frozenset(
    {
        "idna",
        "mbcs",
        "oem",
        "punycode",
        "raw_unicode_escape",
        "undefined",
        "unicode_escape",
        "utf-7",
    }
)
"""Codecs of Python that are not taken.

They are no character set, take quadratic time, or (UTF-7) give lone surrogates.
"""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:() -]{0,39}")
_BLANKS = re.compile(r"[ \t\r\n]+")


def codec(name: str) -> str:
    """Return Python's name of a character set.

    Raises:
        RecordError: It is not known.
    """
    try:
        found = codecs.lookup(name).name if _NAME.fullmatch(name) else ""
        if found and found not in _NOT_OF_TEXT:
            b"x".decode(found, errors="replace")  # refuses codecs that are not of text
            return found
    except (LookupError, ValueError):
        pass
    # Its name is not shown: in a damaged file text stands in its place.
    raise RecordError(
        "undecodable", "the character set that is declared is not known; export it as UTF-8"
    )


def to_text(blob: bytes, charset: str, *, what: str) -> str:
    """Return bytes as text; ``what`` begins the message.

    Raises:
        RecordError: The character set is not known, or the bytes are not in it.
    """
    name = codec(charset)
    try:
        return blob.decode(name)
    except UnicodeDecodeError as error:
        reason = (
            f"{what}: byte {error.start} is not {name}; export it as UTF-8 or name its"
            " character set"
        )
    except ValueError:
        reason = f"{what} is not {name}; export it as UTF-8 or name its character set"
    raise RecordError("undecodable", reason)


def from_base64(encoded: str, *, what: str) -> bytes:
    """Return the bytes of base64 after RFC 4648, section 4.

    Blanks and line breaks may stand between its characters.

    Raises:
        RecordError: It is not base64.
    """
    try:
        return base64.b64decode(_BLANKS.sub("", encoded), validate=True)
    except (binascii.Error, ValueError):
        raise RecordError("malformed", f"{what} is not base64; export it again") from None
