"""Withdrawn batches: one signed record each, which publishing asks for and every sweep enforces."""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.core.assets import WITHDRAWN, ReleaseAssets
from deid_assets.core.errors import ProvenanceError
from deid_assets.store.files import StoreFiles, UnsignedReceipt

__all__ = ["ARRIVAL", "WITHDRAWN", "StudyWithdrawals", "Withdrawals"]

ARRIVAL = "arrival"
"""Path of the signed list of what arrived as a batch."""

_IS_OUT = "is_out"
"""Count in the record of a study: whether the batch is withdrawn from it now."""


class Withdrawals:
    """The withdrawn batches of an installation.

    The record of one names the arrival, so that another try of that brings it back.

    Args:
        files: The store.
    """

    def __init__(self, files: StoreFiles) -> None:
        self._files = files

    def is_withdrawn(self, batch: str) -> bool:
        """Whether a batch was withdrawn and not brought back since.

        Raises:
            ProvenanceError: The record was altered.
        """
        record = self._files.find(WITHDRAWN, batch)
        return record is not None and record.inputs == self._arrival(batch)

    def is_recorded(self, batch: str) -> bool:
        """Whether there is a record, also of a batch that was brought back since.

        Raises:
            ProvenanceError: The record was altered.
        """
        return self._files.find(WITHDRAWN, batch) is not None

    def batches(self) -> list[str]:
        """Return the withdrawn batches, sorted; one with an altered record is left out."""
        return [
            batch for batch in self._files.batches(WITHDRAWN) if self._is_surely_withdrawn(batch)
        ]

    def record(self, batch: str, counts: Mapping[str, int | float | str]) -> None:
        """Record that a batch is withdrawn, with what is known of it."""
        receipt = UnsignedReceipt(code_version="1", inputs=self._arrival(batch), counts=counts)
        self._files.write(WITHDRAWN, batch, {}, receipt=receipt)

    def renew(self, batch: str) -> None:
        """Record again that a batch is withdrawn, whose arrival was signed anew meanwhile."""
        before = self._files.find(WITHDRAWN, batch)
        self.record(batch, before.counts if before else {})

    def bring_back(self, batch: str) -> str:
        """Return the command that brings a batch back."""
        return f"deid batches retry {batch}"

    def _is_surely_withdrawn(self, batch: str) -> bool:
        try:
            return self.is_withdrawn(batch)
        except ProvenanceError:
            return False

    def _arrival(self, batch: str) -> dict[str, str]:
        arrival = self._files.find(ARRIVAL, batch)
        return {arrival.name: arrival.digest} if arrival else {}


class StudyWithdrawals(Withdrawals):
    """The batches that a study must not release: those that are withdrawn from all, and its own.

    Its own stay withdrawn until somebody brings them back, also where the batch is tried again.

    Args:
        files: The store.
        study: Name of the study.
    """

    def __init__(self, files: StoreFiles, study: str) -> None:
        super().__init__(files)
        self._study, self._record_name = study, ReleaseAssets(study).withdrawn

    def is_withdrawn(self, batch: str) -> bool:
        """Whether a batch was withdrawn, from all or from the study.

        Raises:
            ProvenanceError: A record was altered.
        """
        return super().is_withdrawn(batch) or self.is_own(batch)

    def is_own(self, batch: str) -> bool:
        """Whether a batch was withdrawn from the study.

        Raises:
            ProvenanceError: The record was altered.
        """
        record = self._files.find(self._record_name, batch)
        return record is not None and bool(record.counts[_IS_OUT])

    def is_recorded(self, batch: str) -> bool:
        """Whether there is a record, also of a batch that was brought back since.

        Raises:
            ProvenanceError: A record was altered.
        """
        own = self._files.find(self._record_name, batch)
        return own is not None or super().is_recorded(batch)

    def batches(self) -> list[str]:
        """Return the withdrawn batches, sorted; one with an altered record is left out."""
        return sorted({*super().batches(), *self.list_own_batches()})

    def list_own_batches(self) -> list[str]:
        """Return the batches that were withdrawn from the study, sorted."""
        return [one for one in self._files.batches(self._record_name) if self._is_surely(one)]

    def record(self, batch: str, counts: Mapping[str, int | float | str]) -> None:
        """Record that a batch is withdrawn from the study."""
        self._write(batch, {**counts, _IS_OUT: 1})

    def take_in(self, batch: str) -> None:
        """Bring a batch back into the study."""
        self._write(batch, {_IS_OUT: 0})

    def _write(self, batch: str, counts: Mapping[str, int | float | str]) -> None:
        receipt = UnsignedReceipt(code_version="1", counts=counts)
        self._files.write(self._record_name, batch, {}, receipt=receipt)

    def bring_back(self, batch: str) -> str:
        """Return the command that brings a batch back."""
        if self._is_surely(batch):
            return f"deid studies retry {self._study} {batch}"
        return super().bring_back(batch)

    def _is_surely(self, batch: str) -> bool:
        try:
            return self.is_own(batch)
        except ProvenanceError:
            return False
