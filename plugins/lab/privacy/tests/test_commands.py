"""The trends say pass, fail or undecided, never nothing."""

from __future__ import annotations

import json

import pytest
from privacy_shell import main

from deid_assets.core.errors import InputError
from deid_privacy import trends_run
from deid_privacy.costing import AttackCost
from deid_privacy.overlap import grams, recall
from deid_privacy.trends import CLAIMS, RUNS
from deid_privacy.utility import synthesis, trends


def test_recall_is_none_of_nothing_shared_and_all_of_a_copy():
    assert recall([[1, 2, 3, 4]], [[5, 6, 7, 8]], 3) == 0.0
    assert recall([[1, 2, 3, 4]], [[0, 1, 2, 3, 4]], 3) == 1.0
    assert recall([[1, 2, 3, 4]], [[1, 2, 3]], 3) == 0.5
    assert grams([[1, 2], [3, 4]], 2) == {(1, 2), (3, 4)}
    # Of 1 2, 2 3, 3 4 the first two hold the marked token, of which the text made has one.
    assert recall([[1, 2, 3, 4]], [[2, 3], [3, 4]], 2, marked=[[False, True, False, False]]) == 0.5
    with pytest.raises(InputError, match="shorter n-gram"):
        recall([[1, 2]], [[1, 2]], 3)


def test_every_trend_has_a_claim_and_is_run_or_says_why_not(capsys):
    assert list(CLAIMS) == [f"T{number}" for number in range(1, 16)]
    known = [*RUNS, *trends.RUNS, *synthesis.RUNS]
    assert sorted(known) == sorted(CLAIMS)
    assert main(["trends", "T99"]) == 2
    assert "unknown trend 'T99'" in capsys.readouterr().err


def test_a_trend_that_was_judged_is_not_run_again_and_one_of_other_sizes_is(tmp_path, capsys):
    for place in ("seed-1-steps-7", "seed-1"):
        (tmp_path / place).mkdir()
        for name in ("control", "T15", "T1"):
            known = {"verdict": "fail", "numbers": f"of {place}"}
            (tmp_path / place / f"{name}.json").write_text(json.dumps(known), encoding="utf-8")
    assert main(["trends", "T15", "T1", "--folder", str(tmp_path), "--steps", "7"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in said] == [
        ["control", "fail"],
        ["T1", "fail"],
        ["T15", "fail"],
    ]
    assert "of seed-1-steps-7" in said[1]
    made = list(trends_run.trends(["T15"], tmp_path, sizes=trends_run.Sizes(), seed=1))
    assert made[1][1].numbers == "of seed-1"


def test_the_cost_of_an_audit_is_extrapolated_from_a_share(
    tmp_path, capsys, causal_folder, other_folder
):
    assert (
        main(
            [
                "plant",
                "--out",
                str(tmp_path / "p"),
                "--notes",
                "30",
                "--people",
                "2",
                "--canaries",
                "1",
                "--repeat",
                "1",
            ]
        )
        == 0
    )
    argv = [
        "cost",
        str(causal_folder),
        str(tmp_path / "p" / "training.jsonl"),
        "--share",
        "10",
        "--of",
        "10000",
    ]
    assert main([*argv, "--reference", str(other_folder)]) == 0
    said = capsys.readouterr().out.splitlines()[1:]
    assert "10,000 notes" in said[0]
    found = {line.split()[0]: float(line.split()[1]) for line in said[1:]}
    assert len(found) == 10
    assert found["loss"] == 1
    assert found["neighbourhood"] == 11  # ten neighbours and itself
    assert AttackCost("loss", 10, 10, 5.0).hours(7_200, cores=2) == pytest.approx(0.5)
