"""Whole analyses: what the document holds, and what it must not hold."""

import json
import sys

import pytest

from deid_assets import DisjointSpans, Note, plugins
from deid_assets.core.detector import detect
from deid_assets.core.errors import InputError
from deid_assets.core.trainer import Document
from deid_assets.training import Corpus, Materials, Recipe, train_model

_ANALYSIS = pytest.importorskip("deid_tagger_analysis.analysis")
AnalysisOptions, analyse, vectors_json = (
    _ANALYSIS.AnalysisOptions,
    _ANALYSIS.analyse,
    _ANALYSIS.vectors_json,
)
changes = pytest.importorskip("deid_tagger_analysis.models").changes

NETWORK = """

import numpy as np


class Network(Trainer):
    def vectors(self, model, notes):
        for note in notes:
            count = len(tokenize(note.text))
            yield {
                "embeddings": np.eye(count, 3, dtype="float32"),
                "encoder": np.eye(count, 2, dtype="float32"),
            }

    def evidence(self, model, most):
        return [{"label": "NAME", "about": "a word", "what": "Qwertz", "weight": 2.0}]
"""


@pytest.fixture
def trained(xwords, notes, tmp_path):
    """Return a function that trains a model under a name, on names, and returns its folder."""

    def train(name, *names, **changed):
        recipe = Recipe.model_validate({"name": name, "plugin": "xwords", **changed})
        train_model(
            recipe,
            Materials(corpora=[notes(*names, corpus="train")], dev=dev(notes)),
            tmp_path / name,
        )
        return tmp_path / name

    return train


def dev(notes):
    return notes("Lee", "Qwertz", corpus="dev")


@pytest.fixture
def as_network(tmp_path, trained):
    """Let the trainer show vectors and evidence."""
    source = tmp_path / "site" / "deid_xwords" / "__init__.py"
    source.write_text(source.read_text() + NETWORK)
    names = tmp_path / "site" / "deid_xwords-1.0.dist-info" / "entry_points.txt"
    names.write_text(names.read_text().replace("xwords:Trainer", "xwords:Network"))
    sys.modules.pop("deid_xwords", None)


def test_a_model_is_scored_and_its_errors_are_told(trained, notes):
    document = analyse([trained("mine", "Lee", "Ray")], notes("Lee", "Qwertz", corpus="seen"))

    (model,) = document["models"]
    assert model["f1"]["value"] == pytest.approx(6 / 7)
    assert model["difference"] is None
    assert document["labels"]["NAME"]["fn"] == 1
    assert document["errors"]["kinds"] == {"missed": 1, "boundary": 0, "label": 0, "spurious": 0}
    assert document["notes"]["spans"] == 4
    assert model["these_are_its"] == ""


def test_a_model_that_is_no_network_says_so_in_one_line(trained, notes):
    document = analyse([trained("mine", "Lee", "Ray")], dev(notes))

    assert document["vectors"] == {
        "left_out": "a model of the plugin xwords has no vectors: it is no network"
    }


def test_notes_that_a_model_has_learnt_are_named(trained, notes):
    folder = trained("mine", "Lee", "Ray")

    assert (
        analyse([folder], notes("Lee", "Ray", corpus="train"))["models"][0]["these_are_its"]
        == "train"
    )
    assert analyse([folder], dev(notes))["models"][0]["these_are_its"] == "dev"


def test_what_a_change_costs_is_told_with_its_interval(trained, notes):
    names = [f"Name{letter}" for letter in "abcdefghijklmnopqrst"]
    good, bad = trained("good", *names), trained("bad", *names[:10], settings={"epochs": 3})
    first, second = analyse([good, bad], notes(*names, corpus="seen"))["models"]

    assert (first["f1"]["value"], second["f1"]["value"]) == (1.0, pytest.approx(30 / 35))
    gap = second["difference"]
    assert gap["value"] == pytest.approx(30 / 35 - 1)
    assert gap["low"] < gap["value"] < gap["high"] < 0
    assert gap["p"] < 0.05
    assert {row["key"]: (row["first"], row["other"]) for row in second["changes"]} == {
        "epochs": ("2", "3"),
        "training notes": ("as they were", "others"),
    }
    assert second["six"]["entity"]["binary"] < first["six"]["entity"]["binary"] == 1.0


