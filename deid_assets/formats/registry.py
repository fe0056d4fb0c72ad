"""Reading and writing through the table of formats."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from deid_assets.core.errors import DeidError, InputError
from deid_assets.core.phi import LabelMap
from deid_assets.formats.annotated import Annotated, Fault, ParsedNote
from deid_assets.formats.archives import suffix_of
from deid_assets.formats.assemble import assemble
from deid_assets.formats.catalogue import (
    FORMATS,
    Format,
    Outside,
    format_named,
    list_file_formats,
    load_installed,
)
from deid_assets.formats.declared import check_error, declare_entry
from deid_assets.formats.fields import is_encodable
from deid_assets.formats.options import ReadOptions, WriteOptions
from deid_assets.formats.source import OnIgnored, Selection, Source, files, pass_over_silently
from deid_assets.own_plugins import is_own
from deid_assets.system.silence import silence_output

_DEFAULT_READ = ReadOptions()
_DEFAULT_WRITE = WriteOptions()


_LOOKED_AT = 16


def detect_format(path: Path) -> str:
    """Return the name of the format, by suffix or by what the folder and its subfolders hold.

    A folder with any ``.ann`` is brat. A single ``.txt`` or ``.xml`` is one note. Where formats
    share a suffix, the first files with it are opened; a file that could be in several is for the
    user to name. An archive is unpacked and counts as the folder that it holds.

    Raises:
        InputError: Nothing known is there, several formats are, or an archive cannot be opened.
    """
    by_suffix: dict[str, int] = {}
    found: set[str] = set()
    known = list_file_formats()
    for file in _list_files(path, known):
        suffix = file.suffix.lower()
        by_suffix[suffix] = by_suffix.get(suffix, 0) + 1
        if by_suffix[suffix] <= _LOOKED_AT:
            found |= _candidates(suffix, file, known)
    if ".ann" in by_suffix:
        found.discard("txt")
    if ".ann" not in by_suffix:
        found -= {"brat"}
    if not found and suffix_of(path.name):
        _check_archive(path)
    if not by_suffix and path.is_dir():
        raise FormatError(path, "cannot be told: the folder holds no file; name one with notes")
    return _only(found, path)


def _check_archive(path: Path) -> None:
    for fault in files(path, Selection(())):
        if isinstance(fault, Fault) and fault.kind != "other-format":
            raise InputError(fault.message)


def _list_files(path: Path, known: Sequence[Format | Outside]) -> Iterator[Path]:
    """Yield every file, members of archives among them.

    What cannot be unpacked is a fault when it is read.
    """
    every = tuple({suffix for one in known for suffix in one.suffixes})
    named = [path]
    if path.is_dir():
        rule = Selection(()).rule
        named = []
        for folder, _, names in os.walk(path):
            inside = [Path(folder, name) for name in sorted(names)]
            named += [file for file in inside if not rule(file.relative_to(path).as_posix())]
    for file in named:
        if not suffix_of(file.name):
            yield file
        elif file.is_file() and (file == path or not file.is_symlink()):
            yield from (
                found.path for found in files(file, Selection(every)) if isinstance(found, Source)
            )


def _candidates(suffix: str, path: Path, every: Sequence[Format | Outside]) -> set[str]:
    """Names of the formats that the file may be in.

    Those that claim it, else those that claim none.
    """
    known = [known for known in every if suffix in known.suffixes]
    answers = {other.name: other.is_told(path) for other in known if other.is_told}
    if None in answers.values():
        return {other.name for other in known}
    claimed = {name for name, is_told in answers.items() if is_told}
    return claimed or {other.name for other in known if not other.is_told}


def _name_by_suffix(path: Path) -> str:
    """Name of the format to write, by suffix alone.

    What is there already is replaced, whatever it is.
    """
    suffix = path.suffix.lower()
    known = [known for known in list_file_formats() if suffix in known.suffixes]
    found = {other.name for other in known if not other.is_told} or {other.name for other in known}
    return _only(found - {"brat"} if suffix == ".txt" else found, path)


class FormatError(InputError):
    """The format is unknown or unclear.

    ``reason`` says so without the path, which may name a patient.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"the format of {path} {reason}")
        self.reason = f"the format {reason}"


