"""``redacted``: marked text in, text with surrogates out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy
from deid_assets.policies import load_policy
from deid_assets.testing import redact_marked

KEY = Key(b"a key for tests, 24 bytes")


@pytest.fixture(scope="session")
def key() -> Key:
    return KEY


@pytest.fixture(scope="session")
def redacted() -> Callable[..., str]:
    def run(text, policy="surrogate", *, key=KEY, **of_note):
        chosen = policy if isinstance(policy, Policy) else load_policy(policy)
        return redact_marked(text, chosen, key=key, **of_note)

    return run
