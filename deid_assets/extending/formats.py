"""Everything of this package that a format plugin may use, and nothing else.

``docs/formats/plugins.md`` shows how.
"""

from deid_assets.formats.annotated import (
    Annotated,
    Annotation,
    Fault,
    ParsedNote,
    Problem,
    RecordError,
)
from deid_assets.formats.assemble import BREAKS_TO_BLANKS, assemble
from deid_assets.formats.catalogue import Format, Reader, Writer, format_named
from deid_assets.formats.fields import (
    is_encodable,
    optional_string,
    parse_json,
    require_string,
    to_json,
)
from deid_assets.formats.identities import Identity, Known, check_values
from deid_assets.formats.jsonl import decode_line
from deid_assets.formats.members import write_member
from deid_assets.formats.offsets import to_code_points, width
from deid_assets.formats.options import (
    BratLabels,
    Conll,
    FormatOptions,
    OffsetUnit,
    ReadOptions,
    TagScheme,
    WriteOptions,
)
from deid_assets.formats.parquet import RowGroups, rows, table_writer
from deid_assets.formats.signatures import head, is_cda, is_fhir, is_omop
from deid_assets.formats.source import (
    MAX_BYTES_PER_CHAR,
    SLACK_BYTES,
    Source,
    check_by_line,
    read_bytes,
    read_text,
    records,
)
from deid_assets.formats.temporary import private_folder
from deid_assets.formats.text import write_text
from deid_assets.formats.unpacking import ArchiveError, Budget
from deid_assets.system.atomic import atomic_file, atomic_folder

__all__ = [
    "BREAKS_TO_BLANKS",
    "MAX_BYTES_PER_CHAR",
    "SLACK_BYTES",
    "Annotated",
    "Annotation",
    "ArchiveError",
    "BratLabels",
    "Budget",
    "Conll",
    "Fault",
    "Format",
    "FormatOptions",
    "Identity",
    "Known",
    "OffsetUnit",
    "ParsedNote",
    "Problem",
    "ReadOptions",
    "Reader",
    "RecordError",
    "RowGroups",
    "Source",
    "TagScheme",
    "WriteOptions",
    "Writer",
    "assemble",
    "atomic_file",
    "atomic_folder",
    "check_by_line",
    "check_values",
    "decode_line",
    "format_named",
    "head",
    "is_cda",
    "is_encodable",
    "is_fhir",
    "is_omop",
    "optional_string",
    "parse_json",
    "private_folder",
    "read_bytes",
    "read_text",
    "records",
    "require_string",
    "rows",
    "table_writer",
    "to_code_points",
    "to_json",
    "width",
    "write_member",
    "write_text",
]