def test_changes_name_the_setting_and_no_folder(trained, xwords):
    class Card:
        def __init__(self, **settings):
            self.recipe, self.corpora = {"name": "x", "corpora": settings.pop("corpora", ())}, ()
            self.settings = settings

    one = Card(
        embeddings=[{"kind": "word", "width": 50}, {"kind": "flair"}],
        encoder="lstm",
        corpora=["/secret/a.jsonl"],
    )
    two = Card(
        embeddings=[{"kind": "word", "width": 10}, {"kind": "flair"}],
        encoder="linear",
        corpora=["/secret/b.jsonl"],
    )
    three = Card(embeddings=[{"kind": "flair"}], encoder="lstm", corpora=["/secret/a.jsonl"])

    assert [tuple(row.values()) for row in changes(one, two)] == [
        ("corpora", "a.jsonl", "b.jsonl"),
        ("embeddings.1.width", "50", "10"),
        ("encoder", "lstm", "linear"),
    ]
    four = Card(epochs=3, corpora=["/secret/a.jsonl"])
    four.recipe["plugin"] = "crf"
    assert [tuple(row.values()) for row in changes(one, four)] == [("plugin", "none", "crf")]
    assert [tuple(row.values()) for row in changes(one, three)] == [
        ("embeddings", "word, flair", "flair")
    ]


def test_no_word_of_a_note_is_in_a_document_without_words(trained, notes, as_network):
    document = analyse([trained("mine", "Lee", "Ray")], dev(notes))
    told = json.dumps(document)

    assert document["vectors"]["tokens"] > 4
    assert not [word for word in ("Lee", "Qwertz", "Seen") if word in told]


def test_words_and_evidence_are_there_when_they_are_asked_for(trained, notes, as_network):
    options = AnalysisOptions(
        with_words=True, asked=("seen",), learnt=notes("Ray", "Ray").documents
    )
    document = analyse([trained("mine", "Lee", "Ray")], dev(notes), options=options)

    by_word = {row["word"]: row for row in document["words"]["neighbours"]}
    assert by_word["Qwertz"]["why"] == "missed"
    assert (by_word["Seen"]["why"], by_word["Seen"]["count"]) == ("asked for", 2)
    assert document["evidence"] == [
        {"label": "NAME", "about": "a word", "what": "Qwertz", "weight": 2.0}
    ]


def test_notes_without_enough_words_leave_the_vectors_out(trained, as_network):
    note = Note("n", "a . ,")
    documents = [Document(note, DisjointSpans.of(note, ()))]
    found, space = vectors_json(plugins.load_trainer("xwords"), None, documents, native=False)

    assert space is None
    assert found == {"left_out": "1 words are too few to show vectors of; give more notes"}


def test_faults_are_told_before_anything_is_read(trained, notes, tmp_path):
    folder = trained("mine", "Lee", "Ray")
    corpus = Corpus("x", ())
    with pytest.raises(InputError, match="one model folder or several different ones"):
        analyse([folder, tmp_path / "." / "mine"], corpus)
    with pytest.raises(InputError, match=r"no card\.json"):
        analyse([tmp_path], corpus)
    (folder / "tagger.json").write_text("{}")
    with pytest.raises(InputError, match=r"tagger\.json: altered"):
        analyse([folder], corpus)


def test_the_metadata_of_a_network_holds_a_picture_and_no_word(trained, notes, as_network):
    from deid_assets.assets.training import analyses_of, show_analyses

    model, judged = trained("mine", "Lee", "Ray"), dev(notes)
    answers = detect(
        plugins.load("xwords", options={"model": str(model)}),
        [one.note for one in judged.documents],
    )
    found = show_analyses(analyses_of(model, judged.documents, answers))

    assert list(found) == [
        "errors_on_development_notes",
        "neighbours_with_the_same_label",
        "vectors",
    ]
    assert found["vectors"].startswith("![Vectors of mine](data:image/png;base64,")
    assert "| NAME | 2 | 1 | 0 | 0 | 0 | 1 | 0 |" in found["errors_on_development_notes"]
    told = "".join(value for name, value in found.items() if name != "vectors")
    assert not [word for word in ("Lee", "Qwertz", "Seen") if word in told]
