"""Keys of a vault, and the sealing of values to the place where they stand."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from deid_assets.core.errors import ConfigError, ProvenanceError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VARIABLE = "DEID_VAULT_KEY"
KEY_BYTES = 32
NONCE_BYTES = 12
_HOW = f"set {VARIABLE} to the output of `openssl rand -hex 32`, or name a file that holds it"


class Sealed(NamedTuple):
    """A value under AES-256-GCM (NIST SP 800-38D).

    Id of the key, random nonce, ciphertext with its tag.
    """

    key_id: str
    nonce: bytes
    ciphertext: bytes


class Keyring:
    """The keys that open a vault; the first also seals.

    Args:
        keys: 32 bytes each, the current one first, older ones after it until everything is
            re-encrypted.

    Raises:
        ConfigError: There is none, one of another length, or one twice.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys:
            raise ConfigError(f"there is no key for the vault; {_HOW}")
        if wrong := [len(key) for key in keys if len(key) != KEY_BYTES]:
            raise ConfigError(
                f"a key of the vault has {wrong[0]} bytes, {KEY_BYTES} are needed; {_HOW}"
            )
        self._ciphers = {key_id_of(key): _cipher(key) for key in keys}
        if len(self._ciphers) < len(keys):
            raise ConfigError(
                "a key of the vault is given twice; give each once, the current one first"
            )
        self.current = key_id_of(keys[0])

    def __repr__(self) -> str:
        return f"Keyring({', '.join(self._ciphers)}; keys hidden)"

    @classmethod
    def load(
        cls, file: Path | None = None, *, environment: Mapping[str, str] | None = None
    ) -> Self:
        """Return the keys of a file, or of ``DEID_VAULT_KEY`` where none is named.

        Several keys are separated by commas, blanks or line breaks, the current one first.

        Raises:
            ConfigError: There is no key, it is not hexadecimal, or others may read the file.
        """
        if file is None:
            value, where = (
                (os.environ if environment is None else environment).get(VARIABLE, ""),
                VARIABLE,
            )
        else:
            value, where = _read_private(file), str(file)
        try:
            return cls([bytes.fromhex(key) for key in re.split(r"[\s,]+", value.strip()) if key])
        except ValueError as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"{where} is not hexadecimal; {_HOW}") from None

    def seal(self, plain: bytes, *, place: str) -> Sealed:
        """Return a value sealed with the current key, to be opened in the same place only.

        Args:
            plain: Any bytes.
            place: Where it will stand; authenticated, not encrypted.
        """
        nonce = os.urandom(NONCE_BYTES)
        return Sealed(
            self.current, nonce, self._ciphers[self.current].encrypt(nonce, plain, place.encode())
        )

    def open(self, sealed: Sealed, *, place: str, what: str) -> bytes:
        """Return what was sealed in this place.

        Args:
            sealed: As stored.
            place: Where it stands.
            what: Its name in the message; never text.

        Raises:
            ConfigError: It was sealed with a key that is not among these.
            ProvenanceError: It was altered, or moved here from another place.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - loaded with the first key

        cipher = self._ciphers.get(sealed.key_id)
        if cipher is None:
            raise ConfigError(
                f"{what}: sealed with key {sealed.key_id}, which is not among the keys given "
                f"({', '.join(self._ciphers)}); give the vault's key, and older ones after it"
            )
        try:
            return cipher.decrypt(sealed.nonce, sealed.ciphertext, place.encode())
        except (InvalidTag, ValueError):
            raise ProvenanceError(
                f"{what}: altered, or moved from another place; restore the vault from a backup"
            ) from None


def key_id_of(key: bytes) -> str:
    """Return a short name of a key, which tells nothing of the key itself."""
    return hashlib.sha256(b"deid vault key id" + key).hexdigest()[:8]


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - 0.1 s, only with a vault
        AESGCM,
    )

    return AESGCM(key)


def _read_private(file: Path) -> str:
    try:
        mode = file.stat().st_mode
        if sys.platform != "win32" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigError(f"{file}: others may read or change it; run chmod 600 on it")
        return file.read_text("ascii")
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror}); {_HOW}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not hexadecimal; {_HOW}") from None
