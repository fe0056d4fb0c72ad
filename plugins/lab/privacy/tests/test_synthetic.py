"""The study of generated notes: its parts, its settings, and the whole of it at a tiny size."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from privacy_shell import main

from deid_assets import Note
from deid_assets.extending import DisjointSpans, Document, InputError, Phi, Span, TrainingError
from deid_assets.extending.taggers import Recipe
from deid_causal.new_model import make_tokenizer
from deid_privacy.synthetic import running, stages
from deid_privacy.synthetic.commands import _OWN_TAGGER
from deid_privacy.synthetic.files import StageStore, read_documents, write_documents
from deid_privacy.synthetic.measures import recall_figures
from deid_privacy.synthetic.plan import (
    FoldParts,
    GeneratorPlan,
    StudiedNotes,
    SynthesisCell,
    SynthesisPlan,
    check_volumes,
    fold_parts,
    sentences_of,
    starters_of,
)
from deid_privacy.synthetic.running import SynthesisStudy
from deid_privacy.synthetic.stages import FoldStages

OWN_TAGGER = Recipe.model_validate(_OWN_TAGGER)
TEXT = "Anna Berg kom in i dag.\nHon mår bra. Tid hos dr Carl\nLind den 3 maj."


def plan(**changes) -> SynthesisPlan:
    notes = StudiedNotes("notes.jsonl", "", "sv", "notes", 0)
    given = {"notes": notes, "generator": GeneratorPlan(base_notes="synthetic:sv:4:1")}
    return SynthesisPlan(**{**given, "tagger": "", **changes})


def document(number: int, text: str = TEXT, patient: str | None = None) -> Document:
    note = Note(f"n{number}", text, patient_id=patient, lang="sv")
    place = text.find("Carl")
    spans = [Span(0, 9, Phi.NAME)]
    if place >= 0:
        spans.append(Span(place, place + 9, Phi.NAME))
    return Document(note, DisjointSpans.of(note, spans))


def test_cells_are_those_of_the_published_experiments():
    cells = plan(experiments=("total", "generator", "annotator", "size", "volume")).cells
    assert [(one.adapted, one.annotated) for one in cells["total"]] == [
        (share, share) for share in (5, 25, 50, 95)
    ]
    assert [one.adapted for one in cells["generator"]] == [0, 5, 25, 50, 95]
    assert [one.annotated for one in cells["annotator"]] == [5, 25, 50, 95]
    assert [one.volume for one in cells["volume"]] == [5, 100, 400]
    assert [one.base for one in cells["size"]] == ["smaller", "larger"]
    whole = SynthesisCell(95, 95, 400)
    assert all(whole in own for own in cells.values())
    every = plan(experiments=tuple(cells)).wanted
    assert len(every) == len(set(every)) == 4 + 4 + 3 + 1 + 2


def test_folds_are_disjoint_by_patient_and_shares_nested():
    documents = [document(number, patient=f"p{number // 2}") for number in range(200)]
    own = plan()
    tested = []
    for fold in range(5):
        parts = fold_parts(documents, fold, own)
        assert (len(parts.rest), len(parts.dev), len(parts.test)) == (152, 8, 40)
        sides = [{one.note.patient_id for one in side} for side in (parts.rest, parts.dev)]
        assert sides[0].isdisjoint(sides[1])
        assert (sides[0] | sides[1]).isdisjoint(one.note.patient_id for one in parts.test)
        shares = [parts.share(percent) for percent in (5, 25, 50, 95)]
        assert [len(one) for one in shares] == [8, 40, 80, 152]
        assert all(large[: len(one)] == one for one, large in pairwise(shares))
        tested += [one.note.note_id for one in parts.test]
    assert sorted(tested) == sorted(one.note.note_id for one in documents)


def test_sentences_keep_their_spans_and_are_joined_where_one_crosses():
    found = sentences_of(document(1, patient="p"))
    assert {one.note.patient_id for one in found} == {"p"}
    named = [one.note.text[span.start : span.end] for one in found for span in one.spans]
    assert named == ["Anna Berg", "Carl\nLind"]
    assert len({one.note.note_id for one in found}) == len(found) > 1


def test_starters_are_the_first_three_words_or_those_before_a_name():
    dev = [document(1), document(2, "Hejsan hej.")]
    assert starters_of(dev, is_free=False) == ["Anna Berg kom", "Hejsan hej."]
    assert starters_of(dev[:1], is_free=True) == [""]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experiments": ("sizes",)}, "unknown experiment 'sizes'"),
        ({"shares": (5, 96)}, "share 96"),
        ({"volumes": (0, 100)}, "volume 0"),
        ({"notes": StudiedNotes("n", "", "sv", "words", 0)}, "unknown unit 'words'"),
        (
            {
                "experiments": ("size",),
                "generator": GeneratorPlan(larger="a", base_notes=""),
            },
            "one of two bases",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        plan(**changes)


def test_a_volume_that_is_not_generated_is_refused_and_not_cut(tmp_path, monkeypatch):
    own = plan(generator=GeneratorPlan(base_notes="", each=10), volumes=(40, 41, 400), shares=(95,))
    parts = FoldParts([document(1)] * 95, [document(1)] * 5, [])
    fold = FoldStages(own, OWN_TAGGER, parts, {}, StageStore(tmp_path, print), 1)
    monkeypatch.setattr(FoldStages, "generate", lambda *_: [document(1)] * 40)
    assert len(fold._volume(SynthesisCell(95, 95, 40))) == 40
    with pytest.raises(InputError, match=r"volume 41 % is 41 notes, and 40 are generated"):
        fold._volume(SynthesisCell(95, 95, 41))
    with pytest.raises(InputError, match=r"volume 400 % is 400 notes, and 50 are generated"):
        check_volumes(parts, own)


def test_a_tagger_that_cannot_be_trained_stops_the_study_and_one_without_a_marked_word_is_none(
    tmp_path, monkeypatch
):
    blank = Note("n", "Anna  Berg", lang="sv")
    unmarked = Document(blank, DisjointSpans.of(blank, [Span(4, 6, Phi.NAME)]))
    parts = FoldParts([document(1)], [document(2)], [document(3)])
    fold = FoldStages(plan(), OWN_TAGGER, parts, {}, StageStore(tmp_path, print), 1)

    def fail(*_):
        raise TrainingError("the loss is no number")

    monkeypatch.setattr(FoldStages, "_train", fail)
    assert fold._tagger("blank", [unmarked]) is None
    with pytest.raises(TrainingError, match="no number"):
        fold.gold_scores(95)
    assert not list(tmp_path.glob("*scores*"))


def test_a_stage_is_made_once_and_a_damaged_file_is_named(tmp_path):
    said: list[str] = []
    store = StageStore(tmp_path, said.append)
    made = [store.notes("a", lambda _part: [document(1)]) for _ in range(2)]
    assert made[0] == made[1]
    assert len(made[0][0].spans) == 2
    assert [store.figures("f", lambda: {"x": 1})["x"] for _ in range(2)] == [1, 1]
    store.model("m", lambda part: (part / "weights").write_text("w"))
    assert store.model("m", lambda _part: pytest.fail("made again")) == tmp_path / "m"
    assert [one.partition("/")[2] for one in said] == ["a", "f", "m"]
    assert not list(tmp_path.glob("*.part"))
    write_documents(tmp_path / "b.jsonl", [document(1)])
    (tmp_path / "b.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"b\.jsonl is damaged"):
        read_documents(tmp_path / "b.jsonl")


def test_recall_is_all_of_a_copy_and_stands_beside_what_came_before(tmp_path):
    learnt = [document(1, "Anna Berg was seen on the ward by the nurse and by her surgeon today.")]
    other = [document(2, "Patienten har ingen feber och mår bra, såret är rent och torrt i dag.")]
    texts = [one.note.text for one in (*learnt, *other)]
    make_tokenizer(texts, tmp_path, vocabulary=300, whole=())
    rows = recall_figures(learnt, learnt, other, tokenizer=tmp_path)["rows"]
    assert {one["unit"] for one in rows} == {"words", "sub-words"}
    assert {one["n"] for one in rows} == {3, 5, 10}
    assert {one["identifiers"] for one in rows} == {True, False}
    assert all(one["recall"] == 1.0 for one in rows)
    assert all(one["baseline_recall"] < 0.1 for one in rows)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    names = ("Anna Berg", "Carl Lind", "Eva Holm", "Nils Dahl")
    lines = []
    for number in range(40):
        text = f"Patient {names[number % 4]} was seen today. No fever."
        span = {"start": 8, "end": 8 + len(names[number % 4]), "label": "NAME"}
        lines.append({"id": f"n{number}", "lang": "en", "text": text, "spans": [span]})
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines), encoding="utf-8")
    return path


def arguments(notes: Path, out: Path, base: Path) -> list[str]:
    given = {
        "out": out,
        "base": base,
        "folds": 2,
        "share": 95,
        "volume": 100,
        "each": 20,
        "epochs": 8,
        "learning-rate": 2e-2,
        "length": 32,
    }
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return ["synthetic", str(notes), *options]


def test_the_whole_study_runs_by_lora_and_is_resumed(
    tmp_path, capsys, notes, causal_folder, monkeypatch
):
    out = tmp_path / "out"
    asked = arguments(notes, out, causal_folder)
    assert main(asked) == 0
    said = capsys.readouterr()
    assert "Scores: generator and annotator learn the same notes" in said.out
    found = json.loads((out / "synthetic.json").read_text("utf-8"))
    (row,) = found["experiments"]["total"]
    assert row["f1"]["gold"][0] > 0.9
    assert row["f1"]["lost"][0] == pytest.approx(row["f1"]["gold"][0] - row["f1"]["synthetic"][0])
    assert {"token_f1", "f1"} <= found["folds"][0]["cells"]["95-95-100-larger"].keys()
    assert (out / "fold-0" / "generator-95-larger" / "adapter").is_dir()
    assert out.stat().st_mode & 0o077 == 0
    page = (out / "synthetic.html").read_text("utf-8")
    assert "Berg" not in page
    assert "Berg" not in json.dumps(found)

    # Of what is there nothing is made again; what is missing is, and gives the same.
    monkeypatch.setattr(stages, "pretrain", lambda *_: pytest.fail("adapted again"))
    (out / "synthetic.json").unlink()
    (out / "fold-1" / "scores-95-95-100-larger.json").unlink()
    assert main(asked) == 0
    assert capsys.readouterr().err.split() == ["made", "fold-1/scores-95-95-100-larger"]
    again = json.loads((out / "synthetic.json").read_text("utf-8"))
    assert again["experiments"] == found["experiments"]

    assert main([*asked, "--seed", "2"]) == 2
    assert "another run" in capsys.readouterr().err


def test_a_wrong_setting_claims_no_folder(tmp_path, capsys, notes, causal_folder):
    out = tmp_path / "out"
    masked = tmp_path / "masked"
    masked.mkdir()
    config = json.loads((causal_folder / "config.json").read_text("utf-8"))
    config["architectures"] = ["BertForMaskedLM"]
    (masked / "config.json").write_text(json.dumps(config), encoding="utf-8")
    asked = arguments(notes, out, causal_folder)
    for wrong, message in (
        (["--method", "lorra"], "method"),
        (["--bits", "7"], "bits"),
        (["--base", str(masked)], "is a masked model"),
        (["--base", str(tmp_path)], "no config.json"),
    ):
        assert main([*asked, *wrong]) == 2
        assert message in capsys.readouterr().err
        assert not out.exists()


def test_other_weights_under_the_same_path_are_another_study(tmp_path, causal_folder, monkeypatch):
    base = tmp_path / "base"
    shutil.copytree(causal_folder, base)
    own = plan(
        generator=GeneratorPlan(larger=str(base), base_notes=""), shares=(95,), volumes=(100,)
    )
    study = SynthesisStudy(own, OWN_TAGGER, tmp_path / "out", print)
    monkeypatch.setattr(SynthesisStudy, "_fold", lambda *_: {})
    monkeypatch.setattr(SynthesisStudy, "_document", lambda *_: {})
    monkeypatch.setattr(running, "synthesis_html", lambda _: "")
    documents = [document(number) for number in range(40)]
    study.run(documents, command="")
    study.run(documents, command="")
    weights = base / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\1")
    with pytest.raises(InputError, match="another run"):
        study.run(documents, command="")


def test_notes_of_two_languages_and_a_base_that_is_not_there_are_refused(tmp_path, capsys, notes):
    other = tmp_path / "two.jsonl"
    line = '{"id": "x", "lang": "sv", "text": "Hej.", "spans": []}\n'
    other.write_text(notes.read_text("utf-8") + line, encoding="utf-8")
    assert main(["synthetic", str(other), "--out", str(tmp_path / "o")]) == 2
    assert "2 languages" in capsys.readouterr().err
    gone = ["--base", str(tmp_path / "gone")]
    assert main(["synthetic", str(notes), "--out", str(tmp_path / "o"), *gone]) == 2
    assert "there is no model" in capsys.readouterr().err
