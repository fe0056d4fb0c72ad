"""Retention: what nobody needs any more, and its removal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import InputError
from deid_assets.intake.reader import landing_store
from deid_assets.store.files import StoreFiles
from deid_assets.store.withdrawals import WITHDRAWN, Withdrawals

ARRIVALS, EARLIER, RUNS = "arrivals", "earlier", "runs"
ASIDE = "before-migration"
"""Folder of the home in which ``deid migrate`` puts what an earlier version made."""
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Due:
    """Something whose time is over.

    Args:
        kind: ``arrivals``, ``earlier`` or ``runs``, as the settings have them.
        what: Batch, folder or run; never the name of a file that arrived.
        since: From when its days count; UTC, ISO 8601.
        files: In it.
        bytes: Of these.
    """

    kind: str
    what: str
    since: str
    files: int = 0
    bytes: int = 0

    @property
    def line(self) -> str:
        """It in a line."""
        size = f", {self.files:,} files, {self.bytes / 1e6:,.1f} MB" if self.files else ""
        return f"{self.kind}: {self.what} since {self.since}{size}"


def list_due_folders(
    settings: Settings, files: StoreFiles, *, now: datetime | None = None
) -> list[Due]:
    """Return the folders whose time is over; nothing is removed.

    Args:
        settings: Of the installation.
        files: Its store.
        now: The present; the clock where not given.

    Raises:
        ProvenanceError: A record of a withdrawal was altered.
    """
    now = now or datetime.now(UTC)
    return [*_arrivals(settings, files, now), *_earlier(settings, now)]


def _arrivals(settings: Settings, files: StoreFiles, now: datetime) -> Iterator[Due]:
    days = settings.retention.arrivals
    if days is None:
        return
    withdrawals = Withdrawals(files)
    for batch in withdrawals.batches():
        record = files.find(WITHDRAWN, batch)
        folder = landing_store(settings) / batch
        if record is None or not withdrawals.is_withdrawn(batch) or not folder.is_dir():
            continue
        since = datetime.fromisoformat(record.created_at)
        listed = _files(folder)
        if listed and _is_over(since, days, now):
            yield _due(ARRIVALS, batch, since, listed)


def _earlier(settings: Settings, now: datetime) -> Iterator[Due]:
    days, folder = settings.retention.earlier, settings.home / ASIDE
    if days is None or folder.is_symlink() or not folder.is_dir():
        return
    since = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    if _is_over(since, days, now):
        yield _due(EARLIER, ASIDE, since, _files(folder))


def remove(due: Sequence[Due], settings: Settings) -> None:
    """Remove folders whose time is over; of a batch the files, so that it stays known.

    Raises:
        InputError: One is none that may be removed.
    """
    for one in due:
        if one.kind == ARRIVALS:
            folder = landing_store(settings) / one.what
            if folder.parent != landing_store(settings) or folder.is_symlink():
                raise InputError(f"{one.what}: no batch; look at the restricted landing folder")
            for path in [*folder.iterdir()]:
                _remove(path)
        elif one.kind == EARLIER:
            _remove(settings.home / ASIDE)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]


def _due(kind: str, what: str, since: datetime, listed: Sequence[Path]) -> Due:
    size = sum(path.lstat().st_size for path in listed)
    return Due(kind, what, since.isoformat(timespec="seconds"), len(listed), size)


def _is_over(since: datetime, days: int, now: datetime) -> bool:
    return (now - since).total_seconds() > days * _DAY_S
