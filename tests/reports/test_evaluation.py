from dataclasses import replace

import pytest

from deid_assets.core.comparison import Comparison, Difference, Interval, Ratio
from deid_assets.core.errors import InputError
from deid_assets.core.phi import HARMONISED, I2B2_2014
from deid_assets.core.score import Evaluation, Scheme
from deid_assets.reports import evaluation_html


def html(evaluations, **options):
    values = {"title": "asq-phi dev", "profile": HARMONISED, "provenance": {"gold digest": "c" * 64}, **options}
    return evaluation_html(evaluations, **values)


def test_one_detector_has_tiles_and_a_row_per_label(weak, page_of):
    page = page_of(html({"rules 0.4": weak}))
    # Per note of 22 characters, 3 are predicted outside gold.

    assert page.tiles == {
        "Identifiers hidden": ["0.333", "[0.192, 0.512] 10 of 30"],
        "Notes fully covered": ["0.000", "[0.000, 0.278] 0 of 10"],
        "Strict F1": ["0.000", "precision 0.000 recall 0.000"],
        "Characters hidden needlessly": ["30", "1,363.6 per 10,000 characters"],
    }
    assert page.table("rules 0.4 by label") == [
        ["DATE", "10", "0.000 [0.000, 0.278]", "", *["0.000"] * 3, *["1.000"] * 3, "0.800"],
        ["LOCATION", "10", "0.000 [0.000, 0.278]", "", "n/a", "0.000", "0.000", "n/a", "0.000", "0.000", "0.000"],
        ["NAME", "10", "1.000 [0.722, 1.000]", "", *["0.000"] * 3, *["1.000"] * 3, "1.000"],
        ["ID", "0", "n/a", "", "0.000", "n/a", "0.000", "0.000", "n/a", "0.000", "n/a"],
        ["All (micro)", "30", "0.333 [0.192, 0.512]", "", *["0.000"] * 3, *["0.667"] * 3, "0.583"],
        ["Mean (macro)", "", "", "", "0.000", "0.000", "0.000", "0.667", "0.667", "0.500", ""],
    ]
    assert "Leaderboard" not in page.text


def test_several_detectors_are_ranked_by_what_they_hide(weak, good, page_of):
    page = page_of(html({"weak": weak, "good": good}))

    assert page.table("The detector that hides most") == [
        ["good", "1.000 [0.999, 1.000]", "", "1.000 [0.997, 1.000]", *["1.000"] * 3, "0.0"],
        ["weak", "0.333 [0.192, 0.512]", "", "0.000 [0.000, 0.278]", *["0.000"] * 3, "1,363.6"],
    ]
    assert page.headings[1:4] == ["Leaderboard", "good", "By label"]


def test_intervals_and_differences_to_the_first_are_shown(weak, good, page_of):
    hidden = (Scheme.HIDDEN, Ratio.RECALL)
    comparison = Comparison(
        unit="patient",
        units=1_204,
        resamples=1_000,
        seed=1,
        baseline="weak",
        intervals={"weak": {hidden: Interval(0.333, 0.25, 0.4123)}, "good": {hidden: Interval(1.0, 0.9996, 1.0)}},
        differences={"good": {hidden: Difference(0.667, -0.0312, 0.75, 0.000999)}},
    )
    page = page_of(html({"weak": weak, "good": good}, comparison=comparison))

    assert page.table("Ratios with their intervals: 95 % bootstrap over 1,204 patients.") == [
        ["weak", "0.333 [0.250, 0.412]", *["n/a"] * 5],
        ["good", "1.000 [0.999, 1.000]", *["n/a"] * 5],
    ]
    assert page.table("Differences, paired") == [["good", "+0.667 [-0.031, +0.750]", "0.001", "n/a", "n/a"]]


def test_a_comparison_of_other_detectors_is_refused(weak):
    other = Comparison("note", 1, 1_000, 1, "strong", {"strong": {}}, {})
    with pytest.raises(InputError, match="of other detectors"):
        html({"weak": weak}, comparison=other)


def test_what_is_out_of_scope_is_told_apart(weak, page_of):
    page = page_of(html({"rules": replace(weak, out_of_scope={"PROFESSION": 1_204, "SEX": 3})}))

    assert "does not annotate them: PROFESSION 1,204, SEX 3." in page.text


def test_gold_without_a_span_does_not_read_as_a_score(page_of):
    page = page_of(html({"rules": Evaluation("harmonised")}))

    assert "The gold holds no span under this profile" in page.text
    assert page.tiles["Identifiers hidden"] == ["n/a", "nothing to measure"]


def test_provenance_and_limits_are_shown(weak, page_of):
    page = page_of(html({"rules": weak}, limits=["Patterns only."], corpus="1,051 queries"))

    assert "c" * 64 in page.text
    assert "Patterns only." in page.text
    assert HARMONISED.source in page.text
    assert "Gold 1,051 queries" in page.text


def test_every_word_given_is_escaped(weak, probe, page_of):
    evaluation = replace(weak, cells={probe: weak.cells["NAME"]}, out_of_scope={probe: 1})

    page = page_of(html({probe: evaluation, probe + "2": weak}, title=probe, corpus=probe, limits=[probe]))

    assert page.tags.isdisjoint({"script", "img"})
    assert page.text.count(probe) >= 10


def test_a_report_needs_an_evaluation():
    with pytest.raises(InputError, match="has no evaluation"):
        html({})


def test_a_report_under_another_profile_is_refused(weak):
    with pytest.raises(InputError, match="rules: evaluated under profile 'harmonised', but the report is on 'i2b2'"):
        html({"rules": weak}, profile=I2B2_2014)
