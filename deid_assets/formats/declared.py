"""What a format of somebody else's plugin may say of a file.

Kinds that are declared, and a sentence for each.

What a reader says while it reads may quote the file, so it is not shown: neither a reason, nor a
kind that nobody declared, nor a name of a file that is not there. Readers of this project say more;
tests hold them to show no text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from deid_assets.core.errors import PluginError, class_name
from deid_assets.formats.annotated import Fault, ParsedNote, Problem
from deid_assets.formats.catalogue import Format
from deid_assets.formats.source import Source
from deid_assets.own_plugins import is_own, message_of

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "attachment": "an attachment is not read; save it as a file of its own",
        "discontinuous": (
            "a span has several fragments; correct it, or read it with --read discontinuous=split"
        ),
        "duplicate-id": "an id comes twice; give every note its own",
        "empty-file": "holds no note; remove the file or export it again",
        "encrypted": "is encrypted; save it without a password",
        "malformed": "is not written as its format wants; export it again",
        "missing-field": "a field is missing; export it again with all fields",
        "no-text-layer": "has no text; recognise it (OCR)",
        "offset": "an offset of an annotation is no place in the note; export it again",
        "other-format": "is of another format; name that with --format",
        "text-mismatch": "an annotation covers other text than it carries; export it again",
        "timed-out": "took too long to read; convert it by hand",
        "too-large": "is larger than what is read; cut it into several",
        "undecodable": (
            "is not in the encoding that is read; name its encoding with --read encoding=NAME"
        ),
        "unknown-label": "a label is in no label map; name the map that has it with --labels",
        "unreadable": "cannot be read; check its permissions",
        "unsafe-path": "names a place outside the folder; copy the file into it",
        "unsafe-xml": "declares entities or a document type; export it without",
    }
)
"""Kinds of faults that every reader may give, with fault and remedy."""
_OTHER = "malformed"


def declare_entry(entry: ParsedNote | Fault, known: Format, source: Source) -> ParsedNote | Fault:
    """Return what a reader gave, with declared words alone where the reader is of somebody else's
    plugin.
    """
    if isinstance(entry, Fault):
        return declare_fault(entry, known, source)
    if is_own(known.module):
        return entry
    return replace(
        entry,
        file=_name(entry.file, source),
        annotation_file=_name(entry.annotation_file, source) if entry.annotation_file else "",
        problems=tuple(_problem(problem, known.faults) for problem in entry.problems),
    )


def declare_fault(fault: Fault, known: Format, source: Source) -> Fault:
    """Return a fault, of somebody else's plugin with the kind and the sentence that
    are declared.
    """
    if is_own(known.module):
        return fault
    kind, reason = _declare(fault.kind, known.faults)
    return Fault.at(
        _name(fault.file, source), kind, reason, line=_line(fault.line), note_id=fault.note_id
    )


def check_error(error: BaseException, known: Format) -> None:
    """Check that an error that a reader or writer let through may be shown.

    Raises:
        PluginError: It may not; the message names its class alone.
    """
    if not is_own(known.module) and not message_of(error):
        raise PluginError(
            f"format {known.name!r} raised {class_name(error)}; run its plugin by itself to see why"
        )


def _problem(problem: Problem, own: Mapping[str, str]) -> Problem:
    kind, reason = _declare(problem.kind, own)
    return Problem(kind, reason, _line(problem.line))


def _declare(kind: str, own: Mapping[str, str]) -> tuple[str, str]:
    every = {**KINDS, **own}
    told = kind if kind in every else _OTHER
    return told, every[told]


def _line(line: int | None) -> int | None:
    return line if type(line) is int else None


def _name(name: str, source: Source) -> str:
    """Return a file's name if it is the one that is read or lies beside it, else that of the one
    that is read.
    """
    beside = source.sibling("." + name.rpartition(".")[2])
    return (
        name if name == source.name or (beside is not None and name == beside.name) else source.name
    )
