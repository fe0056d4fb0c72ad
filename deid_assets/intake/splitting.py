"""A large arrival becomes several batches of bounded size, with the notes of a patient together.

::

    restricted/landing/.large/b-…         waits for this, as it arrived
    restricted/landing/.large/b-….part    unfinished parts; made again after a crash
    restricted/landing/.large/b-….done    all parts, moved out one by one
    restricted/landing/.large/b-….read    what an arrival leads to that only says where notes are,
    as it was read restricted/landing/b-…-0001           a part, and a batch
    restricted/landing/.whole/b-…         the arrival, once its parts are batches

The source is read twice, one note at a time: once to add up each patient's notes in an index on
disk, once to write them out. Memory does not grow with its size.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.formats.annotated import Fault, ParsedNote
from deid_assets.formats.catalogue import points_elsewhere
from deid_assets.formats.parsed_notes import encode_parsed_note, read_parsed_notes
from deid_assets.formats.registry import FormatError, parse_notes
from deid_assets.intake.arrivals import (
    batch_id,
    check_arrival,
    list_files,
    record_repeat,
    sign_arrival,
    sign_part,
    waiting,
)
from deid_assets.intake.grouping import GroupLimits, write_groups
from deid_assets.intake.reader import landing_store
from deid_assets.intake.reading import how_to_read
from deid_assets.store.atomic import lock_folder
from deid_assets.store.files import StoreFiles
from deid_assets.system.atomic import part_of, sweep_parts

_PACKED = frozenset({".zip", ".gz", ".tgz", ".parquet", ".docx", ".pdf"})
_PACKED_RATIO = 10
"""Clinical text packs about 3 to 10 to 1."""
_READ_SHARE = 8
"""An arrival with fewer bytes than this share of a batch is not read beforehand.

Its notes cannot be many.
"""


def may_be_large(files: Sequence[Path], settings: Settings) -> bool:
    """Whether an arrival has to be read before it is known to fit into one batch."""
    sizes = (
        path.stat().st_size * (_PACKED_RATIO if path.suffix.lower() in _PACKED else 1)
        for path in files
    )
    return sum(sizes) * _READ_SHARE > settings.batches.max_characters


def waiting_folder(landing: Path, arrival: str) -> Path:
    """Return where an arrival waits to be split; the folder around it is made."""
    (landing / ".large").mkdir(mode=0o700, exist_ok=True)
    return landing / ".large" / arrival


def is_known(landing: Path, arrival: str) -> bool:
    """Whether an arrival waits to be split, or was."""
    return any((landing / folder / arrival).exists() for folder in (".large", ".whole"))


def split_arrivals(settings: Settings, *, only: str = "") -> list[str]:
    """Make batches of the arrivals that wait, or of one of them.

    A killed call is completed by the next.

    Returns:
        The ids of the batches.
    """
    landing = landing_store(settings)
    files = StoreFiles(settings.store, key=settings.receipt_key())
    made: list[str] = []
    sweep_parts(landing / ".large")
    for arrival in waiting(landing):
        if only not in ("", arrival):
            continue
        with lock_folder(landing / ".large"):  # another process may be at the same
            made += _split(landing, arrival, settings, files)
    return made


def _split(landing: Path, arrival: str, settings: Settings, files: StoreFiles) -> list[str]:
    whole, part, done, read = (
        landing / ".large" / f"{arrival}{suffix}" for suffix in ("", ".part", ".done", ".read")
    )
    if whole.exists() and not read.exists() and points_elsewhere(whole.rglob("*")):
        named = _read_once(landing, arrival, settings, files)
        return _split(landing, named, settings, files) if named else []
    if not done.exists():
        if not whole.exists():
            read.unlink(missing_ok=True)
            return []  # the other process did it
        check_arrival(files, arrival, landing=whole)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o700)
        if not _write_parts(whole, part, settings, read):
            shutil.rmtree(part)
            whole.rename(landing / arrival)
            return [arrival]
        part.rename(done)
    for folder in sorted(done.iterdir()):
        sign_part(
            files, folder.name, list_files(sorted(folder.iterdir()), root=folder), whole=arrival
        )
        folder.rename(landing / folder.name)
    (landing / ".whole").mkdir(mode=0o700, exist_ok=True)
    if whole.exists():
        whole.rename(landing / ".whole" / arrival)
    done.rmdir()
    read.unlink(missing_ok=True)
    return sorted(path.name for path in landing.glob(f"{arrival}-*"))


def _read_once(landing: Path, arrival: str, settings: Settings, files: StoreFiles) -> str:
    """Keep what an arrival leads to, and name the arrival by it, so that the same is taken in once
    and no more.

    Returns:
        Its id; empty where the same was read before.
    """
    whole, read = (landing / ".large" / f"{arrival}{suffix}" for suffix in ("", ".read"))
    check_arrival(files, arrival, landing=whole)
    content = hashlib.sha256()
    part = part_of(read)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for entry in _parse_all(whole, settings):
            file.write(encode_parsed_note(entry))
            content.update(encode_parsed_note(replace(entry, file="")))
    named = batch_id([content.hexdigest()], key=settings.key())
    files.erase(arrival, keep=("landing",))
    if is_known(landing, named):
        record_repeat(files, named)
        part.unlink()
        shutil.rmtree(whole)
        return ""
    sign_arrival(files, named, list_files(sorted(whole.iterdir()), root=whole))
    part.replace(read.with_name(f"{named}.read"))
    whole.rename(whole.with_name(named))
    return named


def _write_parts(whole: Path, folder: Path, settings: Settings, read: Path) -> bool:
    """Write the parts of an arrival.

    Nothing where it fits into one batch and holds its notes itself.
    """
    at_least = 1 if read.exists() else 2
    groups = write_groups(
        partial(_parse_all, whole, settings),
        folder,
        name=whole.name,
        limits=GroupLimits(settings.batches.max_characters),
        at_least=at_least,
    )
    return groups >= at_least


def _parse_all(whole: Path, settings: Settings) -> Iterator[ParsedNote | Fault]:
    read = whole.with_name(f"{whole.name}.read")
    if read.exists():
        yield from read_parsed_notes([read])
        return
    for path in sorted(path for path in whole.iterdir() if not path.name.startswith(".")):
        yield from _parse(path, settings)


def _parse(path: Path, settings: Settings) -> Iterator[ParsedNote | Fault]:
    try:
        how = how_to_read(settings, {}, path if path.is_dir() else None)
        yield from parse_notes(path, format=how.format, options=how.options)
    except FormatError as error:
        yield from _every(path, "unknown-format", error.reason)
    except ConfigError as error:
        yield from _every(path, "wrong-setting", str(error))


def _every(path: Path, kind: str, reason: str) -> Iterator[Fault]:
    """Yield a fault for each file, since none of them is read."""
    root = path if path.is_dir() else path.parent
    yield from (Fault.at(file.name, kind, reason) for file in list_files([path], root=root))
