"""Krippendorff's alpha: his published examples, his reference package, and properties."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_annotation.alpha import nominal_alpha, unitizing_alpha
from deid_assets.core.errors import InputError, OffsetError, OverlapError

# Krippendorff (2011), section C: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
# Krippendorff (2004), Content Analysis, page 254: two observers, a text of 300 units of length, two
# categories.
FIRST = {"c": [(75, 145), (220, 250)], "k": [(30, 90), (150, 200)]}
SECOND = {"c": [(70, 150), (205, 225), (250, 270)], "k": [(30, 90), (150, 200)]}


def test_the_published_alpha_of_labels():
    found = nominal_alpha(zip(*OBSERVERS, strict=True))

    assert round(found.alpha, 3) == 0.743
    assert found.units == 11  # the last has one label


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([None, 1, 2, 3]), min_size=3, max_size=3), min_size=2, max_size=10
    )
)
def test_it_agrees_with_the_reference_package(units):
    krippendorff = pytest.importorskip("krippendorff")
    shared = [unit for unit in units if sum(label is not None for label in unit) > 1]
    if len({label for unit in shared for label in unit if label}) < 2:
        return
    table = [[float("nan") if unit[at] is None else unit[at] for unit in units] for at in range(3)]

    assert nominal_alpha(units).alpha == pytest.approx(
        krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")
    )


def test_observed_agreement_by_hand():
    found = nominal_alpha([("a", "a"), ("a", "b"), ("b", "b"), ("a", None)])

    assert (found.observed, found.units) == (pytest.approx(2 / 3), 3)


def test_one_label_alone_has_no_alpha_and_no_pairs_are_refused():
    assert nominal_alpha([("a", "a")] * 3).alpha is None
    with pytest.raises(InputError, match="two annotators"):
        nominal_alpha([("a", None), (None, "b")])


def test_the_published_alpha_of_spans():
    found = unitizing_alpha([FIRST, SECOND], length=300)

    assert round(found.by_label["c"], 4) == 0.7286
    assert found.by_label["k"] == 1
    assert found.alpha == pytest.approx(0.8591, abs=5e-4)


RANGES = st.lists(st.integers(0, 59), max_size=8, unique=True).map(
    lambda cuts: [(a, b) for a, b in zip(sorted(cuts)[::2], sorted(cuts)[1::2], strict=False)]
)
ANNOTATORS = st.lists(
    st.fixed_dictionaries({"NAME": RANGES, "DATE": RANGES}), min_size=2, max_size=4
)


def by_definition(left, right, length):
    """Squared distances of all pairs of sections, each looked at."""

    def sections(ranges):
        cuts = sorted({0, length, *(cut for pair in ranges for cut in pair)})
        return [(a, b, (a, b) in set(ranges)) for a, b in pairwise(cuts)]

    total = 0
    for a, b, is_unit in sections(left):
        for c, d, other in sections(right):
            if a < d and c < b:
                if is_unit and other:
                    total += (a - c) ** 2 + (b - d) ** 2
                elif is_unit and c <= a and b <= d:
                    total += (b - a) ** 2
                elif other and a <= c and d <= b:
                    total += (d - c) ** 2
    return total


@settings(max_examples=80, deadline=None)
@given(RANGES, RANGES)
def test_distances_are_those_of_the_definition(left, right):
    from deid_annotation.alpha import _distance, _sections

    assert _distance(_sections(left, 60), _sections(right, 60)) == by_definition(left, right, 60)


@settings(max_examples=60, deadline=None)
@given(ANNOTATORS)
def test_order_changes_nothing_and_oneself_agrees(annotators):
    assert unitizing_alpha(annotators[::-1], length=60).alpha == pytest.approx(
        unitizing_alpha(annotators, length=60).alpha
    )
    alone = unitizing_alpha([annotators[0], annotators[0]], length=60).alpha
    assert alone == (1 if any(annotators[0].values()) else None)


def test_bad_annotations_are_refused():
    with pytest.raises(InputError, match="two annotators"):
        unitizing_alpha([FIRST], length=300)
    with pytest.raises(OverlapError):
        unitizing_alpha([FIRST, {"c": [(0, 5), (4, 9)]}], length=300)
    with pytest.raises(OffsetError, match="ends at 250, the text has 200"):
        unitizing_alpha([FIRST, SECOND], length=200)
