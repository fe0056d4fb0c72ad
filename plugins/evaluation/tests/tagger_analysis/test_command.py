"""``deid analyse``: what it writes, prints and refuses."""

import json
import os
import stat

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
NOTES = "synthetic:en:6:3"
FAST = (
    "--set",
    'settings.predictions_of=""',
    "--set",
    "settings.min_score=0.0",
    "--set",
    "settings.min_patients=1",
)


@pytest.fixture(scope="module")
def deid():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def models(deid, tmp_path_factory):
    """Two models, the second trained for fewer iterations."""
    folder = tmp_path_factory.mktemp("models")
    for name, iterations in (("long", 40), ("short", 8)):
        done = deid(
            "train",
            "crf",
            "--train",
            "synthetic:en:16",
            "--set",
            f"name={name}",
            "--set",
            f"settings.max_iterations={iterations}",
            "--out",
            folder / name,
            *FAST,
        )
        assert done.exit_code == 0, done.stderr
    return folder / "long", folder / "short"


def test_a_page_and_its_document_are_written_without_words(deid, models, tmp_path):
    done = deid("analyse", models[0], "--notes", NOTES, "--out", tmp_path / "report")
    assert done.exit_code == 0, done.stderr
    assert "it is no network" in done.stderr
    assert "report written to" in done.stderr

    document = json.loads((tmp_path / "report" / "analysis.json").read_text())
    assert not document["restricted"]
    assert {"words", "evidence"}.isdisjoint(document)
    total = done.stdout.strip().splitlines()[-1].split()
    assert total == [
        "ALL",
        str(document["notes"]["spans"]),
        *map(str, document["errors"]["kinds"].values()),
    ]
    assert "<h1>long</h1>" in (tmp_path / "report" / "analysis.html").read_text()


def test_models_are_compared_with_the_first(deid, models, tmp_path):
    done = deid("analyse", *models, "--notes", NOTES, "--out", tmp_path / "report", "--json")
    assert done.exit_code == 0, done.stderr
    printed = json.loads(done.stdout)

    first, second = printed["models"]
    assert (first["name"], second["name"]) == ("long", "short")
    assert second["difference"]["value"] == pytest.approx(
        second["f1"]["value"] - first["f1"]["value"]
    )
    assert second["changes"] == [{"key": "max_iterations", "first": "40", "other": "8"}]
    assert "max_iterations: 40 → <b>8</b>" in (tmp_path / "report" / "analysis.html").read_text()


def test_words_are_written_for_the_owner_alone_and_never_printed(deid, models, tmp_path):
    out = tmp_path / "secret"
    before = os.umask(0o022)
    try:
        done = deid("analyse", models[0], "--notes", NOTES, "--out", out, "--restricted", "--json")
    finally:
        os.umask(before)
    assert done.exit_code == 0, done.stderr

    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o600}
    document = json.loads((out / "analysis.json").read_text())
    assert document["restricted"]
    assert {row["label"] for row in document["evidence"]} >= {"NAME", "DATE"}
    assert {"words", "evidence"}.isdisjoint(json.loads(done.stdout))


FAULTS = {
    "no model": ((), ("{tmp}/absent",), "no card.json in it"),
    "the same model twice": ((), ("{model}", "{model}"), "several different ones"),
    "words without --restricted": (
        ("--word", "Lee"),
        ("{model}",),
        "--word is for a page with words",
    ),
    "training notes without --restricted": (
        ("--train", NOTES),
        ("{model}",),
        "--train is for a page with words",
    ),
    "no such notes": (
        ("--notes", "absent.jsonl"),
        ("{model}",),
        "corpus absent.jsonl: no such file",
    ),
    "a folder that others may read": (
        ("--restricted", "--out", "{tmp}/open"),
        ("{model}",),
        "is open to others",
    ),
    "a report into a model": (("--out", "{model}"), ("{model}",), "it holds a model"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_and_leaves_nothing(deid, models, fault, tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    options, folders, message = FAULTS[fault]
    given = {"--notes": NOTES, "--out": "{tmp}/report"}
    flags = [option for option in options if option == "--restricted"]
    rest = [option for option in options if option != "--restricted"]
    given |= dict(zip(rest[::2], rest[1::2], strict=True))
    filled = [*folders, *flags, *(part for pair in given.items() for part in pair)]
    done = deid("analyse", *(part.format(tmp=tmp_path, model=models[0]) for part in filled))

    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "report").exists()
    assert not list((tmp_path / "open").iterdir())
