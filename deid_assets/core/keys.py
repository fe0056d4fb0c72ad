"""A secret key, and the values derived from it instead of stored maps."""

from __future__ import annotations

import hashlib
import hmac

from deid_assets.core.errors import ConfigError

MIN_SECRET_BYTES = 16


class Key:
    """Derives stable values from a secret, so that any worker gives the same surrogate at any time.

    Args:
        secret: At least 16 bytes, from the environment or a secret store. Never shown.

    Raises:
        ConfigError: The secret is too short.
    """

    __slots__ = ("_mac",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) < MIN_SECRET_BYTES:
            raise ConfigError(
                f"the key has {len(secret)} bytes, at least {MIN_SECRET_BYTES} are needed; "
                "set DEID_KEY to the output of `openssl rand -hex 32`"
            )
        self._mac = hmac.new(secret, digestmod=hashlib.sha256)

    def derive(self, *parts: str) -> bytes:
        """Return 32 bytes, HMAC-SHA256 over the parts, each preceded by its length.

        The lengths keep ``("ab", "c")`` and ``("a", "bc")`` apart.
        """
        mac = self._mac.copy()
        for part in parts:
            encoded = part.encode()
            mac.update(len(encoded).to_bytes(8, "big"))
            mac.update(encoded)
        return mac.digest()

    def seed(self, *parts: str) -> int:
        """Return a 64-bit integer derived from the parts."""
        return int.from_bytes(self.derive(*parts)[:8], "big")


def derive_released_id(key: Key, kind: str, value: str) -> str:
    """Return the id under which a note or patient is released.

    Args:
        key: Of the release.
        kind: What it is of, such as ``note`` or ``patient``; its first letter begins the id.
        value: Its own id.
    """
    return f"{kind[0]}-{key.derive('released', kind, value).hex()[:20]}"
