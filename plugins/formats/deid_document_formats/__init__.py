"""Formats of documents for deid-assets: DOCX, PDF, RTF and mail."""

from deid_assets.extending.formats import Format
from deid_document_formats.options import Documents

__all__ = ["DOCX", "EML", "PDF", "RTF", "Documents"]

_HERE = "deid_document_formats"
_NONE: frozenset[str] = frozenset()

DOCX = Format(
    "docx", (".docx", ".docm"), f"{_HERE}.docx", is_folder=True, keeps=_NONE, options=Documents
)
RTF = Format("rtf", (".rtf",), f"{_HERE}.rtf", is_folder=True, keeps=_NONE, options=Documents)
EML = Format("eml", (".eml",), f"{_HERE}.eml", is_folder=True, keeps=_NONE, options=Documents)
PDF = Format(
    "pdf",
    (".pdf",),
    f"{_HERE}.pdf",
    is_folder=True,
    keeps=_NONE,
    writer_module=f"{_HERE}.pdf_writer",
    options=Documents,
)
