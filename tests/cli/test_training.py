"""``deid train``, ``deid recipes`` and ``deid export``: what they print and refuse."""

import json

import pytest
from typer.testing import CliRunner

from deid_assets import plugins
from deid_assets.cli import app

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        "crf" not in plugins.available(plugins.TRAINERS), reason="the plugin crf is not installed"
    ),
]
FAST = (
    "--set",
    'settings.predictions_of=""',
    "--set",
    "settings.max_iterations=25",
    "--set",
    "settings.min_score=0.0",
)


@pytest.fixture
def deid():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, [str(argument) for argument in arguments])


def test_recipes_are_listed(deid):
    listed = {row["name"]: row for row in json.loads(deid("recipes", "--json").stdout)}
    assert listed["crf"]["plugin"] == "crf"
    assert listed["crf"]["installed"] == "yes"


def test_a_model_is_trained_once_and_scored_on_test_notes(deid, tmp_path):
    call = (
        "train",
        "crf",
        "--train",
        "synthetic:en:16",
        "--test",
        "synthetic:en:6:3",
        "--out",
        tmp_path / "m",
        *FAST,
    )
    first = deid(*call, "--json")
    assert first.exit_code == 0, first.stderr
    card = json.loads(first.stdout)
    assert card["test"]["labels"]["ALL"]["f1"] > 0.2
    assert [one["name"] for one in card["corpora"]] == [
        "synthetic:en:16",
        "synthetic:en:6:3",
        "dev",
    ]

    again = deid(*call)
    assert again.exit_code == 0
    assert "is up to date" in again.stderr


def test_recipes_are_compared_in_one_table(deid, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(
        'name = "other"\nplugin = "crf"\nscheme = "bioes"\n[settings]\npredictions_of ='
        ' ""\nmax_iterations = 10\n'
    )
    call = (
        "--train",
        "synthetic:en:24",
        "--test",
        "synthetic:en:6:3",
        "--out",
        tmp_path / "table",
        *FAST,
        "--json",
    )
    done = deid("train", "crf", other, *call)
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["recipe"] for row in rows] == ["crf", "other"]
    assert all(0 < row["mean"] <= 1 and row["deviation"] is None for row in rows)
    assert list(rows[0]["six"])[:3] == ["entity sub_category", "entity category", "entity binary"]


def test_folds_give_a_mean_and_a_deviation(deid, tmp_path):
    done = deid(
        "train",
        "crf",
        "--train",
        "synthetic:en:24",
        "--folds",
        "2",
        "--out",
        tmp_path / "f",
        *FAST,
        "--json",
    )
    assert done.exit_code == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert len(row["f1"]) == 2
    assert row["deviation"] is not None
    assert [
        one["f1"] for one in json.loads((tmp_path / "f" / "runs.json").read_text())["rows"]
    ] == [row["f1"]]


FAULTS = {
    "an unknown recipe": (("train", "xnone"), "there is no recipe 'xnone'"),
    "no such corpus": (
        ("train", "crf", "--train", "absent.jsonl"),
        "corpus absent.jsonl: no such file",
    ),
    "a change without a value": (("train", "crf", "--set", "seed"), "must read KEY=VALUE"),
    "an unknown key": (("train", "crf", "--set", "colour=1"), "colour"),
    "an unknown setting": (
        ("train", "crf", "--train", "synthetic:en:4", "--set", "settings.colour=1"),
        "unknown colour",
    ),
    "one fold": (("train", "crf", "--train", "synthetic:en:4", "--folds", "1"), "give 2 or more"),
    "the training notes as test notes": (
        ("train", "crf", "--train", "synthetic:en:4", "--test", "synthetic:en:4"),
        "among the test notes and among the training notes",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line(deid, fault, tmp_path):
    arguments, message = FAULTS[fault]
    done = deid(*arguments, "--out", tmp_path / "m")
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "m").exists()


def test_what_is_no_network_cannot_be_exported(deid, tmp_path):
    assert (
        deid("train", "crf", "--train", "synthetic:en:8", "--out", tmp_path / "m", *FAST).exit_code
        == 0
    )
    done = deid("export", tmp_path / "m", "--notes", "synthetic:en:2:5")
    assert done.exit_code == 2
    assert "its models are no networks" in done.stderr
