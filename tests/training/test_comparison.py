"""Tables of recipes.

Every figure of a row is of the same runs or folds, and differences say how sure they are.
"""

from statistics import fmean, stdev

import pytest

from deid_assets.training import Materials, Recipe, train_model
from deid_assets.training.comparison import (
    ComparisonRow,
    compare_recipes,
    cross_validate,
    differences,
)

pytestmark = pytest.mark.usefixtures("xwords")
NAMES = ("Lee", "Ray", "Bo", "Al", "Ito", "Cruz", "Berg", "Dahl")


def recipe(name="mine", **changes):
    return Recipe.model_validate({"name": name, "plugin": "xwords", **changes})


def test_all_figures_of_a_row_are_means_over_the_same_runs(notes, tmp_path):
    materials = Materials(corpora=[notes(*NAMES)], test=notes("Lee", "Falk", corpus="test"))
    (row,) = compare_recipes(
        [recipe(runs=3)], {"mine": materials}, tmp_path, progress=lambda *_: None
    )

    (card,) = row.cards
    assert [run.six is not None for run in card.runs] == [True] * 3
    assert list(row.f1) == [run.test_f1 for run in card.runs]
    assert row.six_f1()["entity sub_category"][0] == pytest.approx(
        fmean(run.six["entity sub_category"] for run in card.runs)
    )
    assert row.to_json()["six_deviation"]["entity sub_category"] == pytest.approx(
        stdev(run.six["entity sub_category"] for run in card.runs)
    )
    assert row.over == "runs"


def test_runs_that_differ_have_the_mean_and_deviation_of_each_score():
    names = ("entity sub_category", "token binary")
    each = [
        dict(zip(names, values, strict=True)) for values in ((0.5, 0.9), (0.7, 0.8), (0.9, None))
    ]
    found = ComparisonRow("mine", [], (0.5, 0.7, 0.9), each).six_f1()

    assert found["entity sub_category"] == (pytest.approx(0.7), pytest.approx(0.2))
    assert found["token binary"] == (None, None)


def test_folds_have_a_figure_each(notes, tmp_path):
    materials = Materials(corpora=[notes(*NAMES)])
    row = cross_validate(recipe(), materials, tmp_path, count=2, progress=lambda *_: None)

    assert (row.over, len(row.f1), len(row.six)) == ("folds", 2, 2)
    assert row.to_json()["each"][1] == row.cards[1].runs[0].six


def test_a_difference_has_the_deviation_of_both_and_a_corrected_p():
    first, better, noise = (
        ComparisonRow("first", [], (0.50, 0.52, 0.54, 0.56, 0.58), []),
        ComparisonRow("better", [], (0.70, 0.72, 0.74, 0.76, 0.78), []),
        ComparisonRow("noise", [], (0.51, 0.53, 0.55, 0.57, 0.49), []),
    )
    found = {
        one.recipe: one
        for one in differences([first, better, noise, ComparisonRow("once", [], (0.9,), [])])
    }

    assert set(found) == {"better", "noise"}
    assert found["better"].mean == pytest.approx(0.2)
    assert found["better"].deviation == pytest.approx((2 * stdev(first.f1) ** 2) ** 0.5)
    assert (found["better"].u, found["better"].effect) == (25, 1.0)
    assert found["better"].p == pytest.approx(2 / 252)
    assert found["better"].p_corrected == pytest.approx(4 / 252)
    assert found["noise"].p_corrected > 0.2


def test_a_card_of_an_older_version_has_no_six_scores_and_is_no_fault(notes, tmp_path):
    card = train_model(recipe(), Materials(corpora=[notes("Lee", "Ray")]), tmp_path / "m")

    assert [run.six for run in card.runs] == [None]
