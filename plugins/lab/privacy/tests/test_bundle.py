"""A grid is run again from one file: the same scores, and what is not as it was is told."""

from __future__ import annotations

import json

import pytest
from privacy_shell import main

from deid_privacy.bundle import BUNDLE


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    out = tmp_path_factory.mktemp("grid") / "first"
    command = [
        "grid",
        str(out),
        "--model",
        "majority",
        "--task",
        "icd10",
        "--folds",
        "2",
        "--documents",
        "12",
    ]
    assert main([*command, "--version", "raw", "--version", "tag", "--seed", "4"]) == 0
    return out


def test_a_second_run_from_the_bundle_gives_the_same_scores(first, tmp_path, capsys):
    found = json.loads((first / BUNDLE).read_text())
    assert {"torch", "deid-privacy", "deid-assets"} <= set(found["packages"])
    assert len(found["f1"]) == 2
    assert main(["reproduce", str(first / BUNDLE), str(tmp_path / "second")]) == 0
    told = capsys.readouterr().out
    assert "2 means, 0 differ by more than 0.02" in told
    assert "not as it was" not in told
    for one in (first / "jobs").iterdir():
        again = json.loads((tmp_path / "second" / "jobs" / one.name).read_text())
        assert again["scores"] == json.loads(one.read_text())["scores"]


def test_other_scores_packages_and_notes_are_told(first, tmp_path, capsys):
    known = json.loads((first / BUNDLE).read_text())
    path = tmp_path / BUNDLE
    name = next(iter(known["f1"]))
    other = known | {
        "f1": known["f1"] | {name: known["f1"][name] + 0.1},
        "packages": known["packages"] | {"torch": "1"},
    }
    path.write_text(json.dumps(other))
    assert main(["reproduce", str(path), str(tmp_path / "second")]) == 1
    told = capsys.readouterr().out
    assert "package torch: 1 then" in told
    assert "2 means, 1 differ" in told
    path.write_text(json.dumps(known | {"notes": {"icd10": "0"}}))
    assert main(["reproduce", str(path), str(tmp_path / "third")]) > 1
    assert "notes icd10: 0 then" in capsys.readouterr().out
    path.write_text("{}")
    assert main(["reproduce", str(path), str(tmp_path / "third")]) > 1
