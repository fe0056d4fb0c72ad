"""The four schemes of SemEval-2013.

Cases by hand, the best pairing by trying all, and an independent scorer.
"""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.phi import Phi, Profile
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.boundaries import boundary_counts
from deid_assets.evaluation.comparison import COLUMNS, Boundary
from deid_assets.evaluation.counts import Counts, Scheme
from deid_assets.evaluation.score import evaluate_by_note

RANGES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 4)).map(lambda at: (at[0], sum(at))), max_size=5
)


@pytest.mark.parametrize(
    ("gold", "pred", "exact", "partial"),
    [
        pytest.param([], [], (0, 0, 0), (0, 0, 0), id="nothing"),
        pytest.param([(0, 5)], [(0, 5)], (1, 0, 0), (2, 0, 0), id="equal"),
        pytest.param([(0, 5)], [(0, 4)], (0, 1, 1), (1, 1, 1), id="overlap is half"),
        pytest.param([(0, 5)], [(5, 9)], (0, 1, 1), (0, 2, 2), id="touching is nothing"),
        pytest.param([(0, 5)], [(0, 2), (3, 5)], (0, 2, 1), (1, 3, 1), id="one gold pairs once"),
        pytest.param(
            [(0, 5), (4, 9)], [(4, 9), (0, 9)], (1, 1, 1), (3, 1, 1), id="equal first, then overlap"
        ),
        pytest.param(
            [(0, 5), (0, 5)], [(0, 5)], (1, 0, 1), (2, 0, 2), id="two labels on one range are two"
        ),
    ],
)
def test_counts_by_hand(gold, pred, exact, partial):
    assert boundary_counts(gold, pred) == (*exact, *partial)


@given(RANGES, RANGES)
def test_no_pairing_scores_more(gold, pred):
    few, many = sorted((gold, pred), key=len)

    def worth(left, right):
        return 2 if left == right else int(left[0] < right[1] and right[0] < left[1])

    best = max(sum(map(worth, few, chosen)) for chosen in permutations(many, len(few)))

    assert boundary_counts(gold, pred)[3] == best


FINE = Profile(
    "fine", {category: category.value for category in (Phi.NAME, Phi.DATE, Phi.CITY)}, "tests"
)
# At most one span in ten characters on each side: the scorer compared with takes the first overlap
# it meets.
SPARSE = st.lists(
    st.none()
    | st.tuples(st.integers(0, 4), st.integers(1, 5), st.sampled_from(["NAME", "DATE", "CITY"])),
    max_size=6,
)


def spans_of(cells):
    return [
        (10 * at + cell[0], 10 * at + sum(cell[:2]), cell[2])
        for at, cell in enumerate(cells)
        if cell
    ]


@given(SPARSE, SPARSE)
def test_an_independent_scorer_counts_the_same(gold, pred):
    nervaluate = pytest.importorskip(
        "nervaluate", reason="pip install nervaluate to compare with it"
    )
    golds, preds = spans_of(gold), spans_of(pred)
    theirs = nervaluate.Evaluator(
        *(
            [[{"start": s, "end": e - 1, "label": label} for s, e, label in side]]
            for side in (golds, preds)
        ),
        tags=["NAME", "DATE", "CITY"],
    ).evaluate()[0]
    sets = (
        SpanSet("n", "d", tuple(Span(s, e, Phi(label)) for s, e, label in side))
        for side in (golds, preds)
    )
    _, rows = evaluate_by_note([tuple(sets)], profile=FINE, lengths={"n": 100})

    names = {
        "strict": Scheme.STRICT,
        "exact": Boundary.EXACT,
        "partial": Boundary.PARTIAL,
        "ent_type": Scheme.RELAXED,
    }
    for name, column in names.items():
        at = 3 * COLUMNS.index(column)
        ours = Counts(*rows["n"][at : at + 3])
        found = [ours.precision or 0, ours.recall or 0, ours.f1 or 0]
        assert found == pytest.approx(
            [theirs[name][ratio] for ratio in ("precision", "recall", "f1")]
        ), name
