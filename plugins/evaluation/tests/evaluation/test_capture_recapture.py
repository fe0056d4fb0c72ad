"""Capture and recapture.

Estimates worked out by hand, and simulated detectors whose misses are known.
"""

import itertools
import random
from math import exp, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError, DigestError, InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import HARMONISED, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.testing import parse_marked
from deid_evaluation.capture_recapture import (
    Captures,
    captures,
    clusters,
    estimate_missed,
    overlap_matrix,
)

TEXT = "Dr. Lee of Rome, 3 May, id 77"


def spans(*texts):
    return {f"d{at}": parse_marked(text)[1] for at, text in enumerate(texts)}


def test_spans_that_overlap_are_one_identifier_under_the_label_of_most():
    found = captures(
        spans(
            "Dr. <NAME>Lee</NAME> of Rome, <DATE>3 May</DATE>, id 77",
            "Dr. <NAME>Lee of</NAME> <CITY>Rome</CITY>, 3 May, id 77",
            "<HOSPITAL>Dr. Lee</HOSPITAL> of Rome, 3 May, id 77",
        ),
        profile=HARMONISED,
    )

    assert found.histories == {"NAME": {0b111: 1}, "LOCATION": {0b010: 1}, "DATE": {0b001: 1}}
    assert found.of().total() == 3


def test_two_detectors_are_estimated_after_chapman():
    found = Captures(("a", "b"), {"NAME": {0b11: 40, 0b01: 10, 0b10: 20}})
    made = estimate_missed(found)

    assert (made.method, made.marked) == ("Chapman", 70)
    assert made.value == pytest.approx(51 * 61 / 41 - 1 - 70)
    assert made.low < made.value < made.high
    assert made.recall == pytest.approx(70 / (70 + made.value))


def test_more_detectors_are_estimated_after_chao():
    # 30 by one alone, 20 by two, 50 by all three: 2/3 · 30·29 / (2·21).
    made = estimate_missed(
        Captures(("a", "b", "c"), {"NAME": {0b001: 10, 0b010: 20, 0b011: 20, 0b111: 50}})
    )
    value = 2 / 3 * 30 * 29 / 42
    variance = value + (2 / 3) ** 2 * (30 * 59**2 / (4 * 21**2) + 30**2 * 20 * 29**2 / (4 * 21**4))
    factor = exp(1.96 * sqrt(log(1 + variance / value**2)))

    assert (made.method, made.marked) == ("Chao", 100)
    assert made.value == pytest.approx(value)
    assert (made.low, made.high) == (pytest.approx(value / factor), pytest.approx(value * factor))


@pytest.mark.parametrize(
    ("histories", "detectors"),
    [
        ({0b01: 5, 0b10: 5}, 2),  # nothing shared
        ({0b11: 5, 0b01: 5}, 2),  # the second has nothing of its own
        ({0b001: 5, 0b010: 5, 0b100: 5}, 3),
        ({0b111: 9, 0b011: 3}, 3),  # nothing found by one alone bounds nothing from above
        ({0b011: 1, 0b001: 1}, 3),
        ({0b111: 90, 0b110: 30, 0b010: 1}, 3),
        ({0b1111: 900}, 4),
        ({0b0011: 4, 0b1000: 1}, 4),
        ({}, 3),
    ],
)
def test_counts_that_say_nothing_give_no_estimate(histories, detectors):
    assert estimate_missed(Captures(tuple("abc"[:detectors]), {"NAME": histories})) is None


def test_an_estimate_has_an_upper_end_above_it():
    for once in range(2, 40):
        made = estimate_missed(Captures(("a", "b", "c"), {"NAME": {0b001: once, 0b011: 500}}))
        assert 0 < made.low < made.value < made.high
        assert made.recall < 1


@pytest.mark.parametrize("detectors", [2, 3, 4])
def test_independent_detectors_are_estimated_near_the_truth(detectors):
    generator = random.Random(7)
    histories = {}
    for _ in range(4_000):
        who = sum(1 << at for at in range(detectors) if generator.random() < 0.6)
        histories[who] = histories.get(who, 0) + 1
    missed = histories.pop(0)
    made = estimate_missed(Captures(tuple("abcd"[:detectors]), {"NAME": histories}))

    assert made.low < missed < made.high


def test_a_label_is_estimated_by_itself_and_notes_add_up():
    one = Captures(("a", "b"), {"NAME": {3: 4, 1: 2, 2: 1}})
    other = Captures(("a", "b"), {"DATE": {3: 4, 1: 2, 2: 1}})

    assert estimate_missed(one + other, label="NAME") == estimate_missed(one)
    assert (one + other).of() == {3: 8, 1: 4, 2: 2}
    assert overlap_matrix(one + other) == [[12, 8], [8, 10]]


def test_unlike_sides_are_refused():
    with pytest.raises(ConfigError, match="at least two detectors"):
        captures(spans(TEXT), profile=HARMONISED)
    with pytest.raises(DigestError, match="spans of the same text"):
        captures({"a": SpanSet("n", "0" * 64), "b": SpanSet("n", "1" * 64)}, profile=HARMONISED)
    with pytest.raises(InputError, match="do not add up"):
        Captures(("a", "b")) + Captures(("a", "c"))


RANGES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 12), st.integers(0, 3)).map(
        lambda one: (one[0], one[0] + one[1], one[2], "NAME")
    ),
    max_size=12,
)


def test_spans_that_touch_are_two_identifiers():
    assert clusters([(0, 3, 0, "NAME"), (3, 5, 1, "NAME")]) == [
        [(0, 3, 0, "NAME")],
        [(3, 5, 1, "NAME")],
    ]


@given(RANGES)
def test_clusters_part_spans_that_nothing_joins(ranges):
    found = clusters(ranges)

    assert sorted(span for cluster in found for span in cluster) == sorted(ranges)
    ends = [(cluster[0][0], max(end for _, end, _, _ in cluster)) for cluster in found]
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))


@given(RANGES)
def test_every_character_marked_is_in_one_identifier(ranges):
    note = Note("n", "x" * 60)
    predictions = {
        name: SpanSet.of(
            note, [Span(start, end, Phi.NAME) for start, end, at, _ in ranges if at == place]
        )
        for place, name in enumerate("abcd")
    }

    assert captures(predictions, profile=HARMONISED).of().total() == len(clusters(set(ranges)))
