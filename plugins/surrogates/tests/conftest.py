"""``redacted``: marked text in, text with surrogates out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy, redact
from deid_assets.core.span import DisjointSpans
from deid_assets.policies import load_policy
from deid_assets.testing import marked

KEY = Key(b"a key for tests, 24 bytes")


@pytest.fixture(scope="session")
def key() -> Key:
    return KEY


@pytest.fixture(scope="session")
def redacted() -> Callable[..., str]:
    def run(text, policy="surrogate", *, lang="en", patient_id="patient-1", note_id="note-1", key=KEY):
        note, spans = marked(text, note_id=note_id, lang=lang)
        note = replace(note, patient_id=patient_id)
        chosen = policy if isinstance(policy, Policy) else load_policy(policy)
        return redact(note, DisjointSpans.of(note, spans), chosen, key=key).text

    return run
