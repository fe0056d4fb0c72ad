"""An encrypted value is read back with the key, and tells nothing without it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import PolicyError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies.encrypt import TOKEN, Encrypt, open_tokens
from deid_assets.policies.hashes import Hash

KEY, OTHER = Key(bytes(range(32))), Key(bytes(32))
TEXTS = st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)


def written(text, *, label=Phi.NAME, patient="p1", key=KEY, action=None):
    note = Note("n1", text or "x", patient)
    return (action or Encrypt())(text, Span(0, len(text) or 1, label), Context(note, key))


@given(TEXTS)
def test_any_value_comes_back(text):
    assert open_tokens(f"a {written(text)} b", KEY, note_id="n1") == (f"a {text} b", 1)


@given(TEXTS, st.lists(st.integers(0, 40), unique=True, max_size=6).map(sorted))
def test_a_note_comes_back_whole(text, bounds):
    note = Note("n1", text, "p1")
    bounds = [bound for bound in bounds if bound <= len(text)]
    spans = [Span(*each, Phi.CITY) for each in zip(bounds[::2], bounds[1::2], strict=False)]
    redacted = redact(note, DisjointSpans.of(note, spans), Policy("p", Encrypt()), key=KEY)

    if not TOKEN.search(text):
        assert open_tokens(redacted.text, KEY, note_id="n1") == (text, len(spans))


def test_one_value_of_one_patient_has_one_token_and_other_patients_others():
    assert written("Lee") == written("Lee")
    tokens = {
        written("Lee"),
        written("LEE"),
        written("Lee", patient="p2"),
        written("Lee", label=Phi.CITY),
    }
    assert len(tokens | {written("Lee", key=OTHER)}) == 5


def test_values_of_about_one_length_have_tokens_of_one_length():
    assert {len(written("x" * length)) for length in range(1, 16)} == {len(written("x"))}


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(written("Lee", key=OTHER), id="another key"),
        pytest.param(written("Lee").replace("NAME", "CITY"), id="another category"),
        pytest.param(written("Lee")[:-8] + "AAAAAA]", id="altered"),
        pytest.param("[NAME:e1.AAAA]", id="too short"),
    ],
)
def test_what_does_not_open_is_refused_with_its_place(token):
    with pytest.raises(ProvenanceError, match="note 'n1': the token at 2 does not open"):
        open_tokens(f"a {token}", KEY, note_id="n1")


def test_hashes_are_no_tokens():
    text = written("Lee", action=Hash(hex_digits=64))

    assert open_tokens(text, KEY, note_id="n1") == (text, 0)


def test_a_note_without_patient_is_refused_where_that_is_asked_for():
    with pytest.raises(PolicyError, match="patient id"):
        written("Lee", patient=None, action=Encrypt(require_patient=True))
    assert written("Lee", patient=None) != written("Lee")