def _describe_seen(found: set[str], path: Path) -> str:
    if found:
        return f"could be {' or '.join(sorted(found))};"
    if path.is_dir():
        return (
            "is unknown: no file in the folder ends as those of a known format do; save the notes"
            " as such files, or"
        )
    return (
        "is unknown: it does not end as files of a known format do; save it as one, such as .txt or"
        " .docx, or"
    )


def _only(found: set[str], path: Path) -> str:
    if len(found) != 1:
        raise FormatError(
            path,
            f"{_describe_seen(found, path)} name one with --format: {', '.join(sorted(FORMATS))}",
        )
    (name,) = found
    if name not in FORMATS:
        raise FormatError(path, f"is {name}: {load_installed().faults[name]}")
    return name


def read_notes(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    labels: LabelMap | None = None,
    options: ReadOptions = _DEFAULT_READ,
    ignored: OnIgnored = pass_over_silently,
) -> Iterator[Annotated | Fault]:
    """Yield each note as it is read, and each fault in its place.

    A note with a fault is withheld: it never comes with fewer spans than the source has. Memory
    grows with the longest note, a batch of rows and the ids, not with the number of notes.

    Args:
        path: A file, or a folder with files of one format in it and below.
        format: Name of the format; detected when not given.
        labels: From native labels to categories. When not given: the categories' own names; for
            i2b2, its labels.
        options: What the reader has to know about the source.
        ignored: OnIgnored the name and the rule of each file that ``options.ignore`` passes over.
            Every other file of a folder or archive gives notes or a fault.

    Raises:
        InputError: The path is not there, or the format is unknown or unclear.
    """
    chosen = _choose_format(path, format)
    parsed_notes = _read(path, chosen, options, Selection(chosen.suffixes, options.ignore, ignored))
    return check_parsed_notes(parsed_notes, labels=labels or chosen.labels, options=options)


def parse_notes(
    path: Path,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    options: ReadOptions = _DEFAULT_READ,
) -> Iterator[ParsedNote | Fault]:
    """Yield each note as the source has it.

    What ``read_notes`` gives before ``check_parsed_notes``.

    Raises:
        InputError: As for ``read_notes``.
    """
    chosen = _choose_format(path, format)
    return _read(
        path, chosen, options, Selection(chosen.suffixes, options.ignore, pass_over_silently)
    )


def check_parsed_notes(
    parsed_notes: Iterable[ParsedNote | Fault],
    *,
    labels: LabelMap,
    options: ReadOptions = _DEFAULT_READ,
) -> Iterator[Annotated | Fault]:
    """Yield the notes of parsed notes after checking ids, labels, offsets and text, and each fault
    in its place.
    """
    seen: set[str] = set()
    for parsed in parsed_notes:
        yield from _finish(parsed, seen, labels, options)


def _choose_format(path: Path, name: str | None) -> Format:
    if not path.exists():
        raise InputError(f"{path} does not exist; name a file or folder of notes")
    return format_named(name or detect_format(path))


def _read(
    path: Path, chosen: Format, options: ReadOptions, selection: Selection
) -> Iterator[ParsedNote | Fault]:
    any_file = any_note = is_lacking = False
    for source in files(path, selection, limits=options.archives):
        any_file = True
        if isinstance(source, Fault):
            yield source
            continue
        is_empty = True
        for parsed in _parse_notes(source, chosen, options):
            is_empty, any_note = False, True
            yield parsed
        if is_empty and chosen.may_lack_notes and _has_content(source):
            is_lacking = True
            selection.on_ignored(source.name, f"a file of {chosen.name} may lack notes")
        elif is_empty and not _is_annotation(source):
            yield source.fault("empty-file", "holds no note; remove the file or export it again")
    if is_lacking and not any_note:
        yield Fault.at(
            ".", "empty-file", f"holds no note that can be read as {chosen.name}; name another"
        )
    if not any_file:
        yield Fault.at(
            ".",
            "empty-file",
            f"no {' or '.join(chosen.suffixes)} file is in the folder; name another",
        )


def _is_annotation(source: Source) -> bool:
    # empty when nothing was found, and no note of its own
    return source.path.suffix.lower() == ".ann"


def _has_content(source: Source) -> bool:
    return source.path.stat().st_size > 0


