"""The cells of the notebook run in order, and no output is saved with them."""

import json
from pathlib import Path

import pytest

from deid_assets.plugins import available

PAGE = Path(__file__).parents[1] / "docs" / "notebook" / "researcher.ipynb"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not {"rules", "compact"} <= available().keys(), reason="compares rules and compact"
    ),
]


def cells(kind):
    found = json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def test_the_cells_run_in_order(capsys, monkeypatch):
    pytest.importorskip("deid_synthesis", reason="the notes are written by a plugin")
    pytest.importorskip("deid_surrogates", reason="a policy writes surrogates")
    monkeypatch.delenv("DEID_KEY", raising=False)
    names = {}
    for cell in cells("code"):
        exec(compile("".join(cell["source"]), f"cell {cell['id']}", "exec"), names)

    said = capsys.readouterr().out
    assert "60 notes of" in said
    assert "rules    covered 0.9" in said
    assert "compact - rules: " in said
    assert "safe_harbor  20 of 20 notes" in said
    assert "Seen by Dr. [NAME] on [DATE]. Ms [NAME] was well." in said
    assert "verify " in said
    # what the misses are counted as is what the scores say of them
    missed = {name: sum(names["misses"](name).values()) for name in names["names"]}
    assert missed == {
        name: evaluated(names, name).micro(names["Scheme"].COVERED).fn for name in missed
    }
    # errors are shown without a word of the notes
    shown = said.partition("whole notes")[2].partition("[NAME]")[0]
    identifiers = {
        note.text[span.start : span.end]
        for note in names["notes"]
        for span in names["gold"][note.note_id]
        if span.end - span.start > 4 and span.label.value == "NAME"
    }
    assert [one for one in identifiers if one in shown] == []


def evaluated(names, name):
    pairs = [(names["gold"][key], one) for key, one in names["detected"].predictions[name].items()]
    found, _ = names["evaluate_by_note"](pairs, profile=names["counted"], lengths=names["lengths"])
    return found


def test_the_notebook_is_saved_without_outputs():
    assert [cell["outputs"] for cell in cells("code") if cell["outputs"]] == []
    assert [cell for cell in cells("code") if cell["execution_count"] is not None] == []
