"""The same notes through Python, the shell and the graph give the same text and the same withheld
notes, for the same reasons.
"""

import json
from dataclasses import replace
from functools import partial

import pytest
from typer.testing import CliRunner

from deid_assets import Note, deidentify, deidentify_notes
from deid_assets.api import pipeline_of
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


SHY = '''
"""Test detector that disagrees with rules, sees one name at a time, and breaks on one note."""

import re

from deid_assets import Phi, Span, SpanSet

NAME = re.compile(r"Zed[a-z]+")
WIDE = (
    (Phi.ID, re.compile(r"[0-9]{4,}[ .-]?[0-9]*")),
    (Phi.HOSPITAL, re.compile(r"Dr\\.? [A-Z]\\w+")),
)


class Detector:
    name = "@NAME@"
    version = "1"
    labels = frozenset({Phi.NAME, Phi.ID, Phi.HOSPITAL})

    def detect(self, notes):
        return [SpanSet.of(note, self._spans(note)) for note in notes]

    def _spans(self, note):
        if "tripwire" in note.text:
            raise LookupError(note.text)
        if name := NAME.search(note.text):
            yield Span(*name.span(), Phi.NAME, 0.9, self.name)
        for label, pattern in WIDE:
            for match in pattern.finditer(note.text):
                yield Span(*match.span(), label, 0.6, self.name)
'''
MANY = " and ".join(f"Zed{letter}mar" for letter in "abcdefgh")
PRESETS = ("tag", "safe_harbor", "surrogate")
OVERLAPS = ("union", "priority", "majority", "intersection")


@pytest.fixture(scope="module")
def notes():
    """Thirty-six notes in eight languages."""
    return make_notes(4)


def make_notes(of_each):
    """Return notes in eight languages.

    Three are a patient's together; one note holds what no detector finds the first time, one breaks
    a detector, one has names that are found one by one, and one is empty.
    """
    from deid_synthesis import make_corpus

    every = []
    for lang in LANGUAGES:
        made = [note for note, _ in make_corpus(lang=lang, notes=of_each, seed=31)]
        every += [
            replace(note, note_id=f"{lang}-{n}", patient_id=f"{lang}-p{n // 3}")
            for n, note in enumerate(made)
        ]
    return [
        *every,
        Note("leak", LEAK, "leak", "en"),
        Note("trip", "Seen by Dr. Jane Lee, tripwire.", "en-p0", "en"),
        Note("many", f"Seen: {MANY}.", "many", "en"),
        Note("other", "Zedamar was seen on 3 May 2021. MRN: 4471903.", "many", "en"),
    ]


@pytest.fixture
def shy(write_detector, tmp_path, monkeypatch):
    """The detector of that name, on the path."""
    write_detector(tmp_path / "shy", "shy", body=SHY)
    monkeypatch.syspath_prepend(tmp_path / "shy")


def plain(outcomes):
    return {one.note_id: reason(one) if isinstance(one, Failed) else one.text for one in outcomes}


def reason(failed):
    return (f"{failed.error} in {failed.stage}",)


def write_rows(notes, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(notes)))
    return path


def rows_of(notes):
    return [
        {"id": n.note_id, "text": n.text, "lang": n.lang, "patient_id": n.patient_id} for n in notes
    ]


def through_shell(command, notes, folder, *, policy, detectors=("rules",), resolve_by="union"):
    folder.mkdir(parents=True)
    out = folder / ("safe.jsonl" if command == "redact" else "out")
    arguments = [command, str(write_rows(notes, folder / "notes.jsonl"))]
    arguments += [word for name in detectors for word in ("--detector", name)]
    arguments += ["--policy", policy, "--resolve", resolve_by, "--out", str(out), "--json"]
    ran = CliRunner().invoke(app, arguments, env={"DEID_KEY": SECRET})
    assert ran.exit_code in {0, 1}, ran.output
    written = out if command == "redact" else out / "notes.jsonl"
    texts = {row["id"]: row["text"] for row in map(json.loads, written.read_text().splitlines())}
    withheld = json.loads(ran.stdout)["withheld_notes"]
    return texts | {one["note"]: (one["reason"],) for one in withheld}


def through_graph(installation, notes, policies, *, detectors=("rules",), resolve_by="union"):
    installation.detectors = detectors
    installation.configure(
        f"ensemble = {json.dumps(detectors)}\nresolve = '{resolve_by}'\nrecipes = []\n"
        f"policies = {json.dumps(policies)}\nrelease_policy = '{policies[0]}'\n"
        "[gates]\nquarantined = 1\n"
    )
    batch = installation.receive(rows_of(notes))
    assets = ["raw_notes", "gold_annotations", "merged_spans"]
    assets += [Family.SPANS.of(name) for name in detectors]
    assets += [Family.REDACTED_NOTES.of(policy) for policy in policies]
    assert installation.failures(installation.run(batch, *assets)) == {}
    return {policy: stored_outcomes(installation, batch, policy) for policy in policies}


