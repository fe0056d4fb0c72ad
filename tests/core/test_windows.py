import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import Phi, Span
from deid_assets.core.windows import stitch, windows

WORD = re.compile(r"[A-Z]{1,5}")


def find(text):
    return [Span(*match.span(), Phi.NAME) for match in WORD.finditer(text)]


@given(st.integers(0, 500), st.integers(2, 60), st.data())
def test_owned_parts_tile_the_note(length, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    found = windows(length, size=size, overlap=overlap)

    assert found[0].own_start == 0
    assert found[-1].own_end == length
    assert all(left.own_end == right.own_start for left, right in pairwise(found))
    assert all(w.start <= w.own_start <= w.own_end <= w.end <= max(length, 0) for w in found)
    assert all(w.end - w.start <= size for w in found)


@given(st.text(alphabet="AB .", max_size=300), st.integers(14, 40))
def test_stitched_windows_equal_the_unwindowed_result(text, size):
    # Runs of capitals are cut to five, so a word is read the same only if it starts at a boundary both see.
    text = re.sub(r"([A-Z]{5})", r"\1 ", text)
    found = [(w, find(text[w.start : w.end])) for w in windows(len(text), size=size, overlap=12)]

    assert stitch(found) == find(text)


def test_a_span_cut_by_a_window_is_whole_again():
    text = "......... JOHNS ........."
    found = [(w, find(text[w.start : w.end])) for w in windows(len(text), size=14, overlap=6)]

    assert stitch(found) == find(text)


def test_different_labels_on_one_place_both_survive():
    window = windows(10, size=10, overlap=0)[0]
    spans = [Span(1, 4, Phi.NAME), Span(2, 6, Phi.DATE)]

    assert stitch([(window, spans)]) == spans


@pytest.mark.parametrize(("size", "overlap"), [(5, 5), (5, -1), (0, 0)])
def test_windows_that_never_advance_are_refused(size, overlap):
    with pytest.raises(ValueError, match="overlap"):
        windows(10, size=size, overlap=overlap)
