"""``redacted``: marked text in, redacted text out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deid_assets.core.keys import Key
from deid_assets.testing import redact_marked

KEY = Key(b"a key for tests, 24 bytes")


@pytest.fixture(scope="session")
def key() -> Key:
    return KEY


@pytest.fixture(scope="session")
def redacted() -> Callable[..., str]:
    def run(text, policy="surrogate", *, key=KEY, **of_note):
        return redact_marked(text, policy, key=key, **of_note)

    return run
