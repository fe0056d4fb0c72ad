"""Commands that a plugin brings.

A typed function, as Typer reads it, that answers what is to be shown.

Entry points of ``deid_assets.commands`` are commands of ``deid``; those of
``deid_assets.commands.corpus`` of ``deid corpus``. The name is the command, the object the
function; its first line of documentation is the help. The option ``--json``, the exit codes and the
one line of every error are the command line's. A function that has an argument ``as_json`` prints
its answer itself, and returns the exit code. A ``typer.Typer`` in its place is a group of commands,
each under ``guard_command``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.cli.arguments import (
    AnnotatedReading,
    DetectorOption,
    DetectorSettingOption,
    FileReading,
    FormatOption,
    GoldOption,
    JobsOption,
    JsonOption,
    LabelsOption,
    LangOption,
    NotesArg,
    PolicyOption,
    ProfileOption,
    Reading,
    ReadingWithLabels,
    ReadOption,
    SystemsOption,
    ToOption,
    group_options,
    note_source,
)
from deid_assets.cli.endings import PARTIAL, guard_command, say
from deid_assets.cli.ensemble import Detection, Named, parse_option
from deid_assets.cli.outputs import check_out, finish, out_format, write_options
from deid_assets.cli.plugged import CommandGroup, WithPlugins
from deid_assets.cli.streams import NoteSource, SpansFile, Withheld, progress, read_options
from deid_assets.cli.tables import print_json, print_line, print_rows, print_table
from deid_assets.config import Settings
from deid_assets.config.faults import faults_in, raise_all, read_toml
from deid_assets.formats import FORMATS, Annotated, Fault, ReadOptions, detect_format, write_notes
from deid_assets.formats.annotated import Annotation, ParsedNote
from deid_assets.formats.registry import check_parsed_notes, parse_notes


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings.

    Args:
        columns: Headings.
        rows: Cells as text.
        numbers_from: Columns from here on are aligned to the right.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers_from: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command says.

    Args:
        document: The whole of it, for ``--json``; without text of notes, as everything here.
        tables: For people.
        said: Lines below, on standard error.
        code: Exit code: 0, or 1 where something was left undone.
    """

    document: Mapping[str, Any]
    tables: Sequence[Table] = ()
    said: Sequence[str] = field(default=())
    code: int = 0


__all__ = [
    "FORMATS",
    "PARTIAL",
    "Annotated",
    "AnnotatedReading",
    "Annotation",
    "Answer",
    "CommandGroup",
    "Detection",
    "DetectorOption",
    "DetectorSettingOption",
    "Fault",
    "FileReading",
    "FormatOption",
    "GoldOption",
    "JobsOption",
    "JsonOption",
    "LabelsOption",
    "LangOption",
    "Named",
    "NoteSource",
    "NotesArg",
    "ParsedNote",
    "PolicyOption",
    "ProfileOption",
    "ReadOption",
    "ReadOptions",
    "Reading",
    "ReadingWithLabels",
    "Settings",
    "SpansFile",
    "SystemsOption",
    "Table",
    "ToOption",
    "WithPlugins",
    "Withheld",
    "check_out",
    "check_parsed_notes",
    "detect_format",
    "faults_in",
    "finish",
    "group_options",
    "guard_command",
    "note_source",
    "out_format",
    "parse_notes",
    "parse_option",
    "print_json",
    "print_line",
    "print_rows",
    "print_table",
    "progress",
    "raise_all",
    "read_options",
    "read_toml",
    "say",
    "write_notes",
    "write_options",
]
