"""Readers and writers of notes and spans.

A broken note is a ``Fault``, never a note with fewer spans.
"""

from deid_assets.formats.annotated import Annotated, Fault
from deid_assets.formats.catalogue import FORMATS, Format, format_named
from deid_assets.formats.identities import Identity, read_identities
from deid_assets.formats.options import Columns, Conll, ReadOptions, WriteOptions
from deid_assets.formats.registry import detect_format, read_notes, write_notes
from deid_assets.formats.span_files import read_spans, write_spans

__all__ = [
    "FORMATS",
    "Annotated",
    "Columns",
    "Conll",
    "Fault",
    "Format",
    "Identity",
    "ReadOptions",
    "WriteOptions",
    "detect_format",
    "format_named",
    "read_identities",
    "read_notes",
    "read_spans",
    "write_notes",
    "write_spans",
]
