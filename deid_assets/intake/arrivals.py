"""The signed receipt of what arrived, and the check that the landing folder still holds it.

::

    store/restricted/landing/b-0001/…          the files as they were dropped
    store/restricted/arrival/b-0001/           a table of their names, sizes and digests, with a
    receipt
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from deid_assets.core.errors import ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.store.files import Receipt, StoreFiles, UnsignedReceipt, inputs_of
from deid_assets.store.withdrawals import ARRIVAL

ARRIVAL_VERSION = "1"
_SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("sha256", pa.string(), nullable=False),
    ]
)

PART_FILE = "notes.drafts"
REPEATED = "repeated"
"""Path of the record of what was dropped again."""
_PART = re.compile(r"(b-[0-9a-f]{16})-[0-9]{4,}")


@dataclass(frozen=True, slots=True)
class ArrivedFile:
    """A file as it arrived.

    Args:
        name: Path relative to the batch's folder; may name a patient.
        bytes: Size.
        sha256: Digest of the content; of a link, of where it points to.
    """

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """An arrival: the files of one batch.

    Args:
        receipt: Signed.
        files: Sorted by name; a file's place is its position here, from 1.
        overrides: How it is read, as the options of ``deid batches retry`` say; see ``reading``.
    """

    receipt: Receipt
    files: tuple[ArrivedFile, ...]
    overrides: Mapping[str, object]

    @property
    def arrived_at(self) -> str:
        """When it was taken in, UTC, ISO 8601."""
        return str(self.receipt.counts["arrived_at"])

    @property
    def attempt(self) -> int:
        """Number of retries."""
        return int(self.receipt.counts["attempt"])


def batch_id(digests: Iterable[str], *, key: Key) -> str:
    """Return the opaque id of a batch from the SHA-256 digests of what it holds.

    The order does not matter.

    The id stands in releases. It is keyed, so that whoever holds one and guesses at the files
    cannot tell.
    """
    return "b-" + key.derive("batch", *sorted(digests)).hex()[:16]


def list_files(entries: Iterable[Path], *, root: Path) -> list[ArrivedFile]:
    """Return every file and link of some files and folders, sorted by name relative to ``root``."""
    found = [path for entry in entries for path in _list_files(entry)]
    return sorted((_describe_file(path, root) for path in found), key=lambda file: file.name)


def _list_files(entry: Path) -> Iterator[Path]:
    if entry.is_symlink() or not entry.is_dir():
        yield entry
        return
    yield from (path for path in entry.rglob("*") if path.is_symlink() or not path.is_dir())


def _describe_file(path: Path, root: Path) -> ArrivedFile:
    name = path.relative_to(root).as_posix().encode(errors="backslashreplace").decode()
    if path.is_symlink():
        return ArrivedFile(name, 0, hashlib.sha256(b"link " + bytes(path.readlink())).hexdigest())
    if not path.is_file():
        return ArrivedFile(name, 0, hashlib.sha256(b"no file").hexdigest())
    with path.open("rb") as file:
        return ArrivedFile(
            name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
        )


def sign_arrival(
    files: StoreFiles,
    batch: str,
    listed: Iterable[ArrivedFile],
    *,
    overrides: Mapping[str, object] | None = None,
) -> Receipt:
    """Store the list of what arrived as a batch, dated now."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return _write(files, batch, list(listed), arrived_at=now, attempt=0, overrides=overrides or {})


