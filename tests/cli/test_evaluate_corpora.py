"""Reports on public development sets: figures of different sections say the same."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid_assets.cli import app
from deid_assets.plugins import available

SETS = {
    "asq-phi": ("asq_phi", "harmonised"),
    "grascco-phi": ("grascco", "i2b2"),
    "meddocan": ("meddocan", "meddocan"),
    "eds-pseudo-templates": ("eds_pseudo", "harmonised"),
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("DEID_CORPORA" not in os.environ, reason="DEID_CORPORA is not set"),
    pytest.mark.skipif("rules" not in available(), reason="the rules detector is not installed"),
]


def deid(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.parametrize("corpus", SETS)
def test_sections_of_a_report_agree_and_no_value_of_the_gold_is_in_it(corpus, tmp_path):
    labels, profile = SETS[corpus]
    gold = Path(os.environ["DEID_CORPORA"]) / "annotated" / corpus / "dev.jsonl"
    spans, out = tmp_path / "spans.jsonl", tmp_path / "report"
    deid(
        "detect",
        gold,
        "--detector",
        "rules",
        "--option",
        f"rules.profile={profile}",
        "--out",
        spans,
    )
    deid(
        "evaluate",
        "--gold",
        gold,
        "--labels",
        labels,
        "--profile",
        profile,
        "--pred",
        f"{spans}=rules",
        "--out",
        out,
    )
    stored = (out / "report.json").read_text()
    report = json.loads(stored)
    found = report["results"]["rules"]
    strict = found["counts"]["labels"]
    kinds = found["errors"]["kinds"]
    missed = sum(cells["strict"]["fn"] for cells in strict.values())
    covered = sum(cells["covered"]["tp"] for cells in strict.values())

    assert covered == found["covered"]["hits"]
    assert (
        sum(row["left"] for row in found["left_by_label"]) == found["covered"]["trials"] - covered
    )
    assert sum(cell["left"] for cell in kinds.values()) == found["covered"]["trials"] - covered
    assert kinds["missed"]["errors"] <= missed <= sum(cell["errors"] for cell in kinds.values())
    assert sum(map(sum, found["confusion"]["matrix"][:-1])) == found["covered"]["trials"]
    assert found["notes"]["covered"]["hits"] == found["counts"]["notes"]["covered"]
    page = (out / "report.html").read_text()
    records = [json.loads(line) for line in gold.read_text(encoding="utf-8").splitlines()]
    values = {
        record["text"][span["start"] : span["end"]]
        for record in records
        for span in record["spans"]
    }
    long = [value for value in values if len(value) > 11 and not value.isdigit()]
    assert long
    assert [value for value in long if value in stored or value in page] == []
