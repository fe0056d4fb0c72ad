"""How documents are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from deid_assets.extending import ConfigError
from deid_assets.extending.formats import FormatOptions

Attachments = Literal["fault", "read", "skip"]
BlankPages = Literal["refuse", "keep"]
OcrEngine = Literal["none", "tesseract", "rapidocr"]
_LANGUAGES = re.compile(r"[A-Za-z_]{1,40}(?:\+[A-Za-z_]{1,40}){0,20}")


@dataclass(frozen=True, slots=True)
class Documents(FormatOptions):
    """Options for reading DOCX, PDF, RTF and mail.

    Args:
        layout: Of PDF: blanks and empty lines keep the place of words on the page; rotated text is
            left out by the library in this mode, so a page that has nothing else is blank.
        blank_pages: Of PDF with text on some pages: ``refuse`` withholds it for a page without
            text, ``keep`` takes the page as empty. A PDF without any text is a fault either way.
        attachments: What a document carries besides its text: ``fault`` gives the note and one
            fault per attachment, ``read`` reads those of a mail that are text or documents as notes
            of their own, ``skip`` leaves all out.
        properties: Whether a document's title, subject, keywords and the like become text, as
            ``name: value``. They are no part of what was written about a patient, and are kept by
            programs from one document to the next. Who made, saved or commented a document is never
            read.
        ocr: Of PDF: the engine that recognises pages without text; ``none`` refuses them. Whatever
            it misreads, a detector may not know.
        ocr_languages: Of Tesseract, by its own codes joined by ``+``, such as ``deu+eng``.
        timeout_s: Longest time for one PDF.
        max_memory_mib: Address space of the process that reads one PDF, where the system can bound
            it.

    Raises:
        ConfigError: A value is not one of those allowed.
    """

    group: ClassVar[str] = "documents"

    layout: bool = False
    blank_pages: BlankPages = "refuse"
    attachments: Attachments = "fault"
    properties: bool = False
    ocr: OcrEngine = "none"
    ocr_languages: str = "eng"
    timeout_s: float = 60.0
    max_memory_mib: int = 2048

    def __post_init__(self) -> None:
        if self.blank_pages not in get_args(BlankPages):
            raise ConfigError(f"blank_pages is {self.blank_pages!r}; choose refuse or keep")
        if self.attachments not in get_args(Attachments):
            raise ConfigError(f"attachments is {self.attachments!r}; choose fault, read or skip")
        if self.ocr not in get_args(OcrEngine):
            raise ConfigError(f"ocr is {self.ocr!r}; choose none, tesseract or rapidocr")
        if not _LANGUAGES.fullmatch(self.ocr_languages):
            raise ConfigError("ocr_languages is no codes joined by +; write deu+eng, for instance")
        if not self.timeout_s > 0 or self.max_memory_mib < 1:
            raise ConfigError("timeout_s and max_memory_mib must be greater than 0")
