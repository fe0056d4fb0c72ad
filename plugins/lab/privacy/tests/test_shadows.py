"""Shadow models are trained on known halves and find members.

Gradients are those of the loss, by group of weights.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from privacy_shell import main
from tiny_worlds import CAUSAL, train_causal

from deid_assets.core.errors import InputError
from deid_assets.extending.measuring import auc
from deid_audits.models import gradients
from deid_audits.models.membership import shadow_ratio
from deid_audits.models.opened import open_model
from deid_audits.models.scoring import Scorer
from deid_audits.models.shadows import halves, ratios, read_shadows

COURSE = CAUSAL | {"epochs": 25}


def recipe(path, settings):
    """Write a recipe as a shell reads it."""
    new = settings["new"]
    plain = {name: value for name, value in settings.items() if name != "new"}
    lines = ['name = "shadow"', 'description = "Tiny."', 'plugin = "causal"', "[settings]"]
    lines += [*(f"{name} = {value}" for name, value in plain.items()), "[settings.new]"]
    path.write_text("\n".join([*lines, *(f"{name} = {value}" for name, value in new.items())]))
    return path


def lines_of(path, notes):
    path.write_text(
        "".join(
            json.dumps({"id": one.note_id, "lang": "en", "text": one.text}) + "\n" for one in notes
        )
    )
    return path


@pytest.fixture(scope="module")
def sides(small_world):
    plain = [one for one in small_world.corpus.training if one.note_id.startswith("training")]
    return plain[:40], list(small_world.corpus.held_out[:40])


@pytest.fixture(scope="module")
def shadows(sides, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shadows")
    inside, outside = (
        lines_of(folder / f"{name}.jsonl", side)
        for name, side in zip(("in", "out"), sides, strict=True)
    )
    command = [
        "shadows",
        str(recipe(folder / "recipe.toml", COURSE)),
        str(folder / "made"),
        "--count",
        "4",
    ]
    command += ["--training", str(inside), "--held-out", str(outside)]
    assert main(command) == 0
    return command, folder / "made"


def test_shadow_models_trained_by_the_command_find_the_members(shadows, sides, tmp_path):
    _, folder = shadows
    notes = [*sides[0], *sides[1]]
    target = Scorer(open_model(train_causal(sides[0], tmp_path / "target", **COURSE)))
    texts = [" ".join(one.text.split()) for one in notes]
    given, read = read_shadows(folder).scores(notes, texts, target)

    assert (read.sum(axis=0) == 2).all()
    assert np.mean(given[read]) > np.mean(given[~read])  # the higher, the likelier a member
    found = ratios(np.array([-one.loss for one in target.tokens(texts)]), given, read)
    assert auc(found[:40], found[40:]) > 0.8
    strange = ratios(given[0] * 0 + given[~read].mean(), given, read)
    assert abs(auc(strange[:40], strange[40:]) - 0.5) < 0.2


def test_a_second_call_trains_what_is_missing_and_refuses_others(shadows, sides, capsys):
    command, folder = shadows
    shutil.rmtree(folder / "shadow-002")
    with pytest.raises(InputError, match="1 of 4 shadow models are not trained"):
        read_shadows(folder)
    assert main(command) == 0
    assert "1 of 4 trainings by shadow, each on half of 80 notes" in capsys.readouterr().out
    assert main([*command, "--seed", "2"]) != 0
    assert main([*command[:3], "--count", "5", *command[5:]]) != 0
    scorer = Scorer(open_model(folder / "shadow-000"))
    with pytest.raises(InputError, match="halves of other notes"):
        read_shadows(folder).scores(sides[0], ["a"], scorer)


def test_equal_texts_are_in_the_same_half(sides):
    twice = [sides[0][0], replace(sides[0][0], note_id="again"), *sides[0][1:]]
    drawn = halves(twice, 6, seed=1)
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn.sum(axis=0) == 3).all()
    assert len({tuple(one) for one in drawn.T}) > 5


def test_a_text_that_every_shadow_model_read_is_judged_by_the_gap_of_the_others():
    inside = np.array([[2.0, np.nan, 5.0], [np.nan, 2.0, 5.0]])
    outside = np.array([[np.nan, 0.0, np.nan], [0.0, np.nan, np.nan]])
    found = shadow_ratio(np.array([2.0, 0.0, 5.0]), inside, outside)
    assert found[0] == pytest.approx(found[2])
    assert found[1] == pytest.approx(-found[0])


def test_a_gradient_is_that_of_the_loss_and_its_groups_add_up(causal, masked):
    text = "Olive was seen in clinic today for pain."
    found = gradients.scores([text, ""], Scorer(causal))
    ids = torch.tensor(
        [[causal.opens, *causal.tokenizer(text, add_special_tokens=False)["input_ids"]]]
    )
    causal.model.zero_grad()
    causal.model(input_ids=ids, labels=ids).loss.backward()
    norm = torch.cat([one.grad.flatten() for one in causal.model.parameters()]).norm()
    causal.model.zero_grad()
    assert np.exp(-found[gradients.WHOLE][0]) == pytest.approx(float(norm), rel=1e-4)
    for scores in (found, gradients.scores([text, ""], Scorer(masked))):
        assert {"embeddings", "layer 1", "layer 2", "head"} <= set(scores)
        parts = [
            np.exp(-2 * values[0]) for group, values in scores.items() if group != gradients.WHOLE
        ]
        assert sum(parts) == pytest.approx(np.exp(-2 * scores[gradients.WHOLE][0]), rel=1e-6)
