"""Every trainer against development notes with a label, a language and a note without spans that
training never saw.
"""

import pytest

from deid_assets import DisjointSpans, Note, Phi, Span, plugins
from deid_assets.core.detector import Failed, detect
from deid_assets.core.trainer import Document
from deid_assets.training import Corpus, Materials, Recipe, train_model
from deid_assets.training.run import make_task, open_model

CHEAPEST = {
    "crf": {"predictions_of": "", "min_patients": 1, "max_iterations": 60},
    "flair": {
        "embeddings": [{"kind": "onehot", "width": 8, "min_count": 1}],
        "hidden": 16,
        "max_epochs": 12,
        "optimizer": "adamw",
        "learning_rate": 0.02,
        "batch_size": 2,
        "threads": 1,
    },
    "transformers": {
        "new": {
            "layers": 1,
            "hidden": 32,
            "heads": 2,
            "positions": 64,
            "vocabulary": 300,
            "dropout": 0.0,
        },
        "window": 48,
        "epochs": 40,
        "batch": 4,
        "learning_rate": 5e-3,
        "patience": 40,
        "collapse_after": 40,
        "threads": 1,
    },
    "generative": {
        "new": {
            "layers": 2,
            "width": 32,
            "heads": 2,
            "feed_forward": 64,
            "vocabulary": 330,
            "context": 128,
            "steps": 0,
        },
        "method": "full",
        "placeholders": "typed",
        "learning_rate": 1e-2,
        "epochs": 2,
        "batch": 4,
        "longest": 128,
        "schedule": "constant",
        "warm_up": 0.0,
        "threads": 1,
        "checker": "",
    },
}
"""Smallest settings with which a trainer learns one word by heart.

One not named here is not run.
"""


def document(note_id, text, *spans, lang="en"):
    note = Note(note_id, text, patient_id=note_id, lang=lang)
    return Document(
        note, DisjointSpans.of(note, [Span(start, end, label) for start, end, label in spans])
    )


@pytest.fixture
def materials():
    names = ("Lee", "Ray", "Ito", "Lee", "Ray", "Ito")
    train = [
        document(f"t{number}", f"Seen by Dr {name}.", (11, 14, Phi.NAME))
        for number, name in enumerate(names)
    ]
    dev = [
        document("d0", "Seen by Dr Lee. PLZ 50937.", (11, 14, Phi.NAME), (20, 25, Phi.ZIP)),
        document("d1", "Untersucht von Dr Ray.", (18, 21, Phi.NAME), lang="de"),
        document("d2", "No fever, no cough."),
        document("d3", " \n"),
    ]
    return Materials(corpora=[Corpus("train", tuple(train))], dev=Corpus("dev", tuple(dev)))


def recipe(plugin, **changes):
    return Recipe.model_validate(
        {"name": "mine", "plugin": plugin, "settings": CHEAPEST[plugin], **changes}
    )


@pytest.mark.parametrize("plugin", CHEAPEST)
def test_the_inventory_has_the_labels_of_the_development_notes(plugin, materials):
    if plugin not in plugins.available(plugins.TRAINERS):
        pytest.skip(f"plugin {plugin} is not installed")
    task = make_task(recipe(plugin), materials, plugins.load_trainer(plugin))

    assert task.labels == {"NAME": Phi.NAME, "ZIP": Phi.ZIP}


@pytest.mark.parametrize(
    "plugin",
    ["crf", *(pytest.param(name, marks=pytest.mark.slow) for name in ("flair", "transformers"))],
)
@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_a_strange_development_part_costs_no_run(plugin, scheme, materials, tmp_path):
    if plugin not in plugins.available(plugins.TRAINERS):
        pytest.skip(f"plugin {plugin} is not installed")
    card = train_model(recipe(plugin, scheme=scheme), materials, tmp_path / "model")

    assert card.labels == {"NAME": "NAME", "ZIP": "ZIP"}
    assert card.dev["labels"]["ZIP"]["fn"] == 1
    assert card.dev["notes"] == 4


@pytest.mark.slow
def test_a_model_that_rewrites_is_judged_on_a_strange_development_part(materials, tmp_path):
    """Two passes teach it nothing, so that only the run itself is asked.

    Judged after each, written and opened.
    """
    if "generative" not in plugins.available(plugins.TRAINERS):
        pytest.skip("plugin generative is not installed")
    wanted, curve = recipe("generative"), []
    trainer = plugins.load_trainer("generative")
    task = make_task(wanted, materials, trainer)
    trainer.train(task, tmp_path, curve.append)
    outcomes = detect(open_model(wanted, tmp_path), [one.note for one in materials.dev.documents])

    assert [point.epoch for point in curve if point.dev_f1 is not None] == [1, 2]
    assert len(outcomes) == 4
    assert not any(isinstance(one, Failed) for one in outcomes)
