"""The positive control of an audit is the target with something planted in it."""

from __future__ import annotations

import numpy as np
from tiny_worlds import CAUSAL, train_causal

from deid_audits.models.controls import plant
from deid_audits.models.opened import open_model
from deid_audits.models.scoring import Scorer


def test_the_controls_copy_knows_the_planted_texts_and_the_target_stays_as_it_was(
    small_world, tmp_path
):
    notes = small_world.corpus.training
    target = open_model(train_causal(notes[:30], tmp_path / "model", **{**CAUSAL, "epochs": 1}))
    texts = [note.text for note in small_world.corpus.held_out[:3]]
    before = _losses(target, texts)

    learnt = _losses(plant(target, texts), texts)

    assert learnt.max() < before.min() / 4
    assert np.array_equal(_losses(target, texts), before)


def _losses(model, texts):
    return np.array([one.loss for one in Scorer(model).tokens(texts)])
