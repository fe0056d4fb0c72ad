"""Readers and writers of notes and spans. A broken note is a ``Fault``, never a note with fewer spans."""

from deid_assets.formats.annotated import Annotated, Fault
from deid_assets.formats.catalogue import FORMATS, Format
from deid_assets.formats.identities import Identity, read_identities
from deid_assets.formats.omop_notes import read_omop
from deid_assets.formats.omop_writer import write_note_nlp
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
    "read_identities",
    "read_notes",
    "read_omop",
    "read_spans",
    "write_note_nlp",
    "write_notes",
    "write_spans",
]
