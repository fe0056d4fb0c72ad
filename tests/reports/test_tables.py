from dataclasses import replace

import pytest

from deid_assets.core.phi import Phi
from deid_assets.evaluation.numbers import amount, axis_floor, estimate, ratio, show_value
from deid_assets.evaluation.score import Counts, Evaluation
from deid_assets.reports.tables import labels_md, leaderboard_md, scores_md


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "n/a"),
        (0.0, "0.000"),
        (1.0, "1.000"),
        (0.9999, "0.999"),
        (0.0001, "0.001"),
        (0.98149, "0.981"),
    ],
)
def test_a_ratio_never_rounds_to_all_or_nothing(value, text):
    assert ratio(value) == text


@pytest.mark.parametrize(
    ("number", "text"), [(1_234_567, "1,234,567"), (0, "0"), (1234.5, "1,234.500")]
)
def test_amounts_have_thousands_separators(number, text):
    assert amount(number) == text


def test_an_estimate_is_written_with_its_interval():
    assert show_value(estimate(872, 935)) == "0.933 [0.915, 0.947]"
    assert show_value(estimate(0, 0)) == "n/a"


def test_an_axis_starts_below_every_interval():
    assert axis_floor([estimate(95, 100), None, estimate(99, 100)]) == 0.8
    assert axis_floor([estimate(100_000, 100_000)]) == 0.9
    assert axis_floor([]) == 0.0


def test_the_leaderboard_puts_what_hides_most_first(weak, good):
    assert leaderboard_md(
        {"weak": weak, "none": Evaluation("harmonised"), "good": good}
    ).splitlines() == [
        (
            "| # | Detector | Annotated spans covered | Notes fully covered | Strict P | Strict R |"
            " Strict F1 |"
        ),
        "| :-- | :-- | --: | --: | --: | --: | --: |",
        "| 1 | good | 1.000 [0.999, 1.000] | 1.000 [0.997, 1.000] | 1.000 | 1.000 | 1.000 |",
        "| 2 | weak | 0.333 [0.192, 0.512] | 0.000 [0.000, 0.278] | 0.000 | 0.000 | 0.000 |",
        "| 3 | none | n/a | n/a | n/a | n/a | n/a |",
    ]


def test_scores_end_with_all_labels(good):
    assert scores_md(good).splitlines()[2:] == [
        "| DATE | 1,500 | 1.000 [0.997, 1.000] | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |",
        "| NAME | 1,500 | 1.000 [0.997, 1.000] | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |",
        "| **all** | 3,000 | 1.000 [0.999, 1.000] | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |",
    ]


def test_labels_are_listed_by_frequency():
    assert labels_md({"AGE": 3, "NAME": 1_197, "CITY": 3}).splitlines()[2:] == [
        "| NAME | ████████ | 1,197 | 0.995 |",
        "| AGE |  | 3 | 0.002 |",
        "| CITY |  | 3 | 0.002 |",
        "| **all** |  | 1,203 |  |",
    ]


def test_labels_are_short_enough_for_dagster_to_show_them_in_place():
    table = labels_md(dict.fromkeys(Phi, 1_234_567))

    assert len(table) < 1000
    assert f"| {len(Phi) - 18} more |" in table


def test_no_labels_give_a_table_and_no_division_by_zero():
    assert labels_md({}).splitlines()[2:] == ["| **all** |  | 0 |  |"]


def test_names_break_neither_the_table_nor_the_page(weak, probe):
    named = probe + "\n| evil |"
    tables = [
        leaderboard_md({named: weak}),
        labels_md({named: 3}),
        scores_md(
            replace(weak, cells={named: {scheme: Counts(1, 1, 1) for scheme in weak.cells["NAME"]}})
        ),
    ]

    for table in tables:
        assert "<" not in table
        cells = {row.replace("\\|", "").count("|") for row in table.splitlines()}
        assert len(cells) == 1