def stored_outcomes(installation, batch, policy):
    read = partial(installation.opened().files.read, Family.REDACTED_NOTES.of(policy), batch)
    done = read("notes")
    ids, texts = done.column("note_id").to_pylist(), done.column("text").to_pylist()
    withheld = {one.note_id: reason(one) for one in failed_from_table(read("failed"))}
    return dict(zip(ids, texts, strict=True)) | withheld


@pytest.mark.long
@pytest.mark.usefixtures("shy")
@pytest.mark.parametrize(
    ("detectors", "resolve_by"),
    [
        (("rules",), "union"),  # one detector has the same spans under every overlap policy
        *((("rules", "shy"), policy) for policy in OVERLAPS),
    ],
)
def test_all_doors_give_the_same(installation, notes, detectors, resolve_by, tmp_path):
    # what overlaps decide is in the spans, which every policy on text is given alike
    policies = PRESETS if resolve_by == "union" else ("surrogate",)
    chosen = {"detectors": detectors, "resolve_by": resolve_by}
    same_through_all_doors(installation, notes, policies, tmp_path, **chosen)


@pytest.mark.slow
@pytest.mark.usefixtures("shy")
@pytest.mark.parametrize("resolve_by", OVERLAPS)
@pytest.mark.parametrize("detectors", [("rules",), ("rules", "shy")])
def test_all_doors_give_the_same_for_a_hundred_notes(installation, detectors, resolve_by, tmp_path):
    chosen = {"detectors": detectors, "resolve_by": resolve_by}
    same_through_all_doors(installation, make_notes(12), PRESETS, tmp_path, **chosen)


def same_through_all_doors(installation, notes, policies, folder, **chosen):
    of_graph = through_graph(installation, notes, policies, **chosen)

    for policy in policies:
        outcomes = deidentify_notes(notes, policy=policy, secret=bytes.fromhex(SECRET), **chosen)
        of_python = plain(outcomes)
        assert of_python == of_graph[policy], policy
        for command in ("redact", "deidentify"):
            written = folder / policy / command
            of_shell = through_shell(command, notes, written, policy=policy, **chosen)
            assert of_python == of_shell, (policy, command)
        assert len(of_python) == len(notes)
        assert (
            of_python.get("trip") == ("LookupError in spans_shy",) or len(chosen["detectors"]) == 1
        )


@pytest.mark.long
@pytest.mark.usefixtures("shy")
def test_the_withheld_note_names_its_step(notes):
    outcomes = deidentify_notes(notes, policy="tag", detectors=("rules", "shy"))

    assert {one.note_id: reason(one) for one in outcomes if isinstance(one, Failed)} == {
        "trip": ("LookupError in spans_shy",),
        "many": ("residual-hit in search",),
    }


@pytest.mark.long
def test_all_policies_give_the_same_through_all_doors(installation, notes, tmp_path):
    some = [*notes[:-4:4], *notes[-4:]]
    policies = sorted(BUILTIN)
    of_graph = through_graph(installation, some, policies)

    for policy in policies:
        outcomes = deidentify_notes(
            some, policy=policy, detectors=["rules"], secret=bytes.fromhex(SECRET)
        )
        of_python = plain(outcomes)
        assert of_python == of_graph[policy], policy
        folder = tmp_path / policy
        assert of_python == through_shell("deidentify", some, folder, policy=policy), policy
        assert "4471902" not in of_python["leak"]


@pytest.mark.long
@pytest.mark.parametrize("policy", PRESETS)
def test_redact_gives_the_text_of_deidentify_with_a_detector_that_reads_context(
    notes, policy, tmp_path
):
    chosen = {"policy": policy, "detectors": ("rules", "presidio")}
    of_commands = [
        through_shell(command, notes, tmp_path / command, **chosen)
        for command in ("redact", "deidentify")
    ]

    assert of_commands[0] == of_commands[1]


@pytest.mark.long
@pytest.mark.parametrize("resolve_by", ["union", "majority"])
def test_spans_that_were_stored_give_the_text_of_a_pipeline_without_search(
    notes, resolve_by, tmp_path
):
    source = write_rows(notes, tmp_path / "notes.jsonl")
    spans, out = str(tmp_path / "spans.jsonl"), tmp_path / "safe.jsonl"
    chosen = ["--detector", "rules", "--detector", "datafog", "--resolve", resolve_by]
    for arguments in (
        ["detect", str(source), *chosen, "--out", spans],
        ["redact", str(source), "--spans", spans, "--policy", "tag", "--out", str(out)],
    ):
        ran = CliRunner().invoke(app, arguments, env={"DEID_KEY": SECRET})
        assert ran.exit_code == 0, ran.output
    pipeline = pipeline_of(policy="tag", detectors=("rules", "datafog"), resolve_by=resolve_by)

    unsearched = pipeline.without("search").deidentify(notes)

    texts = {row["id"]: row["text"] for row in map(json.loads, out.read_text().splitlines())}
    assert texts == plain(unsearched.outcomes)


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
