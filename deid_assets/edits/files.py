"""Edit files: one edit map per line, without text.

Span files of any labels, read to be carried over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from deid_assets.core.errors import InputError, OffsetError
from deid_assets.core.phi import Phi
from deid_assets.edits.maps import EditMap, MadeBy, Replaced
from deid_assets.formats.by_note import ByNote
from deid_assets.system.atomic import atomic_file

_SUFFIXES = (".jsonl", ".ndjson")
_NUMBERS = ("start", "end", "new_start", "new_end")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SEALED = re.compile(r"[0-9a-f]{96}")


def to_record(edits: EditMap) -> dict[str, Any]:
    """Return what a line of an edit file holds."""
    return {
        "id": edits.note_id,
        "digest": edits.digest,
        "new_digest": edits.new_digest,
        "chars": edits.chars,
        "new_chars": edits.new_chars,
        "edits": [_record_of(edit) for edit in edits.edits],
        "made_by": {**asdict(edits.made_by), "keep": list(edits.made_by.keep)},
    }


def _record_of(edit: Replaced) -> dict[str, Any]:
    """Return a replacement; written out, since ``asdict`` takes most of the time of a release."""
    return {
        "start": edit.start,
        "end": edit.end,
        "new_start": edit.new_start,
        "new_end": edit.new_end,
        "label": edit.label.value,
        "source": edit.source,
        "mark": edit.mark,
    }


def from_record(record: Mapping[str, Any], *, where: str) -> EditMap:
    """Return the edit map of a line.

    Raises:
        InputError: A field is missing, of the wrong type, or does not fit the others.
    """
    try:
        made = record["made_by"]
        made_by = MadeBy(
            **{
                name: _word(made[name])
                for name in ("software", "policy", "policy_digest", "key_id")
            },
            keep=tuple(_word(name) for name in made["keep"]),
            detectors={_word(name): _word(version) for name, version in made["detectors"].items()},
        )
        edits = tuple(_parse_replaced(edit) for edit in record["edits"])
        sizes = (_whole(record["chars"]), _whole(record["new_chars"]))
        digests = (_digest(record["digest"], _SEALED), _digest(record["new_digest"], _DIGEST))
        return EditMap(_word(record["id"]), *digests, *sizes, edits, made_by)
    except OffsetError as error:
        raise InputError(f"{where}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(
            f"{where}: not a line of an edit file; write one with deid redact --edits"
        ) from None  # the cause may quote the line


@contextmanager
def writing_edits(path: Path) -> Iterator[BinaryIO]:
    """Open a file for edit maps, which replaces ``path`` when the block ends without an error."""
    check_suffix(path)
    with atomic_file(path) as file:
        yield file


def write_edit_map(file: BinaryIO, edits: EditMap) -> None:
    """Write one line."""
    file.write(f"{json.dumps(to_record(edits), ensure_ascii=False, allow_nan=False)}\n".encode())


def read_edits(path: Path) -> Iterator[EditMap]:
    """Yield the edit maps of a file.

    Raises:
        InputError: The file is not there or has another suffix, or a line is wrong or names a note
            again.
    """
    seen: set[str] = set()
    for where, record in read_lines(path):
        edits = from_record(record, where=where)
        if edits.note_id in seen:
            raise InputError(f"{where}: note {edits.note_id!r} comes twice; keep one")
        seen.add(edits.note_id)
        yield edits


class EditsFile(ByNote[EditMap]):
    """Edit maps looked up by note id, read no further than needed.

    Memory stays flat where notes come in the same order, as ``deid redact`` writes them. Taking a
    map raises what ``read_edits`` does.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(read_edits(path))


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of a JSON Lines file with its place; blank lines are passed over.

    Raises:
        InputError: The file is not there, has another suffix, or a line is no object in JSON.
    """
    check_suffix(path)
    if not path.is_file():
        raise InputError(f"{path} is not a file; name one in JSON Lines")
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.isspace():
                continue
            where = f"{path.name}:{number}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(f"{where}: not JSON; write one object per line") from None
            if not isinstance(record, dict):
                raise InputError(f"{where}: no object; write one object per line")
            yield where, record


def check_suffix(path: Path) -> None:
    """Refuse a name that is not one of JSON Lines.

    Raises:
        InputError: It is another.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{path.name}: must end in .jsonl; this file is JSON Lines")


def _parse_replaced(edit: Mapping[str, Any]) -> Replaced:
    places = {name: _whole(edit[name]) for name in _NUMBERS}
    return Replaced(
        **places, label=Phi(edit["label"]), source=_word(edit["source"]), mark=_word(edit["mark"])
    )


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _digest(value: object, form: re.Pattern[str]) -> str:
    if not form.fullmatch(_word(value)):
        raise ValueError
    return _word(value)


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value
