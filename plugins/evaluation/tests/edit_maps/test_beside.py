"""Policies side by side.

Each column is what its policy writes, the page is its owner's alone and loads nothing.
"""

import html
import json
import re
import stat

import pytest
import typer.testing

from deid_assets.cli import app
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import load_policy
from deid_edit_maps.beside import PAGE

TEXT = "Ann <Lee> came on 3 May 2021. All is well."
SPANS = [(0, 9, "NAME"), (18, 28, "DATE")]
POLICIES = ("tag", "surrogate", "drop_sentence")


@pytest.fixture
def shown(tmp_path, monkeypatch):
    def show(*more):
        monkeypatch.setenv("DEID_KEY", "55" * 32)
        marks = [{"start": start, "end": end, "label": label} for start, end, label in SPANS]
        notes = tmp_path / "notes.jsonl"
        lines = [
            json.dumps({"id": name, "lang": "en", "text": TEXT, "spans": marks})
            for name in ("one", "two")
        ]
        notes.write_text("\n".join(lines))
        named = [part for one in POLICIES for part in ("--policy", one)]
        out = tmp_path / "out"
        command = ["side-by-side", str(notes), *named, "--out", str(out), *more]
        return typer.testing.CliRunner().invoke(app, command), out / PAGE

    return show


def test_each_column_is_what_its_policy_writes(shown):
    ran, path = shown("--note", "two")
    assert ran.exit_code == 0, ran.output
    assert TEXT not in ran.output
    page = path.read_text("utf-8")
    columns = [
        html.unescape(re.sub("<.*?>", "", one))
        for one in re.findall(r'<div class="text">(.*?)</div>', page)
    ]
    note = Note("two", TEXT, lang="en")
    spans = DisjointSpans.of(note, [Span(start, end, Phi(label)) for start, end, label in SPANS])
    key = Key(bytes.fromhex("55" * 32))
    wanted = [redact(note, spans, load_policy(one), key=key).text for one in POLICIES]
    assert columns[0] == TEXT
    assert columns[1] == wanted[0] == "[NAME] came on [DATE]. All is well."
    assert columns[3] == wanted[2]
    assert "Lee" not in "".join(columns[1:])
    assert len(set(columns)) == 4
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not re.search(r"<(?:script|link|img)\b|https?://", page)


def test_what_cannot_be_shown_is_refused_in_one_line(shown):
    ran, path = shown("--note", "three")
    assert ran.exit_code != 0
    assert "no note 'three' could be read" in ran.output
    assert not path.exists()


def test_annotations_are_read_under_the_label_map_that_is_named(tmp_path):
    marks = [{"start": 0, "end": 9, "label": "PATIENT"}]
    notes = tmp_path / "native.jsonl"
    notes.write_text(json.dumps({"id": "one", "lang": "en", "text": TEXT, "spans": marks}))
    command = ["side-by-side", str(notes), "--policy", "tag", "--out", str(tmp_path / "native")]

    ran = typer.testing.CliRunner().invoke(app, [*command, "--labels", "i2b2"])
    wrong = typer.testing.CliRunner().invoke(app, [*command, "--labels", "none_such"])

    assert ran.exit_code == 0, ran.output
    page = re.sub("<.*?>", "", (tmp_path / "native" / PAGE).read_text("utf-8"))
    assert "[NAME] came on 3 May 2021" in page
    assert wrong.exit_code == 2
    assert "none_such" in wrong.output
    assert "--lang" not in wrong.output
