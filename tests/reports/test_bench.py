"""The tables and the page of a bake-off: fair, complete, escaped, and without text."""

import re

import pytest

from deid_assets.core.errors import InputError
from deid_assets.core.phi import HARMONISED
from deid_assets.evaluation.counts import Counts
from deid_assets.evaluation.marginal import Coverage
from deid_assets.evaluation.numbers import estimate
from deid_assets.reports.marginal import best_subset_text
from deid_assets.reports.tables import write_titled_md
from deid_evaluation.agreement import Agreement
from deid_evaluation.bench_entries import Bakeoff, BenchEntry, Expense, Missing
from deid_evaluation.pages.bench import bench_html
from deid_evaluation.pages.bench_tables import rate, side_by_side, tabulate_added

SPENT = Expense(
    notes=100, notes_per_s=250.0, chars_per_s=500_000.0, start_s=1.25, peak_bytes=96 * 2**20
)


@pytest.fixture
def found(good, weak):
    """Two detectors against gold, and one that did not run."""
    return Bakeoff(
        HARMONISED,
        [
            BenchEntry(
                "rules",
                "1.0",
                blind=("SEX",),
                expense=SPENT,
                evaluation=weak,
                within=estimate(3, 4),
                within_share=0.8,
            ),
            BenchEntry("crf", "2.0", failed=3, expense=SPENT, evaluation=good),
            BenchEntry("gone", fault="unknown detector 'gone'; installed: rules, crf"),
        ],
        notes=100,
        gold="100 annotated notes",
        coverage=Coverage(
            ("rules", "crf"), {1: 40, 2: 60}, {1: 5}, {frozenset({1}): 4, frozenset({3}): 6}
        ),
    )


def test_one_table_holds_scores_costs_and_limits(found):
    headings, rows = side_by_side(found)

    assert all(len(row) == len(headings) for row in rows)
    rules, crf, gone = (dict(zip(headings, row, strict=True)) for row in rows)
    assert rules["Within reach"] == "0.750 of 80.0%"
    assert (rules["Notes/s"], rules["kChars/s"], rules["Start s"], rules["MiB"]) == (
        "250",
        "500",
        "1.2",
        "96",
    )
    assert (rules["Cannot find by design"], crf["Cannot find by design"]) == ("SEX", "-")
    assert crf["Failed"] == "3"
    assert gone["Cannot find by design"] == "unknown detector 'gone'; installed: rules, crf"


def test_without_gold_there_are_no_score_columns():
    headings, rows = side_by_side(
        Bakeoff(HARMONISED, [BenchEntry("rules", expense=SPENT)], notes=5)
    )

    assert "Covered [95 %]" not in headings
    assert len(rows[0]) == len(headings)


def test_the_marginal_table_says_what_is_gained_lost_and_spent(found):
    _, rows = tabulate_added(found)

    assert rows == [
        ["rules", "+0.400", "+0.400", "+0.048", "1.000", "4.0"],
        ["crf", "+0.000", "+0.600", "-0.063", "0.600", "4.0"],
    ]
    assert best_subset_text(found.coverage).startswith("Best subset: rules, which covers 1.000")


def test_one_detector_alone_adds_nothing_to_others(found):
    alone = Bakeoff(
        HARMONISED,
        found.entries[:1],
        notes=1,
        coverage=Coverage(("rules",), {1: 4}, {}, {frozenset({1}): 1}),
    )

    assert tabulate_added(alone)[1] == []
    assert best_subset_text(alone.coverage) == ""


@pytest.mark.parametrize(("per_s", "text"), [(1_234.5, "1,234"), (99.94, "99.9"), (0.04, "0.0")])
def test_rates_show_what_they_can_bear(per_s, text):
    assert rate(per_s) == text


def test_every_value_is_escaped(probe, weak):
    hostile = Bakeoff(
        HARMONISED,
        [
            BenchEntry(probe, probe, blind=(probe,), evaluation=weak),
            BenchEntry(f"{probe}2", fault=probe),
        ],
        notes=1,
        gold=probe,
        pairs={(probe, probe): Agreement(Counts(1, 1, 1), Counts(1, 1, 1), Counts(1, 1, 1), 9)},
        missing=[Missing(probe, 1, 2.0, 1.0, 3.0, probe)],
        assumptions=[probe],
    )

    page = bench_html(hostile, title=probe, provenance={probe: probe})

    assert "<script" not in page
    assert "<img" not in page
    table = write_titled_md(side_by_side(hostile))
    assert "<" not in table
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()} == {12}


def test_the_page_leads_with_what_did_not_run(found):
    page = bench_html(found, title="bake-off", provenance={})

    assert page.index("gone did not run") < page.index("On annotated notes")
    assert "†" in page


def test_a_page_of_nothing_is_refused():
    with pytest.raises(InputError, match="no detector"):
        bench_html(Bakeoff(HARMONISED, [], notes=0), title="empty", provenance={})
