"""Whole words are covered, revealed from left to right, together with what would give them away,
and scored once.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from fixed_network import scorer
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets import Note
from deid_zero_shot.batches import ScoringCost
from deid_zero_shot.scorer import FLOOR
from deid_zero_shot.variants import GAP, VariantQuery, Variants, hide_many, reveal
from deid_zero_shot.windows import assign, overlap, windows

DERMA = ("Derma", "##to", "##glyph", "has", "fever", ".")


def test_a_word_is_the_product_of_its_pieces_from_left_to_right() -> None:
    chances = {"Derma": 0.5, "##to": 0.4, "##glyph": 0.2}
    scored, network = scorer(DERMA, lambda _seen, _place, true: chances.get(true, 1.0))

    (word,) = scored.score(Note("n", "Dermatoglyph")).words

    assert math.exp(word.score) == pytest.approx(0.5 * 0.4 * 0.2)
    assert network.shown == [
        ["[CLS]", "[MASK]", "[MASK]", "[MASK]", "[SEP]"],
        ["[CLS]", "Derma", "[MASK]", "[MASK]", "[SEP]"],
        ["[CLS]", "Derma", "##to", "[MASK]", "[SEP]"],
    ]


def test_the_geometric_mean_does_not_count_pieces() -> None:
    scored, _ = scorer(DERMA, lambda _seen, _place, _true: 0.1, mean=True)

    word, other = scored.score(Note("n", "Dermatoglyph fever")).words

    assert word.score == pytest.approx(other.score) == pytest.approx(math.log(0.1))


def test_a_number_of_hundreds_of_pieces_does_not_underflow() -> None:
    scored, _ = scorer(["1", "##1", "."], lambda _seen, _place, _true: 1e-30, window=512)

    (word,) = scored.score(Note("n", "1" * 90)).words

    assert FLOOR < word.score < 60 * math.log(1e-30)


def test_a_word_that_the_vocabulary_cannot_write_has_the_lowest_score() -> None:
    scored, _ = scorer(["fever"], lambda _seen, _place, _true: 1.0)

    fever, unknown = scored.score(Note("n", "fever Ωμέγα")).words

    assert (fever.score, unknown.score) == (0.0, FLOOR)


def _copies(seen, _place, true: str) -> float:
    """A model that knows a word where it can see it."""
    return 0.99 if true.lower() in map(str.lower, seen) else 0.01


NAMES = ("Ana", "ana", "##dias", "vino", "@", "example", ".", "org", "y", "Juha", "##n", "tuli")


@pytest.mark.parametrize(
    ("text", "number", "lemmas", "lang"),
    [
        ("Ana vino. Ana vino", 0, "none", "es"),
        ("Ana vino. ana vino", 2, "none", "es"),
        ("Ana vino anadias@example.org", 0, "none", "es"),
        ("Juha tuli Juhan", 0, "simple", "fi"),
    ],
    ids=["same", "case", "address", "inflection"],
)
def test_the_same_word_elsewhere_is_hidden_too(
    text: str, number: int, lemmas: str, lang: str
) -> None:
    alone, _ = scorer(NAMES, _copies, lemmas=lemmas, together=False)
    together, _ = scorer(NAMES, _copies, lemmas=lemmas)
    note = Note("n", text, lang=lang)

    assert alone.score(note).words[number].score == pytest.approx(math.log(0.99))
    assert together.score(note).words[number].score == pytest.approx(math.log(0.01))


def test_without_lemmas_an_inflected_form_gives_a_name_away() -> None:
    scored, _ = scorer(NAMES, _copies, lemmas="none")

    words = scored.score(Note("n", "Juha tuli Juhan", lang="fi")).words

    assert words[0].score == pytest.approx(math.log(0.99))


def test_a_variant_that_two_words_share_is_run_once() -> None:
    scored, network = scorer(NAMES, lambda _seen, _place, _true: 0.5)

    scored.score(Note("n", "Ana vino Ana vino Ana vino"))

    assert len(network.shown) == 2
    assert scored.spent == ScoringCost(runs=1, variants=2, positions=2 * 8, asked=6)


@pytest.mark.parametrize("batch", [1, 2, 16])
def test_the_size_of_a_run_changes_no_score(batch: int) -> None:
    def answer(seen, place, true) -> float:
        return (1 + len(seen) + place + len(true)) / 100

    text = "Ana vino. Juhan tuli anadias@example.org y Ana vino"
    few, _ = scorer(NAMES, answer, batch=batch, window=16)
    many, _ = scorer(NAMES, answer, batch=64, window=16)

    assert few.score(Note("n", text)).words == many.score(Note("n", text)).words


def test_two_stages_score_alone_what_the_first_doubts() -> None:
    def answer(seen, _place, true) -> float:
        return 1e-6 if true == "Ana" else 0.5 if seen.count("[MASK]") == 1 else 0.2

    scored, _ = scorer(NAMES, answer)
    note = Note("n", "Ana vino y tuli")

    words = scored.score(note, below=math.log(0.01)).words

    assert [word.exact for word in words] == [True, False, False, False]
    assert words[0].score == pytest.approx(math.log(1e-6))


@given(
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=30),
    most=st.integers(1, 12),
    same=st.integers(2, 9),
)
def test_words_hidden_together_stand_apart_and_each_is_revealed_as_if_alone(
    lengths, most: int, same: int
) -> None:
    ends = list(itertools.accumulate(lengths))
    words = [range(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    related = [
        np.concatenate([list(words[other]) for other in range(at % same, len(words), same)])
        for at in range(len(words))
    ]
    variants, alone = Variants(np.arange(ends[-1])), Variants(np.arange(ends[-1]))

    hide_many(variants, [(at, words[at], related[at]) for at in range(len(words))], most=most)
    for at, word in enumerate(words):
        reveal(alone, at, word, related[at])

    hidden_alone = {
        question: set(masked.tolist())
        for masked, questions in zip(alone.masked, alone.questions, strict=True)
        for question in questions
    }
    asked: Counter[VariantQuery] = Counter()
    for masked, questions in zip(variants.masked, variants.questions, strict=True):
        asked.update(questions)
        sets = {frozenset(hidden_alone[question]) for question in questions}
        assert set(masked.tolist()) == frozenset().union(*sets)
        assert len(sets) == 1 or len(masked) <= most
        for one, other in itertools.combinations(sets, 2):
            assert min(abs(left - right) for left in one for right in other) > GAP
    assert asked == Counter(hidden_alone.keys())


def test_hidden_with_others_a_word_scores_as_alone_where_only_its_neighbours_count() -> None:
    def answer(seen, place, true) -> float:
        return (1 + len("".join(seen[max(0, place - 1) : place + 2])) + len(true)) / 100

    text = "Ana vino y tuli anadias y Juhan tuli Ana vino . " * 4
    alone, slow = scorer(NAMES, answer, together=False)
    many, fast = scorer(NAMES, answer, together=False, alone=False)
    note = Note("n", text)

    words, others = alone.score(note).words, many.score(note).words

    assert [word.score for word in others] == pytest.approx([word.score for word in words])
    assert {word.exact for word in others} == {False}
    assert len(fast.shown) < len(slow.shown) / 2


@settings(max_examples=60, deadline=None)
@given(length=st.integers(1, 60), size=st.sampled_from([8, 11, 20]))
def test_each_word_of_a_long_note_is_asked_for_once_and_whole(length: int, size: int) -> None:
    asked: Counter[tuple[str, ...]] = Counter()

    def answer(seen, _place, true) -> float:
        asked[true] += 1
        assert len(seen) <= size
        return 0.5

    pieces = [f"w{number}" for number in range(length)]
    scored, _ = scorer(pieces, answer, window=size)
    note = Note("n", " ".join(pieces))

    words = scored.score(note).words

    assert [note.text[word.start : word.end] for word in words] == pieces
    assert asked == Counter(pieces)


@given(length=st.integers(1, 200), size=st.integers(8, 64))
def test_windows_cover_a_note_and_share_enough(length: int, size: int) -> None:
    parts = windows(length, window=size)

    assert {place for part in parts for place in part} == set(range(length))
    assert all(len(part) <= size - 2 for part in parts)
    assert all(
        left.stop - right.start >= overlap(size) for left, right in itertools.pairwise(parts)
    )
    words = [range(place, min(place + overlap(size), length)) for place in range(length)]
    for word, number in zip(words, assign(words, parts, length=length), strict=True):
        assert parts[number].start <= word.start
        assert word.stop <= parts[number].stop
