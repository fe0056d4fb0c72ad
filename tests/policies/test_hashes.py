"""Keyed hashes: one for one value of one patient, and nothing that can be computed without
the key.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_assets.policies.hashes import Hash

KEY = Key(b"a key for tests, 24 bytes")


def hashed(text, label=Phi.NAME, *, patient="p", note_id="n", key=KEY, replacer=None):
    context = Context(Note(note_id, text, patient_id=patient), key)
    return (replacer or Hash())(text, Span(0, len(text), label), context)


def test_a_hash_stands_in_brackets_with_its_category(redacted):
    assert re.fullmatch(r"Dr\. \[NAME:[0-9a-f]{12}\]", redacted("Dr. <NAME>Lee</NAME>", "hash"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"note_id": "a"}, {"note_id": "b"}),
        ({"text": "Ann Lee"}, {"text": "ANN  lee\n"}),
        ({"patient": None, "note_id": "a"}, {"patient": None, "note_id": "a"}),
    ],
)
def test_the_same_value_of_a_patient_has_the_same_hash(first, second):
    assert hashed(**{"text": "Ann Lee", **first}) == hashed(**{"text": "Ann Lee", **second})


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Ann Li"},
        {"patient": "q"},
        {"label": Phi.USERNAME},
        {"key": Key(b"another key for tests")},
        {"patient": None},
    ],
)
def test_another_value_patient_category_or_key_gives_another_hash(other):
    codes = {hashed(**{"text": "Ann Lee", **change}).partition(":")[2] for change in ({}, other)}

    assert len(codes) == 2


def test_the_length_is_an_option_and_a_longer_hash_begins_with_the_shorter():
    short, long = (hashed("Lee", replacer=Hash(hex_digits=size)).strip("[]") for size in (8, 64))

    assert long.startswith(short)
    assert len(long) - len(short) == 56


def test_a_note_without_a_patient_is_refused_where_one_is_required():
    with pytest.raises(PolicyError, match="note 'n': action hash requires a patient id") as error:
        hashed("Quartermain", patient=None, replacer=Hash(require_patient=True))

    assert "Quartermain" not in str(error.value)
    assert hashed("Lee", replacer=Hash(require_patient=True)) == hashed("Lee")


@given(st.text(min_size=1, max_size=20), st.sampled_from(list(Phi)))
def test_a_hash_is_never_its_original_and_always_the_same(text, label):
    assert hashed(text, label) == hashed(text, label) != text
    assert re.fullmatch(rf"\[{label}:[0-9a-f]{{12}}\]", hashed(text, label))
