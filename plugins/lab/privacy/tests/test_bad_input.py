"""What the commands refuse: one clear line each, and no number."""

from __future__ import annotations

import json
import re
import shutil

import pytest
import transformers
from privacy_shell import main
from typer.testing import CliRunner

from deid_assets.cli import app


def lines(folder, name, count):
    return (folder / f"{name}.jsonl").read_text("utf-8").splitlines(keepends=True)[:count]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, causal_folder, other_folder):
    """Planted notes, their twin, shorter and longer ones, and models that lack their head or have
    another's tokenizer.
    """
    out = tmp_path_factory.mktemp("bad") / "planted"
    assert (
        main(
            [
                "plant",
                "--out",
                str(out),
                "--notes",
                "40",
                "--people",
                "12",
                "--canaries",
                "1",
                "--repeat",
                "1",
                "--repeat",
                "3",
            ]
        )
        == 0
    )
    named = [json.loads(line) for line in lines(out, "named", None)]
    twin = [
        one
        | {
            "text": re.sub(r"[A-Z][a-z]+ [A-Z][a-z]+", "Una Twyn", one["text"], count=1),
            "spans": [],
        }
        for one in named
    ]
    longer = [one | {"text": f"{one['text']} Again."} for one in twin]
    for name, notes in (
        ("twin", twin),
        ("short_twin", twin[:-1]),
        ("long_twin", longer),
        ("few_twin", twin[:5]),
    ):
        (out / f"{name}.jsonl").write_text(
            "".join(json.dumps(one) + "\n" for one in notes), encoding="utf-8"
        )
    for name in ("held_out", "named"):
        (out / f"few_{name}.jsonl").write_text("".join(lines(out, name, 5)), encoding="utf-8")
    shutil.copytree(other_folder, out / "model")
    transformers.AutoModel.from_pretrained(other_folder).save_pretrained(out / "headless")
    for path in other_folder.glob("*token*"):
        shutil.copy(path, out / "headless")
    shutil.copytree(other_folder, out / "stranger")
    tokenizer = transformers.AutoTokenizer.from_pretrained(other_folder)
    tokenizer.add_tokens([f"word{number}" for number in range(40)])
    tokenizer.save_pretrained(out / "stranger")
    return out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "headless"}, "model headless: LlamaModel has no language-model head"),
        ({"model": "stranger"}, "it is the tokenizer of another model"),
        ({"calibration": "training.jsonl"}, "the calibration set shares"),
        ({"held-out": "few_held_out.jsonl"}, "the out-set has 5 patients, an interval needs 20"),
    ],
)
def test_an_audit_refuses_its_material_in_one_line_without_a_number(
    folder, tmp_path, monkeypatch, changes, said
):
    monkeypatch.setenv("DEID_KEY", "55" * 32)
    given = {
        "model": "model",
        "training": "training.jsonl",
        "held-out": "held_out.jsonl",
        "calibration": "calibration.jsonl",
    } | changes
    arguments = [
        part for name, value in given.items() for part in (f"--{name}", str(folder / value))
    ]
    ran = CliRunner().invoke(
        app, ["privacy", "run", "membership", *arguments, "--out", str(tmp_path / "out")]
    )
    assert ran.exit_code == 1
    told = [line for line in ran.stdout.splitlines() if line.strip()]
    assert len(told) == 1
    assert told[0].startswith("membership: not assessed: ")
    assert said in told[0]
    assert json.loads((tmp_path / "out" / "membership.json").read_text("utf-8"))["figures"] == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ("model named short_twin", "the twin has 23 texts and its original 24; give one for each"),
        (
            "model named long_twin",
            "text 0: its twin is of another length; a twin differs in the words of names alone",
        ),
        ("model named named", "text 0: its twin is the same text; replace its names"),
        (
            "model few_named few_twin",
            "the in-set has 5 notes, an interval needs 20; give more notes",
        ),
        ("headless named twin", "model headless: LlamaModel has no language-model head"),
        ("stranger named twin", "it is the tokenizer of another model"),
    ],
)
def test_twins_are_refused_in_one_line(folder, capsys, files, said):
    model, *notes = files.split()
    paths = [str(folder / f"{name}.jsonl") for name in (*notes, "matched")]
    assert (
        main(
            [
                "twins",
                str(folder / model),
                *paths,
                "--calibration",
                str(folder / "calibration.jsonl"),
            ]
        )
        == 2
    )
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith("error: ")
    assert said in found.err
    assert found.err.count("\n") == 1


def test_calibration_notes_of_twins_are_others(folder, capsys):
    paths = [str(folder / f"{name}.jsonl") for name in ("named", "twin", "matched")]
    assert (
        main(["twins", str(folder / "model"), *paths, "--calibration", str(folder / "named.jsonl")])
        == 2
    )
    assert "the calibration set shares 24 texts with the in-set" in capsys.readouterr().err


def test_twins_and_probe_tell_their_figures_with_interval_and_chance(folder, capsys):
    paths = [str(folder / f"{name}.jsonl") for name in ("named", "twin", "matched")]
    assert (
        main(
            [
                "twins",
                str(folder / "model"),
                *paths,
                "--calibration",
                str(folder / "calibration.jsonl"),
            ]
        )
        == 0
    )
    told = capsys.readouterr().out.splitlines()
    assert [line.split(" 0.")[0].split(" 1.")[0].split(" -0.")[0] for line in told] == [
        "loss: AUC(B), trained on",
        "loss: AUC(C), twins",
        "loss: AUC(B) - AUC(C)",
        "loss: preferred to their twins",
    ]
    assert all(re.search(r"\[-?\d\.\d+, -?\d\.\d+\], chance", line) for line in told)
    assert main(["probe", str(folder / "model"), paths[0], str(folder / "held_out.jsonl")]) == 0
    probed = capsys.readouterr().out.splitlines()
    assert float(re.search(r"probe (\d\.\d+)", probed[0])[1]) > 0.9  # sentences of another form
    assert probed[1].startswith("labels drawn at random: ")
