"""Which of the formats that share a suffix a file is in, by its first bytes or its footer.

Each function answers ``True``, ``False``, or ``None`` where both could be: then the user has to
say.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

_HEAD_BYTES = 1 << 18
_FOOTER_BYTES = 1 << 22
_FIRST_KEY = re.compile(r'\{\s*"resourceType"\s*:\s*"[A-Z]')
_PROLOG = re.compile(r"(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*", re.DOTALL)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)")
_PARQUET_MAGIC = b"PAR1"


def head(path: Path) -> str:
    """Return the beginning of a file as text.

    Empty where it cannot be read, which the reader will say.
    """
    try:
        with path.open("rb") as file:
            blob = file.read(_HEAD_BYTES)
    except OSError:
        return ""
    if blob.startswith((b"\xff\xfe", b"\xfe\xff")):
        return blob.decode("utf-16", errors="replace")
    return blob.decode("utf-8-sig", errors="replace")


def is_fhir(path: Path) -> bool | None:
    """Whether the first JSON value is a FHIR resource.

    An object with ``resourceType`` (FHIR R4, JSON format).

    ``None`` for an object that is a note of JSON Lines as well, and for one too long to be seen
    whole.
    """
    text = head(path).lstrip()
    if not text.startswith("{"):
        return False
    try:
        first, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        if _FIRST_KEY.match(text):
            return True
        return None if '"resourceType"' in text else False
    if not isinstance(first.get("resourceType"), str):
        return False
    return None if isinstance(first.get("text"), str) else True


def is_cda(path: Path) -> bool:
    """Whether the root element of an XML file is ``ClinicalDocument``."""
    return _root(path) == "ClinicalDocument"


def _root(path: Path) -> str:
    text = head(path)
    prolog = _PROLOG.match(text)
    root = _ROOT.match(text, prolog.end() if prolog else 0)
    return root[1] if root else ""


def is_omop(path: Path) -> bool:
    """Whether a Parquet file has the columns that a ``NOTE`` table of OMOP cannot lack.

    Any ``.omop`` file is one.

    Column names stand in the footer, each behind its length in one byte (Thrift compact protocol).
    """
    if path.suffix.lower() == ".omop":
        return True
    footer = _footer(path).lower()
    return all(
        bytes([len(name)]) + name in footer for name in (b"note_id", b"note_text", b"person_id")
    )


def _footer(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 8))
            tail = file.read()
            length = int.from_bytes(tail[:4], "little")
            if tail[4:] != _PARQUET_MAGIC or not 0 < length <= min(size - 8, _FOOTER_BYTES):
                return b""
            file.seek(size - 8 - length)
            return file.read(length)
    except OSError:
        return b""
