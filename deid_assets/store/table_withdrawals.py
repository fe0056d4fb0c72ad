"""Released tables that were taken back: by somebody, or with a batch that they rest on."""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.core.assets import ReleaseAssets
from deid_assets.core.errors import ProvenanceError
from deid_assets.store.files import StoreFiles, UnsignedReceipt
from deid_assets.store.withdrawals import Withdrawals

_IS_OUT, _BY_HAND = "is_out", "by_hand"
WITHDRAWN_TABLES = "withdrawn_tables"


class TableWithdrawals(Withdrawals):
    """The tables that a release has not, one signed record each.

    One that somebody took back stays so until they bring it back. One that went with a batch is
    made again without it.

    Args:
        files: The store.
        names: Of the release.
    """

    def __init__(self, files: StoreFiles, names: ReleaseAssets) -> None:
        super().__init__(files)
        self._asset, self._study = names.of(WITHDRAWN_TABLES), names.study

    def is_withdrawn(self, batch: str) -> bool:
        """Whether somebody took the table back, so that it must not be released.

        Raises:
            ProvenanceError: The record was altered.
        """
        return self._has(batch, _BY_HAND)

    def is_recorded(self, batch: str) -> bool:
        """Whether there is a record, also of a table that was brought back since.

        Raises:
            ProvenanceError: The record was altered.
        """
        return self._files.find(self._asset, batch) is not None

    def batches(self) -> list[str]:
        """Return the tables that are out now, sorted; one with an altered record is left out."""
        return [one for one in self._files.batches(self._asset) if self._is_surely_out(one)]

    def record(self, batch: str, counts: Mapping[str, int | float | str]) -> None:
        """Record that somebody takes the table back."""
        self._write(batch, {**counts, _IS_OUT: 1, _BY_HAND: 1})

    def record_of_batch(self, table: str) -> None:
        """Record that a table is taken back with a batch; one taken back by hand stays so."""
        if not self.is_withdrawn(table):
            self._write(table, {_IS_OUT: 1, _BY_HAND: 0})

    def make_again(self, table: str) -> None:
        """Let a table that went with a batch be released; one taken back by hand stays so."""
        if self.is_recorded(table) and not self.is_withdrawn(table):
            self._write(table, {_IS_OUT: 0, _BY_HAND: 0})

    def take_in(self, table: str) -> None:
        """Bring a table back."""
        if self.is_recorded(table):
            self._write(table, {_IS_OUT: 0, _BY_HAND: 0})

    def bring_back(self, batch: str) -> str:
        """Return the command that brings a table back."""
        whose = f" --study {self._study}" if self._study else ""
        return f"deid tables retry {batch}{whose}"

    def _has(self, table: str, count: str) -> bool:
        record = self._files.find(self._asset, table)
        return record is not None and bool(record.counts[count])

    def _is_surely_out(self, table: str) -> bool:
        try:
            return self._has(table, _IS_OUT)
        except ProvenanceError:
            return False

    def _write(self, table: str, counts: Mapping[str, int | float | str]) -> None:
        self._files.write(
            self._asset, table, {}, receipt=UnsignedReceipt(code_version="1", counts=counts)
        )
