"""Names of training notes in what a model folder says of itself.

Keyed where there is a key, as digests elsewhere.
"""

from __future__ import annotations

import hashlib

from deid_assets.config.secret import secret_of_environment
from deid_assets.core.keys import Key


def name_of(content: str) -> str:
    """Return 64 hexadecimal digits that stand for notes, other ones under another ``DEID_KEY``.

    Without a key it is the SHA-256, which confirms a guess at the notes to whoever holds the
    model's folder.

    Raises:
        ConfigError: The key is too short, or no key.
    """
    secret = secret_of_environment()
    if secret is None:
        return plain_name_of(content)
    return Key(secret).derive("training notes", content).hex()


def plain_name_of(content: str) -> str:
    """Return the name without a key, as it stands in folders written without one."""
    return hashlib.sha256(content.encode()).hexdigest()
