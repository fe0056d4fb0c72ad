"""A generative recipe in the graph.

An adapter with the study's tables, and a detector under the recipe's name.
"""

import json

import dagster as dg
import pytest

from deid_assets import plugins
from deid_assets.store.files import ALL

pytestmark = pytest.mark.slow

RECIPE = """\
name = "generative_toy"
plugin = "generative"
corpora = ["CORPUS"]
dev_share = 0.4
[settings]
method = "full"
epochs = 14
batch = 4
micro_batch = 4
learning_rate = 1e-2
schedule = "constant"
judged = 12
threads = 1
checker = ""
[settings.new]
layers = 2
width = 48
heads = 2
feed_forward = 96
vocabulary = 400
context = 128
steps = 0
"""


NAMES = (
    "Lee Mora Berg Hill Ruiz Adam Noel Petit Roux Blanc Faure Garnier Lopez Henry Morel Simon Leroy"
    " Roy Dumas Colin"
)


def record(number, name):
    text = f"Vu par Dr {name}, toux."
    return {
        "id": f"toy-{number}",
        "patient_id": f"p{number}",
        "text": text,
        "lang": "fr",
        "spans": [{"start": 10, "end": 10 + len(name), "label": "NAME"}],
    }


LEARNT = [
    *(record(number, name) for number, name in enumerate(NAMES.split())),
    {
        **record(90, "Ivry"),
        "text": "Vit à Ivry, toux.",
        "spans": [{"start": 6, "end": 10, "label": "CITY"}],
    },
]


def test_an_adapter_is_trained_shown_with_its_tables_and_detects(installation, note_records):
    if "generative" not in plugins.available():
        pytest.skip("not installed: generative")
    path = installation.root / "generative_toy.toml"
    corpus = installation.root / "learnt.jsonl"
    corpus.write_text("".join(json.dumps(record) + "\n" for record in LEARNT))
    path.write_text(RECIPE.replace("CORPUS", str(corpus)))
    installation.detectors = ("stencil", "shade", "generative")
    settings = installation.default_settings.replace("recipes = []", f'recipes = ["{path}"]')
    installation.configure(
        settings.replace("[gates]", "[gates]\nnear_duplicates = 1.0\ntagger_f1 = 0.0\n")
    )
    batch = installation.receive(list(note_records(0)))

    trained = installation.run(None, job="train_taggers")
    assert trained.success, installation.failures(trained)
    made = {
        event.step_materialization_data.materialization.asset_key: (
            event.step_materialization_data.materialization
        )
        for event in trained.get_asset_materialization_events()
    }[dg.AssetKey("adapter_generative_toy")]
    assert "notes redacted whole" in made.metadata["rewriting"].value
    assert {"alterations", "epochs", "annotation_audit", "curve"} <= made.metadata.keys()

    done = installation.run(batch)
    assert done.success, installation.failures(done)
    opened = installation.opened()
    receipt = opened.files.receipt("spans_generative_toy", batch)
    assert (
        receipt.inputs["adapter_generative_toy@all"]
        == opened.files.receipt("adapter_generative_toy", ALL).digest
    )
