"""The recipes against what Catelli (2021) publishes, typed from the thesis.

Table 1.2, sections 3.2 and 4.
"""

import re

import pytest

from deid_assets import plugins
from deid_assets.training import load_recipe, recipe_names

WIDTHS = {
    "glove.6B.100d.txt": 100,
    "cc.it.300.bin": 300,
    "news-forward": 2048,
    "news-backward": 2048,
    "it-forward": 2048,
    "it-backward": 2048,
    "multi-forward-fast": 1024,
    "multi-backward-fast": 1024,
    "it.wiki.bpe.vs100000.model": 600,
    "multi.wiki.bpe.vs1000000.model": 600,
}
"""Of what a token is given by each published embedding."""
# System: sentences in one input, batch, width of the stack, Bi-LSTM or linear, CRF or softmax,
# strategy.
BILSTM = {
    "a1_1": (1, 4, 4196, "lstm", "crf", "single"),
    "a1_2": (2, 4, 4196, "lstm", "crf", "single"),
    "a1_4": (4, 4, 4196, "lstm", "crf", "single"),
    "a1_8": (8, 4, 4196, "lstm", "crf", "single"),
    "a1_16": (16, 4, 4196, "lstm", "crf", "single"),
    "a1_32": (32, 4, 4196, "lstm", "crf", "single"),
    "a3_a": (32, 4, 4096, "lstm", "crf", "single"),
    "a3_b": (32, 4, 100, "lstm", "crf", "single"),
    "a3_c": (32, 4, 4196, "linear", "crf", "single"),
    "a3_d": (32, 4, 4196, "lstm", "softmax", "single"),
    "a3_e": (32, 4, 4196, "linear", "softmax", "single"),
    "b1": (1, 16, 300, "lstm", "crf", "single"),
    "b2": (1, 16, 4096, "lstm", "crf", "single"),
    "b3": (1, 16, 4396, "lstm", "crf", "single"),
    "b6": (1, 16, 4396, "lstm", "softmax", "single"),
    "b7": (1, 16, 4396, "linear", "crf", "single"),
    "b8": (1, 16, 4396, "linear", "softmax", "single"),
    "c1": (1, 16, 4696, "lstm", "crf", "single"),
    "c2": (1, 16, 2648, "lstm", "crf", "single"),
    "c2_mix": (1, 16, 2648, "lstm", "crf", "mix"),
    "c2_sequential": (1, 16, 2648, "lstm", "crf", "sequential"),
    "c5": (1, 16, 600, "lstm", "crf", "sequential"),
    "c6": (1, 16, 2048, "lstm", "crf", "sequential"),
}
# System: sentences in one input, sub-tokens in a sequence, strategy.
BERT = {
    "a2_1": (1, 256, "single"),
    "a2_11": (11, 512, "single"),
    "b4": (1, 512, "single"),
    "b5": (1, 512, "single"),
    "c4": (1, 512, "single"),
    "c4_mix": (1, 512, "mix"),
    "c4_sequential": (1, 512, "sequential"),
}
TRAINING = {
    "learning_rate": 0.1,
    "anneal_factor": 0.5,
    "patience": 3,
    "min_learning_rate": 1e-4,
    "max_epochs": 500,
    "hidden": 256,
    "layers": 1,
    "word_dropout": 0.05,
    "locked_dropout": 0.5,
    "clip": 5.0,
    "optimizer": "sgd",
    "reproject": True,
}


def completed(name):
    recipe = load_recipe(name)
    if recipe.plugin not in plugins.available(plugins.TRAINERS):
        pytest.skip(f"plugin {recipe.plugin} is not installed")
    return recipe, plugins.load_trainer(recipe.plugin).settings(recipe.settings)


@pytest.mark.parametrize("name", BILSTM)
def test_a_published_bilstm_is_as_published(name):
    recipe, settings = completed(name)
    width = sum(WIDTHS[embedding["model"]] for embedding in settings["embeddings"])
    found = (
        recipe.grouping,
        settings["batch_size"],
        width,
        settings["encoder"],
        settings["decoder"],
        recipe.strategy,
    )

    assert found == BILSTM[name]
    assert {key: settings[key] for key in TRAINING} == TRAINING
    assert (recipe.scheme, recipe.labels, recipe.runs) == ("bio", "native", 5)


