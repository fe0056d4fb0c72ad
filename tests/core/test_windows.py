from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.windows import windows


@given(st.integers(0, 500), st.integers(2, 60), st.data())
def test_owned_parts_tile_the_note(length, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    found = windows(length, size=size, overlap=overlap)

    assert found[0].own_start == 0
    assert found[-1].own_end == length
    assert all(left.own_end == right.own_start for left, right in pairwise(found))
    assert all(w.start <= w.own_start <= w.own_end <= w.end <= max(length, 0) for w in found)
    assert all(w.end - w.start <= size for w in found)


@pytest.mark.parametrize(("size", "overlap"), [(5, 5), (5, -1), (0, 0)])
def test_windows_that_never_advance_are_refused(size, overlap):
    with pytest.raises(ValueError, match="overlap"):
        windows(10, size=size, overlap=overlap)
