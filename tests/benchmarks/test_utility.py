"""Training notes of the utility benchmark: redacted, with every span where its value now lies."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.core.trainer import Document
from deid_assets.policies import load_policy
from deid_assets.policies.collisions import Originals
from deid_synthesis import make_corpus

PROGRAMS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def utility(monkeypatch):
    pytest.importorskip("deid_crf", reason="the benchmark trains the crf plugin")
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import utility

    return utility


def test_moved_spans_cover_the_replacements_and_keep_their_own_labels(utility):
    text = "Paciente: Ana Ruiz, mujer, NHC 4471902. Ana Ruiz vuelve."
    note = Note("n1", text, lang="es")
    places = [
        (10, 18, Phi.NAME, "A"),
        (20, 25, Phi.SEX, "B"),
        (31, 38, Phi.MRN, "C"),
        (40, 48, Phi.NAME, "A"),
    ]
    spans = [Span(start, end, label, native_label=native) for start, end, label, native in places]
    document = Document(note, DisjointSpans.of(note, spans))
    (moved,), tags = utility.redact_and_move([document], load_policy("tag"), Originals(utility.KEY))
    assert moved.note.text == "Paciente: [NAME], [SEX], NHC [MRN]. [NAME] vuelve."
    values = [(moved.note.text[span.start : span.end], span.native_label) for span in moved.spans]
    assert values == [("[NAME]", "A"), ("[SEX]", "B"), ("[MRN]", "C"), ("[NAME]", "A")]
    assert tags == 4


def test_adjacent_spans_stay_adjacent(utility):
    note = Note("n1", "Ruiz28013", lang="es")
    document = Document(note, DisjointSpans.of(note, [Span(0, 4, Phi.NAME), Span(4, 9, Phi.ZIP)]))
    (moved,), _ = utility.redact_and_move([document], load_policy("tag"), Originals(utility.KEY))
    assert [moved.note.text[span.start : span.end] for span in moved.spans] == ["[NAME]", "[ZIP]"]


def test_surrogates_are_no_tags_and_leave_the_rest_of_the_note(utility):
    corpus = [
        Document(note, DisjointSpans.of(note, spans))
        for note, spans in make_corpus(lang="es", notes=3, seed=4)
    ]
    moved, tags = utility.redact_and_move(corpus, load_policy("surrogate"), Originals(utility.KEY))
    assert tags < sum(len(document.spans) for document in corpus) / 2
    for before, after in zip(corpus, moved, strict=True):
        assert _outside(after) == _outside(before)
        assert (after.note.text != before.note.text) == bool(before.spans)
        assert [span.label for span in after.spans] == [span.label for span in before.spans]


def _outside(document):
    cursor, parts = 0, []
    for span in document.spans:
        parts.append(document.note.text[cursor : span.start])
        cursor = span.end
    return [*parts, document.note.text[cursor:]]


@pytest.mark.slow
def test_the_program_prints_a_row_for_each_text(tmp_path):
    pytest.importorskip("deid_crf", reason="the benchmark trains the crf plugin")
    folder = tmp_path / "annotated" / "meddocan"
    folder.mkdir(parents=True)
    native = {label: name for name, label in label_map("meddocan").labels.items()}
    for part, seed in (("train", 1), ("dev", 2)):
        rows = [_row(f"{part}-{at}", *pair, native) for at, pair in enumerate(_corpus(seed))]
        (folder / f"{part}.jsonl").write_text(
            "".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8"
        )
    found = subprocess.run(
        [sys.executable, PROGRAMS / "utility.py", "--notes", "6"],
        env={**os.environ, "DEID_CORPORA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-500:]
    rows = {
        line.split("|")[1].strip(): line.split("|")
        for line in found.stdout.splitlines()
        if line.startswith("|")
    }
    assert {"original", "surrogate", "tag"} <= rows.keys()
    assert float(rows["original"][5].split()[0]) > 0
    assert rows["tag"][2].strip() == "100.0%"


def _corpus(seed):
    return make_corpus(lang="es", notes=6, seed=seed)


def _row(note_id, note, spans, native):
    marked = [
        {"start": span.start, "end": span.end, "label": native[span.label]}
        for span in spans
        if span.label in native
    ]
    return {"id": note_id, "lang": "es", "text": note.text, "spans": marked}
