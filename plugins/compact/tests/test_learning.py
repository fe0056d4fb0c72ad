"""What is learnt from: labels of corpora that mark different things, and varied copies of notes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import Note
from deid_assets.extending import DisjointSpans, Document, Phi, Span
from deid_compact.augmentation import Pools, lower, scan, upper, vary, wrap
from deid_compact.labels import OUTSIDE, Classes, Targets
from deid_compact.notes import mark_notes

CLASSES = Classes.of([Phi.NAME, Phi.CITY, Phi.LOCATION, Phi.MRN, Phi.HOSPITAL, Phi.ORGANIZATION])
POOLS = Pools(["Okonkwo", "Virtanen"], {Phi.CITY: ["Porto", "Sankt Pölten"]})


def document(text: str, *spans: tuple[int, int, Phi], corpus: str, number: int = 0) -> Document:
    note = Note(f"{corpus}-{number}", text)
    return Document(
        note, DisjointSpans.of(note, [Span(*span, 1.0, "gold") for span in spans]), corpus=corpus
    )


def test_numbers_of_all_kinds_are_one_class() -> None:
    assert Phi.ID in CLASSES.categories
    assert Phi.MRN not in CLASSES.categories


def test_an_unmarked_word_may_be_what_its_corpus_never_marks() -> None:
    targets = Targets(CLASSES)
    names_alone = targets.outside(frozenset({Phi.NAME}))
    table = targets.table()[names_alone]
    assert table[OUTSIDE]
    assert table[CLASSES.begin(Phi.CITY)]
    assert not table[CLASSES.begin(Phi.NAME)]


def test_a_place_may_be_any_finer_place_that_its_corpus_never_marks() -> None:
    targets = Targets(CLASSES)
    begin, inside = targets.find_targets(Phi.LOCATION, frozenset({Phi.LOCATION, Phi.NAME}))
    assert targets.table()[begin, CLASSES.begin(Phi.CITY)]
    assert targets.table()[inside, CLASSES.inside(Phi.CITY)]
    begin, _ = targets.find_targets(Phi.LOCATION, frozenset({Phi.LOCATION, Phi.CITY}))
    assert not targets.table()[begin, CLASSES.begin(Phi.CITY)]


def test_what_a_corpus_marks_is_told_from_all_its_notes() -> None:
    notes = mark_notes(
        [
            document("Lee", (0, 3, Phi.NAME), corpus="a"),
            document("Rome", (0, 4, Phi.CITY), corpus="a", number=1),
            document("no name", corpus="b"),
        ]
    )
    assert notes[0].marked == frozenset({Phi.NAME, Phi.CITY})
    assert notes[2].marked == frozenset()


def test_probabilities_of_classes_that_are_not_learnt_count_as_outside() -> None:
    mine = Classes.of([Phi.NAME, Phi.CITY])
    other = Classes.of([Phi.NAME])
    probabilities = np.array([[0.1, 0.2, 0.3, 0.15, 0.25]], dtype=np.float32)
    translated = mine.translate(probabilities, other)
    assert translated.shape == (1, 3)
    assert translated.sum() == pytest.approx(1.0)
    assert translated[0, other.begin(Phi.NAME)] == pytest.approx(
        probabilities[0, mine.begin(Phi.NAME)]
    )


@given(st.text(max_size=80))
def test_case_changes_keep_every_offset(text: str) -> None:
    assert len(lower(text)) == len(text)
    assert len(upper(text)) == len(text)


@given(st.text(alphabet="abc \n", max_size=300), st.integers(0, 9))
def test_wrapping_changes_blanks_and_line_ends_alone(text: str, seed: int) -> None:
    wrapped = wrap(text, random.Random(seed))
    assert len(wrapped) == len(text)
    assert wrapped.replace("\n", " ") == text.replace("\n", " ")


@given(st.integers(0, 300))
def test_marks_of_a_varied_copy_stand_on_what_was_exchanged(seed: int) -> None:
    text = "Seen: Anna Lee (Lund), MRN 4711-22. Lee was well. Anna called."
    marks = [
        (6, 14, Phi.NAME),
        (16, 20, Phi.CITY),
        (27, 34, Phi.MRN),
        (36, 39, Phi.NAME),
        (50, 54, Phi.NAME),
    ]
    copy, moved = vary(text, marks, POOLS, random.Random(seed))
    assert len(moved) == len(marks)
    last = 0
    for start, end, _ in moved:
        assert last <= start < end <= len(copy)
        last = end
    outside = "".join(
        copy[a:b]
        for a, b in zip(
            [0, *(m[1] for m in moved)], [*(m[0] for m in moved), len(copy)], strict=True
        )
    )
    assert "Anna" not in outside
    assert "4711" not in copy


def test_one_name_is_exchanged_the_same_way_throughout_a_note() -> None:
    from deid_compact.augmentation import exchange

    text = "Lee and LEE and Lee"
    marks = [(0, 3, Phi.NAME), (8, 11, Phi.NAME), (16, 19, Phi.NAME)]
    copy, moved = exchange(text, marks, Pools(["Okonkwo", "Virtanen", "Zhang"]), random.Random(3))
    first, second, third = (copy[start:end] for start, end, _ in moved)
    assert first == third
    assert second == first.upper()


@given(st.integers(0, 100))
def test_a_scan_moves_marks_with_the_text(seed: int) -> None:
    text = "name 0123456789 " * 20
    marks = [(at + 5, at + 15, Phi.ID) for at in range(0, len(text), 16)]
    damaged, moved = scan(text, marks, random.Random(seed))
    for start, end, _ in moved:
        inside = damaged[start:end]
        assert 8 <= len(inside) <= 12
        assert not set(inside) & set("name ")
