"""Withdrawn batches: one signed record each, which publishing asks for and every sweep enforces."""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.core.errors import ProvenanceError
from deid_assets.store.files import StoreFiles, UnsignedReceipt

ARRIVAL = "arrival"
"""Path of the signed list of what arrived as a batch."""
WITHDRAWN = "withdrawn"
"""Path of the record that a batch was withdrawn.

It names the arrival, so that another try of that brings it back.
"""


class Withdrawals:
    """The withdrawn batches of an installation.

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

    def _is_surely_withdrawn(self, batch: str) -> bool:
        try:
            return self.is_withdrawn(batch)
        except ProvenanceError:
            return False

    def _arrival(self, batch: str) -> dict[str, str]:
        arrival = self._files.find(ARRIVAL, batch)
        return {arrival.name: arrival.digest} if arrival else {}
