"""Digests of originals, sealed with the key: only who has it can tell what they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from deid_assets.core.errors import ProvenanceError
from deid_assets.core.keys import Key

if TYPE_CHECKING:
    import pyarrow as pa

DIGEST = "digest"
"""Column that is sealed."""


class DigestSeal:
    """Seals SHA-256 digests and opens them again; equal digests stay equal (AES-SIV, RFC 5297).

    A plain digest confirms a guess at the original; a sealed one is like a random value to who has
    not the key.

    Args:
        key: The seal's own key is derived from it.
    """

    def __init__(self, key: Key) -> None:
        self._cipher = AESSIV(
            key.derive("digest seal", "mac") + key.derive("digest seal", "encrypt")
        )

    def seal(self, digest: str) -> str:
        """Return 96 hexadecimal digits for the 64 of a digest."""
        return self._cipher.encrypt(bytes.fromhex(digest), None).hex()

    def open(self, sealed: str) -> str:
        """Return the digest.

        Raises:
            ProvenanceError: It was altered, or sealed with another key.
        """
        try:
            return self._cipher.decrypt(bytes.fromhex(sealed), None).hex()
        except (InvalidTag, ValueError):
            raise ProvenanceError(
                "a digest was altered or sealed with another key; check DEID_KEY"
            ) from None

    def seal_table(self, table: pa.Table) -> pa.Table:
        """Return the table with its digest column sealed, where it has one."""
        return _add_digests(table, list(map(self.seal, _digests(table))))

    def open_table(self, table: pa.Table) -> pa.Table:
        """Return the table with its digest column opened, where it has one.

        Raises:
            ProvenanceError: A digest was altered, or sealed with another key.
        """
        return _add_digests(table, list(map(self.open, _digests(table))))


def _digests(table: pa.Table) -> Sequence[str]:
    return table.column(DIGEST).to_pylist() if DIGEST in table.column_names else ()


def _add_digests(table: pa.Table, digests: Sequence[str]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - the command line seals edit maps without it

    if DIGEST not in table.column_names:
        return table
    at = table.column_names.index(DIGEST)
    return table.set_column(at, table.schema.field(at), pa.array(digests, pa.string()))
