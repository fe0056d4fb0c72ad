"""Everything of this package that a format plugin may use, and nothing else; ``docs/formats/plugins.md`` shows how."""

from deid_assets.formats.annotated import Annotated, Annotation, Fault, ParsedNote, Problem, RecordError
from deid_assets.formats.assemble import assemble
from deid_assets.formats.catalogue import Format, Reader, Writer
from deid_assets.formats.fields import optional_string, parse_json, required_string, to_json
from deid_assets.formats.identities import Identity, Known, checked
from deid_assets.formats.installed import format_named
from deid_assets.formats.jsonl import decoded
from deid_assets.formats.members import write_member
from deid_assets.formats.options import FormatOptions, ReadOptions, WriteOptions
from deid_assets.formats.parquet import RowGroups, rows, table_writer
from deid_assets.formats.signatures import head, is_cda, is_fhir, is_omop
from deid_assets.formats.source import MAX_BYTES_PER_CHAR, SLACK_BYTES, Source, read_bytes, records
from deid_assets.formats.temporary import private_folder
from deid_assets.formats.unpacking import ArchiveError, Budget
from deid_assets.system.atomic import atomic_file, atomic_folder

__all__ = [
    "MAX_BYTES_PER_CHAR",
    "SLACK_BYTES",
    "Annotated",
    "Annotation",
    "ArchiveError",
    "Budget",
    "Fault",
    "Format",
    "FormatOptions",
    "Identity",
    "Known",
    "ParsedNote",
    "Problem",
    "ReadOptions",
    "Reader",
    "RecordError",
    "RowGroups",
    "Source",
    "WriteOptions",
    "Writer",
    "assemble",
    "atomic_file",
    "atomic_folder",
    "checked",
    "decoded",
    "format_named",
    "head",
    "is_cda",
    "is_fhir",
    "is_omop",
    "optional_string",
    "parse_json",
    "private_folder",
    "read_bytes",
    "records",
    "required_string",
    "rows",
    "table_writer",
    "to_json",
    "write_member",
]
