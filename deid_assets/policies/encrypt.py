"""The replacer that writes the value itself, encrypted.

Who has the key can read it back, and nobody else.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from deid_assets.core.errors import ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.drawing import owner_of, require_patient

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TOKEN = re.compile(r"\[([A-Z_]+):e1\.([A-Za-z0-9_-]+={0,2})\]")
"""A token: category, version of the format, nonce with ciphertext and tag in URL-safe base64 (RFC
4648).
"""
_NONCE_BYTES = 12
_BLOCK_BYTES = 16


@dataclass(frozen=True, slots=True)
class Encrypt:
    """``[NAME:e1.…]``: the value under AES-256-GCM with a key derived from ``DEID_KEY``.

    The nonce is an HMAC of category, patient and value, so one value of one patient has one token
    in every note, run and worker, and other patients' tokens differ. Values are filled up to a
    multiple of 16 bytes: a token tells its category and roughly its length. Without a patient id
    the note counts as the patient.

    Args:
        require_patient: Refuse a note without a patient id.
    """

    require_patient: bool = False
    keyed: ClassVar[str] = "encrypted values"

    def __call__(self, text: str, span: Span, context: Context) -> str:
        if self.require_patient:
            require_patient(context, "encrypt")
        label = span.label.value
        nonce = context.key.derive("encrypt nonce", label, owner_of(context), text)[:_NONCE_BYTES]
        plain = text.encode() + b"\x01"  # marks the end of the value
        plain += bytes(-len(plain) % _BLOCK_BYTES)
        sealed = nonce + _cipher(context.key).encrypt(nonce, plain, label.encode())
        return f"[{label}:e1.{urlsafe_b64encode(sealed).decode()}]"


def open_tokens(text: str, key: Key, *, note_id: str) -> tuple[str, int]:
    """Return a text with every token read back, and how many there were.

    Args:
        text: A redacted text.
        key: The one that it was redacted with.
        note_id: For the message.

    Raises:
        ProvenanceError: A token does not open: it was altered, or the key is another.
    """
    cipher, opened = _cipher(key), 0

    def value(token: re.Match[str]) -> str:
        nonlocal opened
        opened += 1
        return _open(token, cipher, note_id)

    return TOKEN.sub(value, text), opened


def _open(token: re.Match[str], cipher: AESGCM, note_id: str) -> str:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - loaded with the first token

    try:
        sealed = urlsafe_b64decode(token[2])
        plain = cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], token[1].encode())
        return plain.rstrip(b"\0")[:-1].decode()
    except (InvalidTag, ValueError):
        raise ProvenanceError(
            f"note {note_id!r}: the token at {token.start()} does not open; it was altered, or"
            " DEID_KEY is not the key that the note was redacted with"
        ) from None


def _cipher(key: Key) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - 0.1 s, only with this action
        AESGCM,
    )

    return AESGCM(key.derive("encrypt"))
