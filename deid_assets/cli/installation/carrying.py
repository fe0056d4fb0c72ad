"""State of an earlier version that a migration must not lose.

Withdrawn batches, and the list of releases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import DeidError
from deid_assets.intake.arrivals import batch_id, is_part, list_files, sign_arrival
from deid_assets.intake.reader import landing_folder, sources_of
from deid_assets.intake.withdrawal import releases_of
from deid_assets.store.atomic import make_folder
from deid_assets.store.files import RECEIPT, StoreFiles
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.releases import RELEASES, ReleaseList
from deid_assets.store.signing import ReleaseSigner
from deid_assets.store.withdrawals import ARRIVAL, WITHDRAWN, Withdrawals
from deid_assets.store.zones import Zone


def list_withdrawn_batches(store: Path) -> list[str]:
    """Return the batches that were withdrawn in a store of an earlier version, sorted.

    Its signatures may be none that this version can check. What is in doubt counts as withdrawn: it
    is not released.
    """
    records = store.glob(f"*/{WITHDRAWN}/*/{RECEIPT}")
    return sorted(path.parent.name for path in records if not _was_brought_back(store, path))


def _was_brought_back(store: Path, record: Path) -> bool:
    """Whether a batch was tried again after it was withdrawn, so that the record names an earlier
    arrival.
    """
    batch = record.parent.name
    arrival = store / Zone.RESTRICTED / ARRIVAL / batch / RECEIPT
    try:
        named = json.loads(record.read_bytes())["inputs"].get(f"{ARRIVAL}@{batch}")
        return named is not None and named != json.loads(arrival.read_bytes())["digest"]
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return False


def carry(settings: Settings, aside: Path, withdrawn: list[str], *, keyless: bool) -> Iterator[str]:
    """Record again in the new store what was withdrawn, and go on with the list of releases.

    It may be done again after it was killed.

    Args:
        settings: Of the installation.
        aside: Folder with what an earlier version made.
        withdrawn: Batches.
        keyless: Whether the batches had ids without a key, so that no release goes on under its id.

    Yields:
        What somebody has to know, a line each.
    """
    for batch in withdrawn:
        if is_part(batch):
            yield (
                f"{batch} is withdrawn, a part of a larger arrival, which stays in"
                f" {aside / 'store'}: take its notes out, and drop the rest again"
            )
        else:
            _carry_batch(settings, aside, batch)
    for carried in _list_carried(settings):
        yield f"{carried} stays withdrawn; `deid batches retry {carried}` brings it back"
    if not (aside / "released").is_dir():
        return
    releases = _list_of(settings, aside)
    if releases is None:
        yield "the list of releases cannot be read with the present key; a new one begins at 1"
    else:
        _folders(settings).go_on_from(releases, are_all_withdrawn=keyless)


def _list_carried(settings: Settings) -> list[str]:
    """Return the withdrawn batches of the new store, those that an earlier call carried too."""
    if not settings.store.is_dir():
        return []
    return Withdrawals(StoreFiles(settings.store, key=settings.receipt_key())).batches()


def _carry_batch(settings: Settings, aside: Path, batch: str) -> None:
    """Move a withdrawn batch to the new store, its files last: once they lie there, all does.

    Nothing is done where its files are gone.
    """
    old = aside / "store" / Zone.RESTRICTED / "landing" / batch
    listed = list_files(sources_of(old), root=old)
    if not listed:
        return
    files = StoreFiles(settings.store, key=settings.receipt_key())
    carried = batch_id((file.sha256 for file in listed), key=settings.key())
    target = landing_folder(settings, carried)
    make_folder(settings.store, target.parent, Zone.RESTRICTED)
    sign_arrival(files, carried, listed)
    counts: dict[str, int | float | str] = {
        "notes": 0,
        "withheld": 0,
        "sender": "",
        "languages": "",
    }
    with suppress(OSError, ValueError, KeyError, TypeError):
        (record,) = (aside / "store").glob(f"*/{WITHDRAWN}/{batch}/{RECEIPT}")
        known = json.loads(record.read_bytes())["counts"]
        counts |= {name: known[name] for name in counts}
    Withdrawals(files).record(carried, counts)
    if not target.exists():  # it does where another batch held the same files
        old.rename(target)


def _list_of(settings: Settings, aside: Path) -> ReleaseList | None:
    """Return the list of releases that was set aside, the longer copy.

    ``None`` where there is none that holds.
    """
    key = ReleaseSigner(settings.key()).public
    copies = (aside / "store" / Zone.PUBLISHED / RELEASES, aside / "released" / RELEASES)
    found = []
    for path in copies:
        with suppress(DeidError):
            found.append(ReleaseList.read(path, key=key))
    return max(found, key=lambda releases: len(releases.entries), default=None)


def _folders(settings: Settings) -> ReleaseFolders:
    return releases_of(settings, StoreFiles(settings.store, key=settings.receipt_key()))