def sign_replacement(
    files: StoreFiles,
    batch: str,
    listed: Iterable[ArrivedFile],
    *,
    whole: Receipt | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Receipt:
    """Store the list of what a batch holds from now on, so that it is read again.

    Date and overrides stay those of its arrival but for ``overrides``, and inputs too unless
    ``whole`` replaces them.

    Args:
        files: The store.
        batch: Whose files were replaced.
        listed: What it holds from now on.
        whole: Receipt of the larger arrival that it is a part of, where that one was replaced.
        overrides: How it is read from now on, where that changes.

    Raises:
        ProvenanceError: There is no receipt of its arrival.
    """
    known = find_arrival(files, batch)
    if known is None:
        raise ProvenanceError(f"batch {batch}: no receipt of what arrived; it cannot be replaced")
    return _write(
        files,
        batch,
        list(listed),
        arrived_at=known.arrived_at,
        attempt=known.attempt + 1,
        overrides={**known.overrides, **(overrides or {})},
        inputs=known.receipt.inputs if whole is None else inputs_of([whole]),
    )


def record_repeat(files: StoreFiles, arrival: str) -> None:
    """Record that what is there already was dropped once more, and gave nothing new."""
    before = files.find(REPEATED, arrival)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    times = int(before.counts["times"]) + 1 if before else 1
    receipt = UnsignedReceipt(
        code_version="1", inputs={}, counts={"times": times, "repeated_at": now}
    )
    files.write(REPEATED, arrival, {}, receipt=receipt)


def repeat_line(files: StoreFiles, batch: str) -> str:
    """Return how often what a batch holds, or is a part of, was dropped again; empty where never.

    Raises:
        ProvenanceError: The record was altered.
    """
    found = files.find(REPEATED, whole_of(batch))
    if found is None:
        return ""
    times = int(found.counts["times"])
    often = "once" if times == 1 else f"{times:,} times"
    return f"dropped again {often}, last at {found.counts['repeated_at']}: nothing in it was new"


def sign_part(
    files: StoreFiles, batch: str, listed: Iterable[ArrivedFile], *, whole: str
) -> Receipt:
    """Store the list of what is a part of a larger arrival, which its receipt names as an input.

    Raises:
        ProvenanceError: There is no receipt of the larger arrival.
    """
    source = files.receipt(ARRIVAL, whole)
    arrived_at = str(source.counts["arrived_at"])
    return _write(
        files,
        batch,
        list(listed),
        arrived_at=arrived_at,
        attempt=0,
        overrides={},
        inputs=inputs_of([source]),
    )


def try_again(
    files: StoreFiles, batch: str, overrides: Mapping[str, object], *, landing: Path
) -> Receipt:
    """Sign what a batch holds now, to be read again, with overrides.

    Those of earlier calls stay unless replaced.

    Args:
        files: The store.
        batch: Whose files are tried again.
        overrides: As ``config.Reading`` has it.
        landing: Folder with the batch's files.
    """
    known = find_arrival(files, batch)
    listed = list(known.files) if known else list_files(sorted(landing.iterdir()), root=landing)
    return _write(
        files,
        batch,
        listed,
        arrived_at=known.arrived_at if known else datetime.now(UTC).isoformat(timespec="seconds"),
        attempt=known.attempt + 1 if known else 1,
        overrides={**(known.overrides if known else {}), **overrides},
        inputs=known.receipt.inputs if known else None,
    )


def find_arrival(files: StoreFiles, batch: str) -> Arrival | None:
    """Return what arrived as a batch, or ``None`` where there is no receipt of it.

    Raises:
        ProvenanceError: The receipt or its list was altered.
    """
    receipt = files.find(ARRIVAL, batch)
    if receipt is None:
        return None
    listed = files.read(ARRIVAL, batch, "files").to_pylist()
    stored = files.read(ARRIVAL, batch, "told").column("settings").to_pylist()
    return Arrival(receipt, tuple(ArrivedFile(**row) for row in listed), json.loads(stored[0]))


def check_arrival(files: StoreFiles, batch: str, *, landing: Path) -> Arrival:
    """Return what arrived as a batch after checking that its folder holds exactly that.

    Raises:
        ProvenanceError: There is no receipt, or a file was altered, taken away or added.
    """
    arrival = find_arrival(files, batch)
    if arrival is None:
        raise ProvenanceError(
            f"batch {batch}: no receipt of what arrived; look at its files with `deid batches show"
            f" {batch}`, and sign them with `deid batches retry {batch}`"
        )
    entries = sorted(landing.iterdir()) if landing.is_dir() else []
    signed = {file.name: file for file in arrival.files}
    there = {file.name: file for file in list_files(entries, root=landing)}
    altered = sum(signed[name] != there[name] for name in signed.keys() & there.keys())
    gone, added = len(signed.keys() - there.keys()), len(there.keys() - signed.keys())
    if altered or gone or added:
        raise ProvenanceError(
            f"batch {batch}: of {len(signed)} files that arrived, {altered} were altered and {gone}"
            f" are gone, and {added} were added since; put them back as they came, or `deid batches"
            f" withdraw {batch}` and drop them again"
        )
    return arrival


def _write(
    files: StoreFiles,
    batch: str,
    listed: list[ArrivedFile],
    *,
    arrived_at: str,
    attempt: int,
    overrides: Mapping[str, object],
    inputs: Mapping[str, str] | None = None,
) -> Receipt:
    columns = {name: [getattr(file, name) for file in listed] for name in _SCHEMA.names}
    settings = pa.table({"settings": [json.dumps(overrides, sort_keys=True)]})
    counts: dict[str, int | float | str] = {
        "files": len(listed),
        "bytes": sum(file.bytes for file in listed),
        "arrived_at": arrived_at,
        "attempt": attempt,
    }
    return files.write(
        ARRIVAL,
        batch,
        {"files": pa.table(columns, schema=_SCHEMA), "told": settings},
        receipt=UnsignedReceipt(code_version=ARRIVAL_VERSION, inputs=inputs or {}, counts=counts),
    )


def is_part(batch: str) -> bool:
    """Whether the batch is a part of a larger arrival."""
    return _PART.fullmatch(batch) is not None


def whole_of(batch: str) -> str:
    """Return the id of the arrival that a part was cut from; of any other batch its own."""
    found = _PART.fullmatch(batch)
    return found[1] if found else batch


def waiting(landing: Path) -> list[str]:
    """Return the ids of the arrivals that wait to be split, sorted.

    ``landing`` is the restricted folder of arrivals.
    """
    return sorted({path.name.partition(".")[0] for path in (landing / ".large").glob("b-*")})


def part_files(folder: Path) -> list[Path]:
    """Return the files of a part, which ``read_parsed_notes`` reads."""
    return [folder / PART_FILE]
