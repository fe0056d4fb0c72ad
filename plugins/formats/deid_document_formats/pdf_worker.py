"""The text of one PDF, read in a process of its own.

``python -P -m deid_document_formats.pdf_worker``.

On standard input it takes one JSON object with the path, ``layout``, ``properties``, the most
characters, MiB and seconds, and the engine and its languages for pages without text. On standard
output it gives one with ``pages``, whether the file ``is_written`` by this package and untouched
since, ``hidden`` lines, the number of ``attachments`` and the library's ``warnings``, or with the
kind of a ``fault``.
Whatever a hostile file does to the library ends this process and no other.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid_document_formats.options import OcrEngine
from deid_document_formats.pdf_check import read_pages_as_written
from deid_document_formats.pdf_lines import running
from deid_document_formats.pdf_ocr import OcrError, recognise_page

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_HARMLESS = re.compile(
    "Ignoring wrong pointing object|Multiple definitions in dictionary|Duplicate %%EOF|EOF marker"
    " not at start|CAUTION: startxref found|/Prev=0 in|Xref table not zero-indexed|Ignoring"
    " malformed /ID|Rotated text discovered. L|incorrect startxref|Limiting excessive|Found"
    " trailing newline|Optional font table|Clamping XRef|Illegal character in NameObject|.* :"
    " FloatObject|Detected cycle in outline|Annotation sizes differ"
)
"""Warnings of pypdf 7 after which no text is missing; any other withholds the note."""
_INFO = ("/Title", "/Subject", "/Keywords")
_ANNOTATION = ("/Contents", "/Subj")
"""Not ``/T``, which is who wrote it (ISO 32000-1, table 170)."""


class _Warnings(logging.Handler):
    """Counts what the library warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += not _HARMLESS.match(record.getMessage())


def _limit_resources(*, memory_mib: int, cpu_s: int) -> None:
    try:
        import resource  # noqa: PLC0415 - not on Windows, where the parent bounds the time
    except ImportError:
        return
    for kind, limit in ((resource.RLIMIT_AS, memory_mib << 20), (resource.RLIMIT_CPU, cpu_s)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(
            kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard)
        )


def extract(
    path: str, *, layout: bool, properties: bool, max_chars: int, ocr: OcrEngine, languages: str
) -> dict[str, Any]:
    """Return the pages and what surrounds them, or the kind of a fault."""
    from pypdf import PdfReader  # noqa: PLC0415 - only this process needs it
    from pypdf.errors import LimitReachedError, PyPdfError  # noqa: PLC0415

    try:
        written = read_pages_as_written(Path(path))
        warnings = _Warnings()
        logging.getLogger("pypdf").addHandler(warnings)
        reader = PdfReader(path)
        if reader.is_encrypted:
            return {"fault": "encrypted"}
        if reader.xfa:
            return {"fault": "form"}
        pages: list[str] = []
        left = max_chars
        for text in written or _read_pages(reader, layout=layout, ocr=ocr, languages=languages):
            pages.append(text)
            left -= len(text) + 1
            if left < 0:
                return {"fault": "too-large"}
        hidden = [*_find_hidden(reader), *(_properties(reader) if properties else ())]
        attachments = len(list(reader.attachment_list)) + sum(
            _count_attached(page) for page in reader.pages
        )
    except (LimitReachedError, MemoryError):
        return {"fault": "too-large"}
    except (PyPdfError, OcrError) as error:
        return {"fault": str(error) if isinstance(error, OcrError) else "malformed"}
    return {
        "pages": pages,
        "is_written": written is not None,
        "hidden": hidden,
        "attachments": attachments,
        "warnings": warnings.count,
    }


def _read_pages(
    reader: PdfReader, *, layout: bool, ocr: OcrEngine, languages: str
) -> Iterator[str]:
    for page in reader.pages:
        text = _text(page, layout=layout)
        if ocr != "none" and not text.strip():
            text = running(recognise_page(page, ocr, languages))
        yield text


def _text(page: PageObject, *, layout: bool) -> str:
    if layout:
        return page.extract_text(extraction_mode="layout", layout_mode_strip_rotated=False)
    return running(page.extract_text().rstrip("\n"))


def _annotations(page: PageObject) -> Iterator[Any]:
    for annotation in page.get("/Annots", ()) or ():
        yield annotation.get_object()


def _count_attached(page: PageObject) -> int:
    return sum(annotation.get("/Subtype") == "/FileAttachment" for annotation in _annotations(page))


def _find_hidden(reader: PdfReader) -> Iterator[str]:
    """Yield the values of form fields, notes in the margin, and targets of links."""
    for name, field in (reader.get_fields() or {}).items():
        value = field.get("/V")
        if value is not None:
            yield f"{name}: {value}"
    for page in reader.pages:
        for annotation in _annotations(page):
            if annotation.get("/Subtype") != "/Widget":
                yield from (str(annotation[key]) for key in _ANNOTATION if annotation.get(key))
            action = annotation.get("/A")
            target = action.get_object().get("/URI") if action is not None else None
            if target is not None:
                yield str(target)


def _properties(reader: PdfReader) -> Iterator[str]:
    properties: Mapping[str, Any] = reader.metadata or {}
    for key in _INFO:
        value = properties.get(key)
        if value:
            yield f"{key[1:]}: {value}"


def main() -> None:
    """Read one request and write one answer."""
    request = json.load(sys.stdin)
    _limit_resources(memory_mib=request["max_memory_mib"], cpu_s=request["cpu_s"])
    names = ("path", "layout", "properties", "max_chars", "ocr", "languages")
    answer = extract(**{name: request[name] for name in names})
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
