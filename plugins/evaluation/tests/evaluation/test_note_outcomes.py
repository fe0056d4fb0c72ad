import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import DigestError, InputError, OffsetError
from deid_assets.core.phi import HARMONISED, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.testing import parse_marked
from deid_evaluation.note_outcomes import (
    NoteOutcome,
    by_patient,
    fully_redacted,
    fully_redacted_by_label,
    note_outcomes,
    share_of,
    worst_notes,
)

NAMES = frozenset({"NAME"})


def outcomes(*texts):
    """Of (gold, predictions), both marked."""
    pairs, lengths = [], {}
    for number, (gold, pred) in enumerate(texts):
        note, golds = parse_marked(gold, note_id=f"n{number}")
        pairs.append((golds, parse_marked(pred, note_id=f"n{number}")[1]))
        lengths[note.note_id] = len(note)
    return list(note_outcomes(pairs, profile=HARMONISED, lengths=lengths))


CLEAN = ("<NAME>Lee</NAME>, <AGE>93</AGE>", "<NAME>Lee</NAME>, <DATE>93</DATE>")
AGE_LEFT = ("<NAME>Lee</NAME>, <AGE>93</AGE>", "<NAME>Lee</NAME>, 93")
NAME_LEFT = ("<NAME>Ann Lee</NAME>, <AGE>93</AGE>", "Ann <NAME>Lee</NAME>, <AGE>93</AGE>")
FREE = ("no one", "no <NAME>one</NAME>")


def test_one_character_left_is_a_note_left():
    clean, name_left, free = outcomes(CLEAN, NAME_LEFT, FREE)

    assert (clean.left, clean.left_chars) == ({}, 0)
    assert (name_left.left, name_left.left_chars) == ({"NAME": 1}, 4)
    assert (free.gold, free.spurious_chars) == ({}, 3)


def test_notes_without_phi_are_no_trials():
    assert fully_redacted(outcomes(CLEAN, AGE_LEFT, NAME_LEFT, FREE)) == share_of(1, 3)


def test_names_only_forgives_what_is_no_name():
    assert fully_redacted(outcomes(CLEAN, AGE_LEFT, NAME_LEFT, FREE), labels=NAMES) == share_of(
        2, 3
    )


def test_each_label_has_the_notes_that_hold_it():
    found = fully_redacted_by_label(
        outcomes(CLEAN, AGE_LEFT, NAME_LEFT, ("<ZIP>02139</ZIP>", "02139"))
    )

    assert found == {"AGE": share_of(2, 3), "LOCATION": share_of(0, 1), "NAME": share_of(2, 3)}


def test_no_note_with_gold_is_refused_and_not_a_rate_of_zero():
    with pytest.raises(InputError, match="no note has annotations"):
        fully_redacted(outcomes(FREE))
    with pytest.raises(InputError, match="no note has annotations"):
        fully_redacted(outcomes(CLEAN), labels=frozenset({"EMAIL"}))


def test_published_shares_of_notes():
    notes, phones = share_of(872, 935), share_of(41, 41)

    assert round(notes.value, 4) == 0.9326
    assert (round(notes.low, 3), round(notes.high, 3)) == (0.915, 0.947)
    assert (phones.value, round(phones.low, 3), phones.high) == (1, 0.914, 1)
    assert round(share_of(467, 471).value, 4) == 0.9915  # names only


def test_worst_notes_come_first_and_faultless_ones_not_at_all():
    found = worst_notes(outcomes(CLEAN, FREE, AGE_LEFT, NAME_LEFT), count=10)

    assert [outcome.note_id for outcome in found] == ["n3", "n2", "n1"]
    assert worst_notes(outcomes(CLEAN, FREE, AGE_LEFT, NAME_LEFT), count=1) == found[:1]


def test_a_patient_is_clean_when_all_notes_are():
    found = by_patient(
        outcomes(CLEAN, AGE_LEFT, CLEAN, FREE), {"n0": "p1", "n1": "p1", "n2": "p2", "n3": "p3"}
    )

    assert [patient.note_id for patient in found] == ["p1", "p2", "p3"]
    assert found[0].gold == {"NAME": 2, "AGE": 2}
    assert fully_redacted(found) == share_of(1, 2)
    with pytest.raises(InputError, match="'n1' has no patient"):
        by_patient(outcomes(CLEAN, CLEAN), {"n0": "p1"})


def test_bad_input_is_refused():
    note, gold = parse_marked("<NAME>Lee</NAME>")
    other = parse_marked("<NAME>Kim</NAME>")[1]
    far = SpanSet(note.note_id, note.digest, (Span(0, 9, Phi.NAME),))

    def run(*pairs, lengths=None):
        return list(
            note_outcomes(
                pairs, profile=HARMONISED, lengths={"marked": 3} if lengths is None else lengths
            )
        )

    for error, pairs, lengths in [
        (DigestError, [(gold, other)], None),
        (OffsetError, [(gold, far)], None),
        (InputError, [(gold, gold)] * 2, None),
        (InputError, [(gold, gold)], {}),
    ]:
        with pytest.raises(error):
            run(*pairs, lengths=lengths)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
def test_notes_of_one_label_are_counted_once_each(counts):
    made = [
        NoteOutcome(
            f"n{at}",
            {"NAME": gold} if gold else {},
            {"NAME": min(left, gold)} if left and gold else {},
        )
        for at, (gold, left) in enumerate(counts)
    ]
    by_label = fully_redacted_by_label(made)

    if not any(gold for gold, _ in counts):
        assert by_label == {}
    else:
        assert by_label["NAME"] == fully_redacted(made) == fully_redacted(made, labels=NAMES)
