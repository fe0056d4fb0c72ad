"""Read PDF with a text layer: one file per note, pages joined by form feeds.

After the pages come one line each for the values of form fields (``name: value``), notes in the
margin and targets of links, and, where asked for, the title, subject and keywords as ``name:
value``. Names of who made it or wrote in its margin are left out.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

from deid_assets.extending.formats import Fault, ParsedNote, ReadOptions, Source
from deid_document_formats.options import Documents
from deid_document_formats.revisions import attachment_faults, list_hidden_lines

_MAX_BYTES = 1 << 28
_MAX_UNREADABLE = 0.05
"""Share of characters that stand for no letter.

A bullet here and there does, a font without a table has more.
"""
_GLYPH_NAMES = re.compile(r"(?:/[A-Za-z]{1,4}[0-9]{1,5}){3,}")
_SIGNATURE_WITHIN = 1024
"""Bytes before which ``%PDF-`` has to stand (ISO 32000-1, annex H, implementation note 13)."""
_REASONS = {
    "malformed": "is damaged, or no PDF; print it to a new PDF",
    "encrypted": "is encrypted; save it without a password",
    "too-large": (
        "has more text or needs more memory than allowed; raise --read max_note_chars or --read"
        " documents.max_memory_mib"
    ),
    "form": "is an XFA form, whose fields are not read; print it to a new PDF",
    "ocr-missing": (
        "has a page without text, and the engine of --read documents.ocr is missing; install it,"
        " or recognise the text (OCR) elsewhere and read that"
    ),
    "ocr-failed": (
        "has a page that the engine of --read documents.ocr fails on; see that it has the languages"
        " of --read documents.ocr_languages"
    ),
    "ocr-page": (
        "has a page with pictures that are too many, too large or cannot be decoded; scan it again"
    ),
}
_KINDS = {
    "form": "malformed",
    "ocr-missing": "no-text-layer",
    "ocr-failed": "no-text-layer",
    "ocr-page": "no-text-layer",
}
"""Of faults that are shown under another kind."""


def read(source: Source, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield the file as one note, and a fault for each file that is embedded in it.

    Another process reads it, within time and memory: about 0.4 s each on top of the reading.
    """
    refusal = _refusal(source)
    if refusal is not None:
        yield refusal
        return
    answer = _extract(source, options)
    if isinstance(answer, Fault):
        yield answer
        return
    fault = _refuse(source, answer, options)
    if fault is not None:
        yield fault
    else:
        # the rows of a written page say their own breaks
        shown = ("" if answer["is_written"] else "\f").join(answer["pages"])
        text = "\n".join([shown, *list_hidden_lines(answer["hidden"], shown)])
        yield ParsedNote(source.name, source.note_id, text, body_chars=len(shown))
    yield from attachment_faults(source, answer["attachments"], options)


def _refusal(source: Source) -> Fault | None:
    if source.path.stat().st_size > _MAX_BYTES:
        reason = f"is larger than {_MAX_BYTES} bytes; split it"
        return source.fault("too-large", reason, note_id=source.note_id)
    with source.path.open("rb") as file:
        if b"%PDF-" not in file.read(_SIGNATURE_WITHIN):
            return source.fault("malformed", _REASONS["malformed"], note_id=source.note_id)
    return None


def _extract(source: Source, options: ReadOptions) -> dict[str, Any] | Fault:
    """Return the answer of the process that reads the file."""
    request = {
        "path": str(source.path.resolve()),
        "layout": options.of(Documents).layout,
        "properties": options.of(Documents).properties,
        "max_chars": options.max_note_chars,
        "ocr": options.of(Documents).ocr,
        "languages": options.of(Documents).ocr_languages,
        "max_memory_mib": options.of(Documents).max_memory_mib,
        # it ends also where this process was killed
        "cpu_s": math.ceil(options.of(Documents).timeout_s) + 1,
    }
    # -P keeps the folder of the notes off the import path.
    command = [sys.executable, "-P", "-m", "deid_document_formats.pdf_worker"]
    try:
        ran = subprocess.run(  # noqa: S603 - our own module; the path is in the request
            command,
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback may show text
            timeout=options.of(Documents).timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        reason = (
            f"takes longer than {options.of(Documents).timeout_s:g} s to read; print it to a new"
            " PDF, or raise --read documents.timeout_s"
        )
        return source.fault("timed-out", reason, note_id=source.note_id)
    try:
        answer: dict[str, Any] = json.loads(ran.stdout)
    except ValueError:
        answer = {"fault": "malformed"}
    if "fault" in answer:
        kind = answer["fault"]
        return source.fault(_KINDS.get(kind, kind), _REASONS[kind], note_id=source.note_id)
    return answer


def _refuse(source: Source, answer: dict[str, Any], options: ReadOptions) -> Fault | None:
    """Return why the text is not that of the whole document, or ``None``.

    A page without letters of a written file is known to show nothing, and is no scan.
    """
    pages: list[str] = answer["pages"]
    blank = [number for number, text in enumerate(pages, start=1) if not text.strip()]
    if len(blank) == len(pages):
        reason = (
            "has no text layer, as a scan has none; recognise its text (OCR) and read that, or"
            " --read documents.ocr=tesseract"
        )
        return source.fault("no-text-layer", reason, note_id=source.note_id)
    may_be_blank = answer["is_written"] or options.of(Documents).blank_pages == "keep"
    if blank and not may_be_blank:
        reason = (
            f"page {blank[0]} and {len(blank) - 1} further of {len(pages)} pages have no text;"
            " recognise it (OCR), or --read documents.blank_pages=keep"
        )
        return source.fault("no-text-layer", reason, note_id=source.note_id)
    if answer["warnings"]:
        reason = (
            "is damaged, or has a font that cannot be read, so text may be missing; print it to a"
            " new PDF"
        )
        return source.fault("malformed", reason, note_id=source.note_id)
    if _unreadable_share("".join(pages)) > _MAX_UNREADABLE:
        reason = (
            "has a font without a mapping to characters; recognise its text (OCR) and read that"
        )
        return source.fault("undecodable", reason, note_id=source.note_id)
    return None


def _unreadable_share(text: str) -> float:
    """Share of the characters that stand for no letter.

    Those that are the glyph names that the library puts for them count too.
    """
    seen = "".join(text.split())
    unreadable = sum(
        char == "\ufffd" or unicodedata.category(char) in ("Cc", "Co", "Cn") for char in seen
    )
    unreadable += sum(len(match[0]) for match in _GLYPH_NAMES.finditer(seen))
    return unreadable / max(len(seen), 1)
