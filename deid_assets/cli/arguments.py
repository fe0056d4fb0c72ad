"""Arguments and options that commands share, with the words of their help, and groups of options: a
parameter of a command that is a dataclass stands for its fields.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from deid_assets.cli.streams import READ_SETTINGS, NoteSource, read_options
from deid_assets.core.resolve import POLICIES
from deid_assets.formats import ReadOptions
from deid_assets.own_plugins import DEFAULT_ENSEMBLE

DETECTOR_HELP = "Detector to run; several times for several predictions, the most trusted first."
_POLICIES = f"Overlap policy: {', '.join(POLICIES)}."

NotesArg = Annotated[
    Path,
    typer.Argument(
        metavar="NOTES", help="File or folder of notes; their annotations are not read."
    ),
]
DetectorOption = Annotated[list[str], typer.Option(metavar="NAME[=MODEL]", help=DETECTOR_HELP)]
EnsembleOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[=MODEL]", help=f"{DETECTOR_HELP} {' '.join(DEFAULT_ENSEMBLE)} if none."
    ),
]
DetectorInsteadOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME[=MODEL]", help=f"In place of --spans. {DETECTOR_HELP}"),
]
DetectorSettingOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME.KEY=VALUE", help="Option of a detector, its value as in TOML; several times."
    ),
]
ResolveOption = Annotated[
    str | None,
    typer.Option(
        "--resolve", metavar="POLICY", help=f"{_POLICIES} All predictions when not given."
    ),
]
ResolveOrUniteOption = Annotated[
    str | None,
    typer.Option("--resolve", metavar="POLICY", help=f"{_POLICIES} Union when not given."),
]
PolicyOption = Annotated[
    str, typer.Option(metavar="NAME|FILE", help="Name that deid policies lists, or a TOML file.")
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Format of the notes, as deid formats lists; detected if not given.",
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Format to write, where the suffix does not say it."),
]
LangOption = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Language of notes that name none, as in ISO 639-1."),
]
ReadOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help=(
            f"How files are read: {', '.join(READ_SETTINGS)}, and what deid formats --json lists as"
            " options; several times."
        ),
    ),
]
JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", metavar="N", min=1, help="Processes that detect; each loads the detectors."
    ),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Label map of the annotations, as deid labels lists; its format's when not given.",
    ),
]
ProfileOption = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Which categories count, under which labels; as deid profiles lists."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
SystemsOption = Annotated[
    list[str],
    typer.Option(
        "--pred",
        metavar="FILE[=NAME]",
        help="Spans that deid detect wrote; several times for several.",
    ),
]
GoldOption = Annotated[Path, typer.Option("--gold", metavar="NOTES", help="Annotated notes.")]


def note_source(
    notes: Path,
    format_name: str | None,
    read: list[str] | None,
    lang: str | None = None,
    *,
    annotations: bool = False,
) -> NoteSource:
    """Return the notes of a path, read as the options of a command say.

    Args:
        notes: File or folder.
        format_name: ``--format``.
        read: ``--read``.
        lang: ``--lang``.
        annotations: Whether the notes' own annotations are read.
    """
    return NoteSource(notes, format_name, lang, read_options(read or [], annotations=annotations))


@dataclass(frozen=True, slots=True)
class FileReading:
    """Options on how files of notes are read."""

    format_name: FormatOption = None
    read: ReadOption = None

    def source(self, notes: Path) -> NoteSource:
        """Return the notes of a path; their annotations are not read."""
        return note_source(notes, self.format_name, self.read)


@dataclass(frozen=True, slots=True)
class Reading:
    """Options on how notes are read, and on their language."""

    format_name: FormatOption = None
    read: ReadOption = None
    lang: LangOption = None

    def source(self, notes: Path) -> NoteSource:
        """Return the notes of a path; their annotations are not read."""
        return note_source(notes, self.format_name, self.read, self.lang)


@dataclass(frozen=True, slots=True)
class AnnotatedReading:
    """Options on how annotated notes are read."""

    format_name: FormatOption = None
    labels: LabelsOption = None
    read: ReadOption = None

    @property
    def options(self) -> ReadOptions:
        """What ``--read`` says, for files with annotations."""
        return read_options(self.read or [], annotations=True)

    def source(self, notes: Path) -> NoteSource:
        """Return the notes of a path with their annotations."""
        return NoteSource(notes, self.format_name, None, self.options)


@dataclass(frozen=True, slots=True)
class ReadingWithLabels:
    """Options on how notes are read, with their annotations or without."""

    format_name: FormatOption = None
    labels: LabelsOption = None
    read: ReadOption = None
    lang: LangOption = None

    def source(self, notes: Path, *, annotations: bool) -> NoteSource:
        """Return the notes of a path."""
        return note_source(notes, self.format_name, self.read, self.lang, annotations=annotations)


def group_options(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command with one parameter for each field of its groups, as Typer reads it.

    The groups are dataclasses whose fields are annotated as parameters are.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, type[Any]] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters += _options_of(groups[name]) if name in groups else [parameter]

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> int:
        for name, group in groups.items():
            given = {field.name: options.pop(field.name) for field in fields(group)}
            options[name] = group(**given)
        return command(*args, **options)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _options_of(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default_of(field),
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _default_of(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default
