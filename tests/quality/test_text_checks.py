"""Redacted notes are complete, changed only where they should be, and hold no known PHI."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Edit, Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.evaluation.counts import Counts
from deid_assets.quality import State, duplicates
from deid_assets.quality.duplicates import near_duplicate_share
from deid_assets.quality.text_checks import (
    complete,
    is_unchanged_outside,
    judge_changed,
    recall_floor,
)

KEY = Key(bytes(range(32)))

# Edits


@given(st.data())
def test_a_redaction_is_unchanged_outside_and_any_other_change_is_seen(data: st.DataObject) -> None:
    text = data.draw(st.text("ab ", min_size=1, max_size=30))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [Span(start, end, Phi.NAME) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    note = Note("a", text)
    mask = data.draw(st.sampled_from(["", "*", "[NAME]"]))
    redacted = redact(
        note, DisjointSpans.of(note, spans), Policy("masked", lambda *_: mask), key=KEY
    )

    assert is_unchanged_outside(note, redacted.edits, redacted.text)

    inside = {at for edit in redacted.edits for at in range(edit.new_start, edit.new_end)}
    for at in set(range(len(redacted.text))) - inside:
        changed = redacted.text[:at] + "#" + redacted.text[at + 1 :]
        assert not is_unchanged_outside(note, redacted.edits, changed)
    assert not is_unchanged_outside(note, redacted.edits, redacted.text + "#")


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(5, 8, 5, 8, Phi.NAME), Edit(0, 4, 0, 4, Phi.NAME)],
        [Edit(0, 6, 0, 6, Phi.NAME), Edit(5, 8, 5, 8, Phi.NAME)],
        [Edit(0, 99, 0, 8, Phi.NAME)],
        [Edit(0, 8, 0, 99, Phi.NAME)],
        [Edit(8, 5, 8, 5, Phi.NAME)],
    ],
)
def test_edits_that_are_unsorted_overlapping_or_out_of_bounds_are_refused(
    edits: list[Edit],
) -> None:
    assert not is_unchanged_outside(Note("a", "Jane Lee"), edits, "Jane Lee")


def test_a_note_that_was_changed_outside_fails_the_check() -> None:
    note = Note("a", "one")

    assert is_unchanged_outside(note, (), "one")
    assert not is_unchanged_outside(note, (), "two")
    verdict = judge_changed(2, changed=1)
    assert (verdict.passed, dict(verdict.counts)) == (False, {"notes": 2, "changed": 1})
    assert judge_changed(2, changed=0).passed


# Floors and completeness


@pytest.mark.parametrize(
    ("counts", "floors", "passes"),
    [
        ({"NAME": Counts(95, 0, 5)}, {"NAME": 0.95}, True),
        ({"NAME": Counts(95, 0, 5)}, {"NAME": 0.951}, False),
        ({"NAME": Counts(0, 9, 0)}, {"NAME": 0.0}, False),
        ({}, {"NAME": 0.5}, False),
    ],
)
def test_recall_must_reach_its_floor(counts, floors, passes: bool) -> None:
    assert recall_floor(counts, floors).passed is passes


def test_without_a_floor_no_recall_is_judged() -> None:
    assert recall_floor({"DATE": Counts(0, 0, 9)}, {}).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("entered", "left", "quarantined", "wrong"),
    [
        ("abc", "ab", "c", {}),
        ("abc", "ab", "", {"lost": 1}),
        ("ab", "ab", "c", {"invented": 1}),
        ("ab", "ab", "b", {"duplicated": 1}),
        ("ab", "abb", "", {"duplicated": 1}),
        ("aab", "ab", "", {"duplicated": 1}),
        ("abc", "bd", "", {"lost": 2, "invented": 1}),
    ],
)
def test_every_note_comes_out_once(
    entered: str, left: str, quarantined: str, wrong: dict[str, int]
) -> None:
    verdict = complete(entered, left, quarantined)

    found = {name: verdict.counts[name] for name in ("lost", "invented", "duplicated")}
    assert found == {"lost": 0, "invented": 0, "duplicated": 0} | wrong
    assert verdict.passed is not bool(wrong)


def test_of_no_notes_none_can_be_lost() -> None:
    assert complete("", "", "").state is State.NOT_APPLICABLE


# Near-duplicates


def prose(rng: random.Random, words: int) -> list[str]:
    return ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 9))) for _ in range(words)]


def test_copies_with_small_changes_are_near_duplicates() -> None:
    rng = random.Random(7)
    originals = [prose(rng, 200) for _ in range(30)]
    copies = [[*words[:100], "changed", *words[101:]] for words in originals[:10]]
    notes = [Note(f"n{n}", " ".join(words)) for n, words in enumerate(originals + copies)]

    verdict = near_duplicate_share(notes, limit=0.05)

    assert dict(verdict.counts) == {
        "notes": 40,
        "near_duplicates": 10,
        "share": 0.25,
        "limit": 0.05,
    }
    assert not verdict.passed
    assert near_duplicate_share(notes, limit=0.25).passed


def test_case_and_blanks_do_not_hide_a_copy_and_empty_notes_are_left_out() -> None:
    notes = [
        Note("a", "Seen  in\nclinic today."),
        Note("b", "SEEN in clinic today. "),
        Note("c", ""),
        Note("d", " "),
    ]

    assert dict(near_duplicate_share(notes, limit=0.05).counts) == {
        "notes": 2,
        "near_duplicates": 1,
        "share": 0.5,
        "limit": 0.05,
    }


@pytest.mark.parametrize("notes", [[], [Note("a", "")], [Note("a", "short")]])
def test_fewer_than_two_notes_cannot_be_compared(notes: list[Note]) -> None:
    assert near_duplicate_share(notes, limit=0.05).state is State.NOT_APPLICABLE


def test_short_notes_are_no_duplicates() -> None:
    assert near_duplicate_share([Note("a", "one"), Note("b", "two")], limit=0.0).passed


def test_many_identical_notes_are_one_group() -> None:
    notes = [Note(f"n{n}", "Discharged in good condition.") for n in range(3_000)]

    assert near_duplicate_share(notes, limit=0.05).counts["near_duplicates"] == 2_999


@pytest.mark.parametrize(("shared", "expected"), [(194, 1), (100, 0)])
def test_the_threshold_separates_close_from_half_alike(shared: int, expected: int) -> None:
    # Of 200 words, 194 shared make a Jaccard similarity of about 0.94, 100 shared make about 0.33.
    rng = random.Random(3)
    words = prose(rng, 200)
    notes = [
        Note("a", " ".join(words)),
        Note("b", " ".join(words[:shared] + prose(rng, 200 - shared))),
    ]

    assert near_duplicate_share(notes, limit=0.05).counts["near_duplicates"] == expected


def test_pairs_that_are_compared_grow_no_faster_than_the_notes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = random.Random(1)
    vocabulary = prose(rng, 5_000)
    compared = 0
    counted = duplicates._band_pairs

    def band_pairs(band: np.ndarray) -> np.ndarray:
        nonlocal compared
        found = counted(band)
        compared += len(found)
        return found

    def pairs(notes: list[Note]) -> int:
        nonlocal compared
        compared = 0
        near_duplicate_share(notes, limit=0.05)
        return compared

    monkeypatch.setattr(duplicates, "_band_pairs", band_pairs)
    unlike = [Note(f"n{n}", " ".join(rng.choices(vocabulary, k=60))) for n in range(1_000)]
    alike = [Note(f"n{n}", "Discharged in good condition.") for n in range(1_000)]

    assert pairs(unlike) < len(unlike)
    assert 0 < pairs(alike) < 8 * pairs(alike[:250])
