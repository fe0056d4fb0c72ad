"""No surrogate is a real value: of its note, or of the batch whose digests the context has."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import load_policy
from deid_assets.policies.collisions import Originals, normal
from deid_assets.policies.needs import originals_of
from deid_surrogates.collisions import first_free
from deid_surrogates.shapes import identifier

KEY = Key(b"a key for tests, 24 bytes")


def note_of(*values, note_id="n", patient="p", label=Phi.MRN):
    text = " ".join(values)
    spans, start = [], 0
    for value in values:
        spans.append(Span(start, start + len(value), label))
        start += len(value) + 1
    note = Note(note_id, text, patient_id=patient, lang="en")
    return note, DisjointSpans.of(note, spans)


def redacted(note, spans, originals=()):
    return redact(note, spans, load_policy("surrogate"), key=KEY, originals=originals).text


def test_a_surrogate_that_is_a_value_of_the_same_note_is_drawn_again():
    alone = redacted(*note_of("12-345"))

    together = redacted(*note_of("12-345", alone)).split()

    assert together[0] != alone
    assert together[0] not in ("12-345", alone)
    assert redacted(*note_of(alone, "12-345")).split()[1] == together[0]


def test_a_surrogate_that_is_a_value_of_the_batch_is_drawn_again_whatever_its_category():
    note, spans = note_of("12-345")
    alone = redacted(note, spans)
    for written in (alone, alone.replace("-", ""), alone.replace("-", " ")):
        batch = [(note, spans), note_of(written, note_id="m", patient="q", label=Phi.ACCOUNT)]

        again = redacted(note, spans, Originals.of(KEY, batch))

        assert normal(again) != normal(alone)
        assert again == redacted(note, spans, Originals.of(KEY, reversed(batch)))


def test_without_a_collision_the_batch_does_not_matter():
    note, spans = note_of("12-345")
    batch = [note_of(f"99{number:05}", note_id=str(number)) for number in range(50)]

    assert redacted(note, spans, Originals.of(KEY, batch)) == redacted(note, spans)


@pytest.mark.long
def test_no_surrogate_of_a_crowded_batch_is_a_real_value():
    rng = random.Random(3)
    values = [f"{number:03}" for number in rng.sample(range(100, 1000), 400)]
    batch = [note_of(value, note_id=value, patient=value) for value in values]
    originals = Originals.of(KEY, batch)

    drawn = [redacted(note, spans, originals) for note, spans in batch]

    assert not set(drawn) & set(values)
    # A draw is free with a chance of 56 %: eight fail together for one value in seven hundred,
    # which gets the tag.
    assert sum(one == "[MRN]" for one in drawn) < 5


def test_a_value_for_which_every_draw_is_taken_gets_the_tag():
    values = [str(digit) for digit in range(10)]
    note, spans = note_of("7")

    assert redacted(note, spans, Originals.of(KEY, [note_of(*values)])) == "[MRN]"
    assert identifier(Phi.MRN, "7", Context(note, KEY, spans=spans, originals=values)) is None


def test_digests_are_keyed_and_show_nothing():
    batch = [note_of("12-345")]
    originals = Originals.of(KEY, batch)

    assert "12345" in originals
    assert "12345" not in Originals.of(Key(b"another key for tests"), [])
    assert repr(originals) == "Originals(1 values)"
    assert len(Originals.of(KEY, batch * 100)) == 1


def test_the_digests_of_two_batches_can_be_joined():
    first, second = (
        Originals.of(KEY, [note_of("12-345")]),
        Originals.of(KEY, [note_of("67-890", "12345")]),
    )

    both = Originals.merge(KEY, [first, second])

    assert len(both) == 2
    assert "12345" in both
    assert "67890" in both


@given(st.lists(st.text("0123456789-", min_size=1, max_size=9), min_size=1, max_size=30))
def test_every_value_of_the_batch_is_found_and_the_order_does_not_matter(values):
    batch = [note_of(*values)]
    originals = Originals.of(KEY, batch)

    assert all(value in originals for value in values)
    assert [value in originals for value in map(str, range(100))] == [
        value in Originals.of(KEY, [note_of(*reversed(values))]) for value in map(str, range(100))
    ]


def test_only_identifiers_are_looked_for():
    note, spans = note_of("Lee", label=Phi.NAME)

    assert not len(Originals.of(KEY, [(note, spans)]))
    assert first_free(lambda _: "Lee", "Kim", Context(note, KEY, spans=spans)) == "Lee"
    assert first_free(str, "2", Context(note, KEY, originals=("0", "1"))) == "3"


@pytest.mark.parametrize("name", ["tag", "blackout"])
def test_a_policy_that_draws_nothing_does_not_look(name):
    note, spans = note_of("12-345")

    assert isinstance(load_policy(name), Policy)
    assert redact(note, spans, load_policy(name), key=KEY, originals=("12345",)).fallbacks == {}


@pytest.mark.parametrize(
    ("real", "compared", "is_real"),
    [
        ("John Smith", "john smith", True),
        ("Dr. SMITH, John Q.", "john smith", True),
        ("Smith", "smith", False),
        ("Dr. Smith", "smith", False),
        ("J. Smith", "smith", False),
    ],
)
def test_full_names_of_a_batch_are_taken_and_shared_ones_are_not(real, compared, is_real):
    found = originals_of(load_policy("surrogate"), KEY, [note_of(real, label=Phi.NAME)])

    assert (compared in found) is is_real


def test_a_policy_without_surrogates_compares_with_nothing():
    assert not originals_of(load_policy("tag"), KEY, [note_of("12-345")])