def _parse_notes(
    source: Source, chosen: Format, options: ReadOptions
) -> Iterator[ParsedNote | Fault]:
    try:
        if _has_content(source) or _is_annotation(source):
            for entry in _entries(source, chosen, options):
                yield declare_entry(entry, chosen, source)
    except OSError:
        yield source.fault(
            "unreadable", "cannot be opened or read to its end; check its permissions"
        )
    except UnicodeDecodeError as error:  # its message quotes the file
        if not error.encoding.startswith("utf-16"):
            raise
        yield source.fault(
            "undecodable", "begins as UTF-16 and is none to its end; export it again as UTF-8"
        )
    except DeidError as error:
        check_error(error, chosen)
        raise


def _entries(source: Source, chosen: Format, options: ReadOptions) -> Iterator[ParsedNote | Fault]:
    """Yield what a reader gives; what one of somebody else's plugin says meanwhile is discarded.

    It is silent while the reader works and no longer: whoever takes the notes may speak.
    """
    if is_own(chosen.module):
        yield from chosen.reader(source, options)
        return
    with silence_output():
        entries = iter(chosen.reader(source, options))
    while True:
        with silence_output():
            entry = next(entries, None)
        if entry is None:
            return
        yield entry


def _finish(
    parsed: ParsedNote | Fault, seen: set[str], labels: LabelMap, options: ReadOptions
) -> Iterator[Annotated | Fault]:
    if isinstance(parsed, Fault):
        yield parsed
        return
    if parsed.note_id in seen:
        yield came_before(parsed)
        return
    seen.add(parsed.note_id)
    result = assemble(parsed, labels, options)
    yield from result if isinstance(result, list) else [result]


def came_before(parsed: ParsedNote) -> Fault:
    """Return the fault of a note whose id an earlier one has."""
    reason = f"note {parsed.note_id!r} came before; give every note its own id"
    return Fault.at(parsed.file, "duplicate-id", reason, line=parsed.line, note_id=parsed.note_id)


def write_notes(
    path: Path,
    notes: Iterable[Annotated],
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    options: WriteOptions = _DEFAULT_WRITE,
) -> int:
    """Write notes and return how many; the output appears whole or not at all.

    Args:
        path: A file, which is replaced, or for a folder format a folder that is new or empty.
        notes: Taken one at a time.
        format: Name of the format; by the suffix of ``path`` when not given.
        options: How files are written.

    Raises:
        InputError: The format is unclear or cannot hold a note, or two notes have the same id.
        DigestError: Spans belong to another text.
        OffsetError: A span ends after its note.
    """
    chosen = format_named(format or _name_by_suffix(path))
    if chosen.writer_module is None:
        names = ", ".join(
            sorted(known.name for known in FORMATS.values() if known.writer_module is not None)
        )
        raise InputError(f"{chosen.name} is read only; write one of {names}")
    if chosen.is_folder and path.suffix.lower() in chosen.suffixes:
        raise InputError(
            f"{chosen.name} writes one file per note; name a folder instead of {path.name}"
        )
    seen: set[str] = set()
    of_notes: list[DeidError] = []
    try:
        with nullcontext() if is_own(chosen.module) else silence_output():
            chosen.writer(path, _noting(_check_ids(notes, seen), of_notes), options)
    except DeidError as error:
        if not any(error is one for one in of_notes):
            check_error(error, chosen)
        raise
    return len(seen)


def _noting(notes: Iterable[Annotated], errors: list[DeidError]) -> Iterator[Annotated]:
    """Yield notes, and note what ended them: it is no error of the writer that takes them."""
    try:
        yield from notes
    except DeidError as error:
        errors.append(error)
        raise


def _check_ids(notes: Iterable[Annotated], seen: set[str]) -> Iterator[Annotated]:
    for annotated in notes:
        note, spans = annotated.note, annotated.spans
        if note.note_id in seen:
            raise InputError(f"note {note.note_id!r} comes twice; give every note its own id")
        seen.add(note.note_id)
        strings = [note.patient_id or "", note.lang or "", *note.meta, *note.meta.values()]
        if spans is not None:
            spans.check_against(note)
            strings += [string for span in spans for string in (span.source, span.native_label)]
        if not all(is_encodable(string) for string in strings):
            raise InputError(
                f"note {note.note_id!r}: a field besides the text holds a lone surrogate; fix it"
            )
        yield annotated
