"""A submission is scored by counts alone, and one that looks for the labels finds none."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.core.errors import InputError
from deid_assets.extending import Document
from deid_privacy.site import can_isolate, evaluate, leaderboard, record

pytestmark = pytest.mark.skipif(not can_isolate(), reason="no user namespaces on this machine")

PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
HONEST = """
import json, re, sys
for line in sys.stdin:
    note = json.loads(line)
    assert set(note) == {"id", "lang", "text"}
    spans = [{"start": m.start(), "end": m.end(), "label": "NAME"} for m in re.finditer("Anna", note["text"])]
    print(json.dumps({"id": note["id"], "spans": spans}))
"""
THIEF = """
import json, os, socket, subprocess, sys
folder = sys.argv[1]
for args in (["umount", folder], ["unshare", "-Urm", "umount", folder]):
    subprocess.run(args, capture_output=True)
subprocess.run(["unshare", "-Urm", "sh", "-c", "umount " + folder + "; cat " + folder + "/gold.json 1>&2"])
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
    raise SystemExit("the network is there")
except OSError:
    pass
seen = os.listdir(folder)
labels = json.load(open(folder + "/gold.json")) if seen else {}
for line in sys.stdin:
    note = json.loads(line)
    print(json.dumps({"id": note["id"], "spans": labels.get(note["id"], [])}))
"""


@pytest.fixture
def gold(tmp_path):
    """Twelve notes, and their labels in a folder."""
    made, labels = [], {}
    for number in range(12):
        note = Note(f"patient-{number}", "Anna was seen. Berg too.", lang="en")
        spans = (Span(0, 4, Phi.NAME), *([Span(15, 19, Phi.CITY)] if number < 3 else []))
        made.append(Document(note, DisjointSpans(note.note_id, note.digest, spans)))
        labels[f"n{number}"] = [{"start": one.start, "end": one.end, "label": one.label.value} for one in spans]
    folder = tmp_path / "labels"
    folder.mkdir()
    (folder / "gold.json").write_text(json.dumps(labels), encoding="utf-8")
    return made, folder


def test_an_honest_submission_gets_counts_and_rare_categories_are_withheld(gold, tmp_path):
    documents, folder = gold
    scores = evaluate([PYTHON, "-c", HONEST], documents, hidden=[folder])
    assert scores["recall"]["value"] == pytest.approx(12 / 15)
    assert scores["precision"]["value"] == 1
    assert list(scores["covered_by_category"]) == ["NAME"]
    assert scores["withheld_categories"] == 1
    log = tmp_path / "log.jsonl"
    record(log, "b", [PYTHON], None, "failed")
    record(log, "a", [PYTHON], scores)
    assert [name for name, *_ in leaderboard(log)] == ["a"]
    assert "Anna" not in log.read_text("utf-8") + json.dumps(scores)
    assert "patient" not in log.read_text("utf-8") + json.dumps(scores)


def test_a_submission_that_looks_for_the_labels_finds_an_empty_folder(gold):
    documents, folder = gold
    # The control: where the folder is not hidden, the same program takes all labels from it.
    assert evaluate([PYTHON, "-c", THIEF, str(folder)], documents, hidden=[])["f1"] == 1
    assert evaluate([PYTHON, "-c", THIEF, str(folder)], documents, hidden=[folder])["f1"] == 0


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit(3)", "failed with code 3"),
        ("import time; time.sleep(60)", "took more than 1 s"),
        ("print('Anna')", "line 1 of the submission is no object"),
        ("""print('{"id": "other", "spans": []}')""", "an unknown note"),
        ("""print('{"id": "n0", "spans": [{"start": 0, "end": 999, "label": "NAME"}]}')""", "outside its note"),
    ],
)
def test_what_goes_wrong_is_said_without_its_words(gold, program, said):
    documents, folder = gold
    with pytest.raises(InputError, match=said) as caught:
        evaluate([PYTHON, "-c", program], documents, hidden=[folder], seconds=1 if "sleep" in program else 60)
    assert "Anna" not in str(caught.value)
