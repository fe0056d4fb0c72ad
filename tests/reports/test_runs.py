"""Recipes over runs or folds in the report: read with care, and shown whole."""

import json

import pytest

from deid_assets.core.errors import InputError
from deid_assets.training.comparison import ComparisonRow, runs_json
from deid_evaluation.pages.report import report_html
from deid_evaluation.report.runs import read_runs

SIX = (
    "entity sub_category",
    "entity category",
    "entity binary",
    "token sub_category",
    "token category",
    "token binary",
)


def row(name, *f1):
    return ComparisonRow(name, (), f1, [dict.fromkeys(SIX, one) for one in f1], "folds")


@pytest.fixture
def runs(tmp_path):
    rows = [row("first", 0.5, 0.6, 0.7), row("<b>other", 0.8, 0.9, 0.85), row("alone", 0.4)]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(runs_json(rows)))
    return path


def test_folds_and_differences_are_on_the_page(runs, hostile):
    _, report = hostile
    page = report_html({**report, "runs": [read_runs(runs)]})

    assert '<a href="#runs">' in page
    assert "<b>other" not in page
    assert "&lt;b&gt;other" in page
    # By hand: 0.85 less 0.6; deviations 0.1 and 0.05, propagated 0.1118; every pair is better, p of
    # U = 9 is 2/20.
    assert (
        '+0.2500 <span class="iv">±0.1118</span></td><td class="n">9</td><td class="n">0.1000</td>'
        in page
    )
    assert page.count('<td class="n">0.9000</td>') == 7
    assert '<a href="#runs">' not in report_html(report)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other"}, "schema"),
        ({"version": 2}, "version"),
        ({"rows": []}, "rows"),
        ({"rows": [{"recipe": "x"}]}, r"rows\.0\."),
    ],
)
def test_what_is_no_such_document_is_one_line(runs, change, message):
    runs.write_text(json.dumps(json.loads(runs.read_text()) | change))
    with pytest.raises(InputError, match=message):
        read_runs(runs)


def test_what_is_no_json_is_one_line(runs, tmp_path):
    runs.write_bytes(b"\xff{")
    with pytest.raises(InputError, match=r"runs\.json"):
        read_runs(runs)
    with pytest.raises(InputError, match="cannot be read"):
        read_runs(tmp_path / "absent.json")
