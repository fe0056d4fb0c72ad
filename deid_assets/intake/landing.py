"""New files in the landing folder become batches under opaque ids."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.formats.catalogue import points_elsewhere
from deid_assets.intake import splitting
from deid_assets.intake.arrivals import batch_id, list_files, record_repeat, sign_arrival
from deid_assets.intake.reader import landing_folder, landing_store
from deid_assets.store.atomic import lock_folder, make_folder
from deid_assets.store.files import StoreFiles
from deid_assets.store.generation import check_store
from deid_assets.store.zones import Zone

SETTLE_S = 5.0
"""A file that changed less than this long ago may still be being written."""


def arrivals(settings: Settings, *, settle_s: float = SETTLE_S) -> list[Path]:
    """Return what lies in the landing folder and has settled.

    Files, and folders of files, sorted by name.

    A folder is one arrival, so that a batch that belongs together stays together. Names that begin
    with a dot or end with ``.part`` are left alone.
    """
    if not settings.landing.is_dir():
        return []
    newest = time.time() - settle_s
    return sorted(entry for entry in settings.landing.iterdir() if _has_settled(entry, newest))


def _has_settled(entry: Path, newest: float) -> bool:
    """Whether an entry of the landing folder is an arrival, with no file changed after a time."""
    if entry.name.startswith(".") or entry.name.endswith(".part") or entry.is_symlink():
        return False
    try:
        if any(path.stat().st_mtime > newest for path in _files(entry)):
            return False
    except FileNotFoundError:  # another process takes it in
        return False
    return any(_files(entry))


@contextmanager
def holding_landing(settings: Settings) -> Iterator[None]:
    """Hold the landing folder against other processes that take in, or write there whole, what
    arrives; without the folder there is nothing to hold.
    """
    if not settings.landing.is_dir():
        yield
        return
    with lock_folder(settings.landing):
        yield


def take_in(settings: Settings, *, settle_s: float = SETTLE_S) -> list[str]:
    """Move each settled arrival into the restricted store as a batch, and return the new batch ids.

    One that may be too large for a batch, or that only says where notes are, waits for
    ``split_arrivals``, which reads it. The same content gives the same id, so a file that is
    dropped twice makes one batch. A receipt of what arrived is signed before it is moved. An
    arrival that an earlier call had staged when it died is taken in first. Processes that do it at
    once do it one after the other.
    """
    check_store(settings.store)
    store = StoreFiles(settings.store, key=settings.receipt_key())
    with holding_landing(settings):
        taken = _finish_staged(settings)
        for arrival in arrivals(settings, settle_s=settle_s):
            taken += _take(settings, store, arrival)[1]
    return taken


def take_entry(settings: Settings, entry: Path) -> str:
    """Take one entry of the landing folder in as ``take_in`` does, and return the arrival's id.

    Whoever calls it wrote the entry and is done with it.
    """
    check_store(settings.store)
    store = StoreFiles(settings.store, key=settings.receipt_key())
    with holding_landing(settings):
        return _take(settings, store, entry)[0]


def _take(settings: Settings, store: StoreFiles, arrival: Path) -> tuple[str, list[str]]:
    """Take one entry of the landing folder in; return the arrival's id and the new batches."""
    listed = list_files([arrival], root=settings.landing)
    digests = [file.sha256 for file in listed]
    if points_elsewhere(_files(arrival)):
        digests.append(f"dropped {time.time_ns()}")  # until it is named by what it leads to
    batch = batch_id(digests, key=settings.key())
    target = landing_folder(settings, batch)
    if target.exists() or splitting.is_known(target.parent, batch):
        # Seen before. Kept beside the first copy would double it; the content is the same, byte for
        # byte.
        record_repeat(store, batch)
        shutil.rmtree(arrival) if arrival.is_dir() else arrival.unlink()
        return batch, []
    make_folder(settings.store, target.parent, Zone.RESTRICTED)
    sign_arrival(store, batch, listed)
    staging = target.with_name(f".{batch}")
    staging.mkdir(mode=0o700, exist_ok=True)
    arrival.rename(staging / arrival.name)
    return batch, _admit(settings, staging, batch)


def _admit(settings: Settings, staging: Path, batch: str) -> list[str]:
    """Move a staged arrival to the batches, which are returned, or to those that are to
    be split.
    """
    target = landing_folder(settings, batch)
    _close(staging)
    held = list(_files(staging))
    is_large = splitting.may_be_large(held, settings) or points_elsewhere(held)
    if is_large:
        target = splitting.waiting_folder(target.parent, batch)
    staging.rename(target)
    return [] if is_large else [batch]


def _close(folder: Path) -> None:
    """Restrict what arrived to its owner; it came with the modes that its sender gave it."""
    for path in folder.rglob("*"):
        # Another user's file cannot be changed; the folder around it is closed.
        if not path.is_symlink():
            with suppress(PermissionError):
                path.chmod(0o700 if path.is_dir() else 0o600)


def list_left_alone(settings: Settings, *, settle_s: float = SETTLE_S) -> list[tuple[Path, str]]:
    """Return what lies in the landing folder and is not taken in, each with the rule."""
    if not settings.landing.is_dir():
        return []
    taken = set(arrivals(settings, settle_s=settle_s))
    return [
        (entry, _rule(entry)) for entry in sorted(settings.landing.iterdir()) if entry not in taken
    ]


def _rule(entry: Path) -> str:
    if entry.is_symlink():
        return "is a link; copy the file itself"
    if entry.name.startswith("."):
        return "its name begins with a dot"
    if entry.name.endswith(".part"):
        return "its name ends in .part"
    return "is still being written" if any(_files(entry)) else "holds no file"


def _finish_staged(settings: Settings) -> list[str]:
    """Complete the batches whose files were moved but whose folder has not got its name yet.

    Whether they are what was signed is checked where they are read.
    """
    finished = []
    for staging in sorted(landing_store(settings).glob(".b-*")):
        batch = staging.name.removeprefix(".")
        if any(staging.iterdir()) and not landing_folder(settings, batch).exists():
            finished += _admit(settings, staging, batch)
    return finished


def _files(entry: Path) -> Iterator[Path]:
    return (
        path
        for path in ([entry] if entry.is_file() else sorted(entry.rglob("*")))
        if path.is_file()
    )
