"""The commands, as a shell calls them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from deid_review.commands import app


@pytest.fixture
def call(batch, settings):
    """A function that calls a command on the batch, and gives its code and what it said."""
    del settings

    def run(command, *arguments):
        found = CliRunner().invoke(app, [command, batch, *map(str, arguments)])
        return found.exit_code, found.output

    return run


def test_a_batch_is_reviewed_elsewhere_and_comes_back_by_commands_alone(call, tmp_path):
    code, said = call("queue", "--sample", 6, "--blind", 0, "--double", 0, "--json")
    assert (code, json.loads(said)["notes"]) == (0, 6)
    out = tmp_path / "queue.json"
    assert call("export", "--out", out, "--to", "label-studio", "--suggestions")[0] == 0
    tasks = json.loads(out.read_text())
    for task in tasks:
        task["annotations"] = task.pop("predictions")
    out.write_text(json.dumps(tasks))
    taking = ("import", out, "--reviewer", "a.meier", "--format", "label-studio")
    code, said = call(*taking)
    assert (code, said.count("give --unchanged")) == (1, 6)
    code, said = call(*taking, "--unchanged")
    assert (code, "6 notes taken in as a.meier's" in said) == (0, True)
    code, said = call("status", "--json")
    facts = json.loads(said)["facts"]
    assert facts["notes settled"] == "6 of 6"
    assert facts["recall, whole sample"].startswith("0.8")
    assert call("approve", "--by", "a.meier")[0] == 0
    assert call("export", "--out", tmp_path / "gold.jsonl")[0] == 0
    assert call("return")[0] == 0
    assert call("queue")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("return",), "no note of the review is settled"),
        (("approve", "--by", "a.meier"), "not settled"),
        (("approve", "--by", "a b"), "the name of a reviewer"),
        (("approve", "--by", "adjudication"), "the name of a reviewer"),
        (("open",), "nobody is named"),
        (("import", "nowhere.csv", "--reviewer", "a.meier"), "does not exist"),
    ],
)
def test_what_cannot_be_done_is_one_line(call, arguments, line):
    call("queue")
    code, said = call(*arguments)
    assert code == 2
    assert line in said
    assert said.startswith("error: ")
    assert len(said.splitlines()) == 1


def test_an_unknown_batch_is_one_line(settings):
    del settings
    found = CliRunner().invoke(app, ["status", "b-none"])
    assert found.exit_code == 2
    assert "there is no such batch" in found.output
