"""Signatures that whoever receives a release can check, without the secret that made them (Ed25519,
RFC 8032).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.system.reading import read_small_file

PUBLIC_KEY = "release-public-key.pem"
"""Name of the file, in the home, with the key that may be handed out."""


class PublicKey:
    """Checks signatures; tells nothing of the secret.

    Args:
        key: Ed25519.
    """

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key

    @classmethod
    def read(cls, path: Path) -> PublicKey:
        """Return the key of a PEM file.

        Raises:
            InputError: The file is missing or holds another kind of key.
        """
        remedy = f"name the {PUBLIC_KEY} of the installation that released"
        try:
            key = load_pem_public_key(read_small_file(path))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
        except ValueError:
            raise InputError(f"{path}: no public key in PEM; {remedy}") from None
        if not isinstance(key, Ed25519PublicKey):
            raise InputError(f"{path}: not an Ed25519 key; {remedy}")
        return cls(key)

    @property
    def fingerprint(self) -> str:
        """First 16 hexadecimal digits of the key's SHA-256, to be compared over another channel."""
        return self._digest[:16]

    @property
    def _digest(self) -> str:
        return hashlib.sha256(self._key.public_bytes_raw()).hexdigest()

    def has_fingerprint(self, told: str) -> bool:
        """Whether the key's SHA-256 begins with these hexadecimal digits.

        16 of them, or up to all 64.

        Raises:
            InputError: They are fewer, or no such digits.
        """
        wanted = told.replace(":", "").lower()
        if not re.fullmatch("[0-9a-f]{16,64}", wanted):
            raise InputError(
                "a fingerprint has 16 to 64 hexadecimal digits; copy it as the sender told it"
                " to you"
            )
        return self._digest.startswith(wanted)

    def to_pem(self) -> bytes:
        """Return the content of a key file."""
        return self._key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def accepts(self, kind: str, content: Mapping[str, Any], signature: str) -> bool:
        """Return whether the holder of the secret signed this content as this kind of document."""
        try:
            self._key.verify(bytes.fromhex(signature), _message(kind, content))
        except (InvalidSignature, ValueError):
            return False
        return True


class ReleaseSigner:
    """Signs releases.

    The private key is derived from the secret and never stored; it is independent of the keys of
    surrogates and receipts, which are derived from the same secret under other names.

    Args:
        key: The installation's.
    """

    def __init__(self, key: Key) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(key.derive("release signature"))
        self.public = PublicKey(self._private.public_key())

    def __repr__(self) -> str:
        return f"ReleaseSigner({self.public.fingerprint})"

    def sign(self, kind: str, content: Mapping[str, Any]) -> str:
        """Return the signature in hexadecimal.

        ``kind`` keeps the signatures of different documents apart.
        """
        return self._private.sign(_message(kind, content)).hex()


def sign_with(path: Path, kind: str, content: Mapping[str, Any]) -> str:
    """Return a signature in hexadecimal by the private key of a file, for which no password is
    asked.

    Raises:
        InputError: The file is missing or holds no such key.
    """
    remedy = "make one with `openssl genpkey -algorithm ed25519 -out FILE`"
    try:
        key = load_pem_private_key(read_small_file(path), password=None)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    except (ValueError, TypeError):
        raise InputError(f"{path}: no private key in PEM without a password; {remedy}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path}: not an Ed25519 key; {remedy}")
    return key.sign(_message(kind, content)).hex()


def _message(kind: str, content: Mapping[str, Any]) -> bytes:
    """The kind, and the canonical JSON of the content."""
    return (
        f"deid-assets {kind}\n".encode()
        + json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    )
