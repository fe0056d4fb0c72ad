"""The same notes through Python, the shell and the graph give the same text and the same withheld notes, for the same reasons."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from deid_assets import Note, deidentify, deidentify_notes
from deid_assets.cli import app
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.detector import Failed
from deid_assets.core.errors import ConfigError, PolicyError, WithheldError
from deid_assets.policies.files import BUILTIN
from deid_assets.store.frames import failed_from_table

SECRET = "5a" * 32
LEAK = "MRN: 4471902. Sample 4471902 was stored. Label 4471902-A."
LANGUAGES = ("en", "es", "it", "fr", "de", "nl", "sv", "fi")


@pytest.fixture(scope="module")
def notes():
    """Notes in eight languages.

    Five are a patient's together, and some hold what no detector finds the first time.
    """
    from deid_synthesis import make_corpus

    found = []
    for lang in LANGUAGES:
        made = [note for note, _ in make_corpus(lang=lang, notes=5, seed=31)]
        found += [
            replace(note, note_id=f"{lang}-{n}", patient_id=f"{lang}-p{n // 3}")
            for n, note in enumerate(made)
        ]
    return [*found, Note("leak", LEAK, "leak", "en")]


def plain(outcomes):
    return {one.note_id: (one.error,) if isinstance(one, Failed) else one.text for one in outcomes}


def through_shell(notes, policy, folder):
    rows = (
        {"id": n.note_id, "text": n.text, "lang": n.lang, "patient_id": n.patient_id} for n in notes
    )
    (folder / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = [
        "deidentify",
        str(folder / "notes.jsonl"),
        "--detector",
        "rules",
        "--policy",
        policy,
        "--out",
        str(folder / "out"),
        "--json",
    ]
    ran = CliRunner().invoke(app, arguments, env={"DEID_KEY": SECRET})
    assert ran.exit_code in {0, 1}, ran.output
    lines = (folder / "out" / "notes.jsonl").read_text().splitlines()
    withheld = {
        one["note"]: (one["reason"].split(" in ")[0],)
        for one in json.loads(ran.stdout)["withheld_notes"]
    }
    return {row["id"]: row["text"] for row in map(json.loads, lines)} | withheld


def through_graph(installation, notes, policies):
    names = json.dumps(policies)
    installation.detectors = ("rules",)
    installation.configure(
        f'ensemble = ["rules"]\nrecipes = []\npolicies = {names}\nrelease_policy ='
        f' "{policies[0]}"\n[gates]\nquarantined = 1\n'
    )
    rows = [
        {"id": n.note_id, "text": n.text, "lang": n.lang, "patient_id": n.patient_id} for n in notes
    ]
    batch = installation.receive(rows)
    assets = ["raw_notes", "gold_annotations", "spans_rules", "merged_spans"]
    ran = installation.run(
        batch, *assets, *(Family.REDACTED_NOTES.of(policy) for policy in policies)
    )
    assert installation.failures(ran) == {}
    files = installation.opened().files
    found = {}
    for policy in policies:
        table = files.read(Family.REDACTED_NOTES.of(policy), batch, "notes")
        failed = failed_from_table(files.read(Family.REDACTED_NOTES.of(policy), batch, "failed"))
        texts = dict(
            zip(table.column("note_id").to_pylist(), table.column("text").to_pylist(), strict=True)
        )
        found[policy] = texts | {one.note_id: (one.error,) for one in failed}
    return found


@pytest.fixture
def policies():
    """All built-in policies with a name that an asset may have."""
    return sorted(BUILTIN)


@pytest.mark.long
def test_all_doors_give_the_same(installation, notes, policies, tmp_path):
    of_graph = through_graph(installation, notes, policies)

    for policy in policies:
        of_python = plain(
            deidentify_notes(
                notes, policy=policy, detectors=["rules"], secret=bytes.fromhex(SECRET)
            )
        )
        folder = tmp_path / policy
        folder.mkdir()
        assert of_python == of_graph[policy], policy
        assert of_python == through_shell(notes, policy, folder), policy
        assert "4471902" not in of_python["leak"]
        assert len(of_python) == len(notes)


@pytest.mark.long
@pytest.mark.parametrize("detectors", [("rules",), ("rules", "presidio")])
@pytest.mark.parametrize("policy", ["tag", "safe_harbor", "surrogate"])
def test_redact_gives_the_text_of_deidentify(notes, policy, detectors, tmp_path):
    rows = (
        {"id": n.note_id, "text": n.text, "lang": n.lang, "patient_id": n.patient_id} for n in notes
    )
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    chosen = [word for name in detectors for word in ("--detector", name)]
    found = []
    for command, out in (("redact", "safe.jsonl"), ("deidentify", "out")):
        arguments = [
            command,
            str(tmp_path / "notes.jsonl"),
            *chosen,
            "--policy",
            policy,
            "--out",
            str(tmp_path / out),
        ]
        ran = CliRunner().invoke(app, [*arguments, "--json"], env={"DEID_KEY": SECRET})
        assert ran.exit_code in {0, 1}, ran.output
        written = tmp_path / out / "notes.jsonl" if command == "deidentify" else tmp_path / out
        found.append((written.read_text(), json.loads(ran.stdout)["withheld_notes"]))

    assert found[0] == found[1]


def test_doors_run_the_ensemble_of_the_graph_where_nobody_names_detectors(tmp_path):
    text = "pt seen w/ okafor, will call wife ngozi"
    ensemble = Settings().ensemble
    of_rules = deidentify(text, lang="en", policy="tag", detectors=["rules"]).text
    of_ensemble = deidentify(text, lang="en", policy="tag", detectors=ensemble).text
    notes = tmp_path / "notes.jsonl"
    notes.write_text(json.dumps({"id": "a", "text": text, "lang": "en"}))
    out = tmp_path / "out"

    ran = CliRunner().invoke(app, ["deidentify", str(notes), "--policy", "tag", "--out", str(out)])

    assert ran.exit_code == 0, ran.output
    assert deidentify(text, lang="en", policy="tag").text == of_ensemble
    assert json.loads((out / "notes.jsonl").read_text())["text"] == of_ensemble
    assert of_ensemble != of_rules


def test_options_of_a_detector_that_does_not_run_are_refused():
    with pytest.raises(ConfigError, match="options: 'rules' is none of the detectors"):
        deidentify(LEAK, lang="en", detectors=["presidio"], options={"rules": {"min_score": 0.9}})


def test_one_text_gives_its_redaction():
    assert (
        deidentify(LEAK, lang="en", policy="tag", detectors=["rules"]).text
        == "MRN: [MRN]. Sample [MRN] was stored. Label [MRN]-A."
    )


def test_a_detector_is_made_once_for_calls_with_the_same_options():
    from deid_assets.api import _detector

    made = _detector.cache_info().misses
    for score in (0.51, 0.51, 0.52, 0.51):
        deidentify(LEAK, lang="en", detectors=["rules"], options={"rules": {"min_score": score}})

    assert _detector.cache_info().misses == made + 2


def test_python_takes_the_key_of_the_environment_where_none_is_given(monkeypatch):
    arguments = {"lang": "en", "policy": "surrogate"}
    monkeypatch.setenv("DEID_KEY", SECRET)
    of_environment = deidentify("Seen by Dr. Jane Lee.", **arguments).text
    monkeypatch.delenv("DEID_KEY")

    assert (
        of_environment
        == deidentify("Seen by Dr. Jane Lee.", secret=bytes.fromhex(SECRET), **arguments).text
    )
    with pytest.raises(PolicyError, match="set DEID_KEY"):
        deidentify("Seen by Dr. Jane Lee.", **arguments)


def test_a_text_that_may_not_leave_raises_without_quoting_it(installation):
    with pytest.raises(WithheldError, match="LookupError in spans_stencil") as raised:
        deidentify("Zedmarlow", detectors=["stencil"], options={"stencil": {"raise_on": "Zed"}})

    assert "Zedmarlow" not in str(raised.value)


def test_importing_the_package_loads_nothing_heavy():
    import subprocess
    import sys

    program = (
        "import sys, deid_assets; print([m for m in ('faker', 'pandas', 'dagster', 'pyarrow') if m"
        " in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