@pytest.mark.parametrize("name", BERT)
def test_a_published_bert_is_as_published(name):
    recipe, settings = completed(name)

    assert (recipe.grouping, settings["window"], recipe.strategy) == BERT[name]
    assert (settings["batch"], settings["epochs"], settings["decoder"]) == (32, 5, "softmax")
    assert settings["patience"] >= settings["epochs"]  # all are run
    assert (recipe.scheme, recipe.labels, recipe.runs) == ("bio", "native", 5)


@pytest.mark.parametrize("name", [*BILSTM, *BERT])
def test_what_is_trained_here_differs_in_nothing_that_its_recipe_does_not_say(name):
    published, theirs = completed(name)
    recipe, ours = completed(f"{name}_here")
    said = recipe.differs
    same = ("grouping", "strategy", "scheme", "labels")

    assert {key: getattr(recipe, key) for key in same} == {
        key: getattr(published, key) for key in same
    }
    if recipe.plugin == "flair":
        keys = [key for key in theirs if key not in ("embeddings", "threads")]
        assert {key: ours[key] for key in keys} == {key: theirs[key] for key in keys}
        kinds = [embedding["kind"] for embedding in ours["embeddings"]]
        assert ("fastText vectors of" in said) == ("word" in kinds)
        assert ("sub-words of 2 x 100" in said) == ("bpemb" in kinds)
        assert ("character models of 2 x 128" in said) == ("flair" in kinds)
        for published_embedding in theirs["embeddings"]:
            width = WIDTHS[published_embedding["model"]]
            assert re.search(
                rf"\b{width // 2 if published_embedding['kind'] == 'bpemb' else width}\b", said
            )
    else:
        new = ours["new"]
        assert f"{new['layers']} layers, width {new['hidden']}" in said
        assert f"batch {ours['batch']} for {theirs['batch']}" in said
        assert (
            f"at most {ours['epochs']} epochs at rate {ours['learning_rate']} for"
            f" {theirs['epochs']}" in said
        )
        assert (ours["decoder"], ours["window"]) == (theirs["decoder"], theirs["window"])
        assert ("30 % of the sentences without a span" in said) == (ours["keep_empty"] == 0.3)
    assert (f"{recipe.runs} run for {published.runs}" in said) == (recipe.runs != published.runs)


@pytest.mark.parametrize("name", ["a3_d", "a3_e", "b6", "b8"])
def test_legal_sequences_without_a_crf_are_a_row_of_their_own(name):
    _, argmax = completed(name)
    recipe, legal = completed(f"{name}_constrained")

    assert legal == {**argmax, "decoder": "constrained"}
    assert "best legal sequence" in recipe.differs


def test_every_recipe_after_a_published_system_says_what_differs():
    said = {
        name: load_recipe(name).differs for name in recipe_names() if re.match(r"[abc][1-8]", name)
    }
    assert [
        name
        for name, differs in said.items()
        if not differs.startswith("tokens are this project's")
    ] == []
    assert [name for name, differs in said.items() if "nothing;" in differs] == []


SYSTEMS = (
    *(f"a1_{k}" for k in (1, 2, 4, 8, 16, 32)),
    "a2_1",
    "a2_11",
    *(f"a3_{one}" for one in "abcde"),
    "b1",
    "b2",
    "b3",
    "b4",
    "b5",
    "b6",
    "b7",
    "b8",
    "c1",
    "c2",
    "c2_mix",
    "c2_sequential",
    "c4",
    "c4_mix",
    "c4_sequential",
    "c5",
    "c6",
)
"""What Catelli (2021) trained; C3 is B5."""


def test_every_published_system_has_a_recipe_and_one_that_needs_no_download():
    assert {*SYSTEMS, *(f"{name}_here" for name in SYSTEMS)} <= set(recipe_names())
