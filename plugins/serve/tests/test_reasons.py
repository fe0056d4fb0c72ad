"""What overlaps what, and a note with very many spans."""

import time

from hypothesis import given
from hypothesis import strategies as st

from deid_assets import DisjointSpans, Note, Phi, Span, SpanSet
from deid_assets.extending.serving import Batch
from deid_serve.reasons import list_left_out, outside, overlapping, spans_of

RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=12)


def spans(pairs):
    return [Span(start, start + size, Phi.NAME) for start, size in pairs]


@given(RANGES, RANGES)
def test_what_overlaps_is_what_shares_a_character(first, second):
    disjoint, end = [], 0
    for one in sorted(spans(first)):
        if one.start >= end:
            disjoint.append(one)
            end = one.end
    others = spans(second)

    found = overlapping(disjoint, others)

    assert found == [[one for one in others if one.overlaps(span)] for span in disjoint]
    assert outside(disjoint, others) == [
        one for one in others if not any(one.overlaps(span) for span in disjoint)
    ]


def test_the_reasons_of_very_many_spans_take_a_moment():
    count = 20_000
    note = Note("n", "Lee " * count, lang="en")
    marked = [Span(4 * at, 4 * at + 3, Phi.NAME, 0.9, "talker") for at in range(count)]
    found = SpanSet.of(note, marked)
    batch = Batch(
        [note],
        spans={"n": DisjointSpans.of(note, marked)},
        predictions={"talker": {"n": found}},
    )
    began = time.process_time()

    given_out = spans_of(batch, "n", explain=True)

    assert time.process_time() - began < 5
    assert len(given_out) == count
    assert list_left_out(batch, "n") == []
    assert given_out[7].why.decision == "talker alone marked it"


def test_what_the_overlap_policy_drops_is_told():
    note = Note("n", "Lee and Ann", lang="en")
    one, other = Span(0, 3, Phi.NAME, 0.9, "a"), Span(8, 11, Phi.NAME, 0.4, "b")
    batch = Batch(
        [note],
        spans={"n": DisjointSpans.of(note, [one])},
        predictions={"a": {"n": SpanSet.of(note, [one])}, "b": {"n": SpanSet.of(note, [other])}},
    )

    (dropped,) = list_left_out(batch, "n")

    assert (dropped.detector, dropped.start) == ("b", 8)
