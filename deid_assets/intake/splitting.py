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
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError, ProvenanceError
from deid_assets.formats.annotated import Fault, ParsedNote
from deid_assets.formats.catalogue import points_elsewhere
from deid_assets.formats.parsed_notes import parsed_note_line, read_parsed_notes
from deid_assets.formats.registry import FormatError, came_before, parse_notes
from deid_assets.intake.arrivals import PART_FILE as _FILE
from deid_assets.intake.arrivals import (
    batch_id,
    check_arrival,
    list_files,
    sign_arrival,
    sign_part,
    waiting,
)
from deid_assets.intake.reading import how_to_read
from deid_assets.store.atomic import locked
from deid_assets.store.files import StoreFiles
from deid_assets.system.atomic import part_of, sweep_parts

NOTE_CHARACTERS = 1_000
"""Characters that a note counts beside its text: short notes take memory too."""
_PACKED = frozenset({".zip", ".gz", ".tgz", ".parquet", ".docx", ".pdf"})
_PACKED_RATIO = 10
"""Clinical text packs about 3 to 10 to 1."""
_READ_SHARE = 8
"""An arrival with fewer bytes than this share of a batch is not read beforehand.

Its notes cannot be many.
"""
_BUFFER_BYTES = 16 << 20
_INDEX = "index.sqlite"


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
    landing = settings.store / "restricted" / "landing"
    files = StoreFiles(settings.store, key=settings.receipt_key())
    made: list[str] = []
    sweep_parts(landing / ".large")
    for arrival in waiting(landing):
        if only not in ("", arrival):
            continue
        with locked(landing / ".large"):  # another process may be at the same
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
        for _, entry in _entries(whole, settings):
            file.write(parsed_note_line(entry))
            content.update(parsed_note_line(replace(entry, file="")))
    named = batch_id([content.hexdigest()], key=settings.key())
    files.erase(arrival, keep=("landing",))
    if is_known(landing, named):
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
    index = folder / _INDEX
    with closing(sqlite3.connect(index, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")  # of a crash nothing is kept
        _add_up(whole, settings, database)
        first_owners = _first_owners(database, settings.batches.max_characters)
        if len(first_owners) < 2 and not read.exists():
            return False
        _write(whole, folder, settings, database, first_owners)
    index.unlink()
    for path in folder.glob(f"*/{_FILE}"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
    return True


def _entries(whole: Path, settings: Settings) -> Iterator[tuple[bytes, ParsedNote | Fault]]:
    """Yield what an arrival holds, each with its owner.

    The patient, or the note itself where none is given.
    """
    for number, entry in enumerate(_parsed_all(whole, settings), start=1):
        patient = entry.patient_id if isinstance(entry, ParsedNote) else None
        yield _digest(f"patient {patient}" if patient else f"entry {number}"), entry


def _parsed_all(whole: Path, settings: Settings) -> Iterator[ParsedNote | Fault]:
    read = whole.with_name(f"{whole.name}.read")
    if read.exists():
        yield from read_parsed_notes([read])
        return
    for path in sorted(path for path in whole.iterdir() if not path.name.startswith(".")):
        yield from _parsed(path, settings)


def _parsed(path: Path, settings: Settings) -> Iterator[ParsedNote | Fault]:
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


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:16]


def _add_up(whole: Path, settings: Settings, database: sqlite3.Connection) -> None:
    """Fill the index: what each owner has, in the order in which they come."""
    database.execute(
        "CREATE TABLE owners (number INTEGER PRIMARY KEY, owner BLOB UNIQUE, size INTEGER)"
    )
    database.execute("CREATE TABLE notes (id BLOB PRIMARY KEY) WITHOUT ROWID")
    database.execute("BEGIN")
    for owner, entry in _entries(whole, settings):
        size = NOTE_CHARACTERS + (len(entry.text) if isinstance(entry, ParsedNote) else 0)
        database.execute(
            "INSERT INTO owners (owner, size) VALUES (?, ?) "
            "ON CONFLICT (owner) DO UPDATE SET size = size + excluded.size",
            (owner, size),
        )
    database.execute("COMMIT")


def _first_owners(database: sqlite3.Connection, limit: int) -> list[int]:
    """Return with which owner each part begins.

    All are of about one size, none larger than the limit.

    A patient with more notes than that has a part of their own.
    """
    (total,) = database.execute("SELECT coalesce(sum(size), 0) FROM owners").fetchone()
    wanted = -(-total // max(1, -(-total // limit)))
    first_owners, filled = [1], 0
    for number, size in database.execute("SELECT number, size FROM owners ORDER BY number"):
        if filled and (filled >= wanted or filled + size > limit):
            first_owners.append(number)
            filled = 0
        filled += size
    return first_owners


def _write(
    whole: Path,
    folder: Path,
    settings: Settings,
    database: sqlite3.Connection,
    first_owners: Sequence[int],
) -> None:
    """Write each entry to its part.

    A note whose id came before is a fault, as it is in one batch.
    """
    buffers: dict[int, list[bytes]] = {}
    held, arrival = 0, whole.name
    database.execute("BEGIN")
    for owner, entry in _entries(whole, settings):
        found = database.execute("SELECT number FROM owners WHERE owner = ?", (owner,)).fetchone()
        if found is None:
            raise ProvenanceError(f"arrival {arrival} changed while it was split; drop it again")
        line = parsed_note_line(_once(entry, database))
        buffers.setdefault(bisect_right(first_owners, found[0]), []).append(line)
        held += len(line)
        if held > _BUFFER_BYTES:
            _flush(buffers, folder, arrival)
            held = 0
    _flush(buffers, folder, arrival)
    database.execute("COMMIT")


def _once(entry: ParsedNote | Fault, database: sqlite3.Connection) -> ParsedNote | Fault:
    if isinstance(entry, Fault):
        return entry
    kept = database.execute("INSERT OR IGNORE INTO notes VALUES (?)", (_digest(entry.note_id),))
    return entry if kept.rowcount else came_before(entry)


def _flush(buffers: dict[int, list[bytes]], folder: Path, arrival: str) -> None:
    for part, lines in sorted(buffers.items()):
        target = folder / f"{arrival}-{part:04d}"
        target.mkdir(mode=0o700, exist_ok=True)
        with (target / _FILE).open("ab") as file:
            file.writelines(lines)
    buffers.clear()
