"""Why a batch was stopped, kept with a signature, so that the same failure is shown and not tried
every night.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deid_assets.core.assets import Family
from deid_assets.core.errors import ProvenanceError
from deid_assets.store.files import Receipt, StoreFiles, UnsignedReceipt

_ERROR = "error"
_WAITS = "waits"


@dataclass(frozen=True, slots=True)
class Stop:
    """The last failure of an asset of a batch.

    Args:
        asset: Was not stored.
        receipt: Signed: code version and inputs with which it failed, and counts.
        reasons: One line each, without text of notes or names of files.
    """

    asset: str
    receipt: Receipt
    reasons: tuple[str, ...]

    @property
    def is_error(self) -> bool:
        """Whether something raised, so that it is worth another try; a failed check fails again."""
        return bool(self.receipt.counts[_ERROR])

    @property
    def waits(self) -> bool:
        """Whether nothing is wrong: somebody has yet to do what the reasons say."""
        return bool(self.receipt.counts.get(_WAITS, 0))

    @property
    def failed_checks(self) -> list[str]:
        """Names of the blocking checks that failed."""
        return self.receipt.failed_checks


def record_stop(
    files: StoreFiles,
    asset: str,
    batch: str,
    reasons: Sequence[str],
    *,
    unsigned: UnsignedReceipt,
    is_error: bool,
    waits: bool = False,
) -> None:
    """Keep why an asset was not stored.

    Args:
        files: The store.
        asset: Name of the asset.
        batch: Partition.
        reasons: One line each, without text.
        unsigned: Code version, inputs, verdicts and counts.
        is_error: Whether something raised.
        waits: Whether nothing is wrong, but somebody has yet to do something.
    """
    counts: Mapping[str, int | float | str] = {
        **unsigned.counts,
        _ERROR: int(is_error),
        _WAITS: int(waits),
    }
    files.write(
        Family.STOPS.of(asset),
        batch,
        {"reasons": pa.table({"reason": pa.array(reasons, pa.string())})},
        receipt=UnsignedReceipt(unsigned.code_version, unsigned.inputs, unsigned.verdicts, counts),
    )


def find_stop(files: StoreFiles, asset: str, batch: str) -> Stop | None:
    """Return why an asset was not stored.

    ``None`` where it was stored since, or what it was made from changed.

    Raises:
        ProvenanceError: The record was altered.
    """
    receipt = files.find(Family.STOPS.of(asset), batch)
    if receipt is None:
        return None
    stored = _find(files, asset, batch)
    if stored is not None and stored.created_at > receipt.created_at:
        return None
    if any(_digest(files, name) != digest for name, digest in receipt.inputs.items()):
        return None
    reasons = files.read(Family.STOPS.of(asset), batch, "reasons").column("reason").to_pylist()
    return Stop(asset, receipt, tuple(reasons))


def clear_stop(files: StoreFiles, asset: str, batch: str) -> None:
    """Forget why an asset was not stored: what is stored is what would be made now."""
    files.discard(Family.STOPS.of(asset), batch)


def list_stopped_assets(files: StoreFiles, batch: str) -> list[str]:
    """Return the assets of a batch of which a stop was ever recorded."""
    receipts = (files.root / "internal").glob(f"{Family.STOPS.of('*')}/{batch}/receipt.json")
    return sorted(Family.STOPS.name_in(path.parent.parent.name) for path in receipts)


def _digest(files: StoreFiles, name: str) -> str:
    asset, _, batch = name.rpartition("@")
    found = _find(files, asset, batch)
    return found.digest if found else ""


def _find(files: StoreFiles, asset: str, batch: str) -> Receipt | None:
    try:
        return files.find(asset, batch)
    except ProvenanceError:  # an altered receipt is one that has to be made again
        return None
