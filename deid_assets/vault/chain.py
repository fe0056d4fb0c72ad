"""Rows that can only be added: each is bound to the one before it by a keyed hash."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

FIRST = "0" * 64
"""What the first row names as the hash before it."""


@dataclass(frozen=True, slots=True)
class HashChain:
    """The rows of one log.

    Args:
        derive: A keyed hash of text.
    """

    derive: Callable[[str], bytes]

    def hash(self, fields: Mapping[str, object]) -> str:
        """Return the hash of a row, in hexadecimal.

        ``previous`` among its fields is the hash of the row before it.
        """
        plain = {
            name: value.hex() if isinstance(value, bytes) else value
            for name, value in fields.items()
        }
        return self.derive(json.dumps(plain, sort_keys=True)).hex()

    def follows(self, fields: Mapping[str, object], digest: object, *, previous: str) -> bool:
        """Whether a row is as it was written, and stands behind the row of a hash."""
        is_genuine = hmac.compare_digest(
            str(digest).encode("utf-8", "replace"), self.hash(fields).encode()
        )
        return is_genuine and fields.get("previous") == previous
