"""Differential privacy.

Accountants against reference values, clipping, no noise as plain training, and the page.
"""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import torch

pytest.importorskip("opacus")

from deid_assets.core.errors import ConfigError
from deid_audits.models.measures import AttackEstimate
from deid_causal.new_model import make_model, make_tokenizer
from deid_causal.settings import NewCausal
from deid_causal.steps import Pair, batch_of, response_loss
from deid_privacy.defences import Arm, DefenceSettings
from deid_privacy.defences_page import defences_html
from deid_privacy.defences_tuning import choose
from deid_privacy.private import Course, train_private
from deid_training.guarantee import Guarantee, guarantee_for
from deid_training.optimize import generator, linear_rate

TEXTS = [
    "Anna was seen today.",
    "No fever, no pain.",
    "The patient sleeps well.",
    "He takes aspirin.",
    "She left early.",
]
COURSE = Course(steps=1, batch=3, length=16, learning_rate=1.0, clip=0.05)


def sgd(model, *, learning_rate, weight_decay):
    return torch.optim.SGD(model.parameters(), lr=learning_rate, weight_decay=weight_decay)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    tokenizer = make_tokenizer(TEXTS, tmp_path_factory.mktemp("tokens"), vocabulary=300, whole=())
    torch.manual_seed(1)
    shape = {
        "vocabulary": 300,
        "context": 64,
        "width": 16,
        "layers": 1,
        "heads": 2,
        "feed_forward": 16,
    }
    model = make_model(NewCausal(**shape), tokenizer)
    end = tokenizer.eos_token_id
    return model, [[end, *ids, end] for ids in tokenizer(TEXTS)["input_ids"]], end


def vector(model):
    return torch.cat([one.detach().flatten() for one in model.parameters()])


def test_epsilon_is_what_another_library_accounts_for_the_same_run():
    # dp-accounting 0.6.0 (Google): RdpAccountant 1.79900, PLDAccountant 1.54386 for Poisson-sampled
    # Gaussian noise.
    promised = Guarantee(noise=2.0, rate=0.1, steps=100, delta=1e-3)
    assert promised.epsilon("rdp") == pytest.approx(1.79900, abs=1e-4)
    assert promised.epsilon("prv") == pytest.approx(1.54386, rel=0.01)
    assert promised.epsilon("prv") >= 1.5438  # a bound from above
    assert Guarantee(0.0, 0.1, 100, 1e-3).epsilon() == float("inf")


def test_the_noise_for_a_budget_keeps_it_and_hardly_more():
    found = guarantee_for(3.0, rate=0.1, steps=50, delta=1e-3)
    assert 2.8 < found.epsilon() <= 3.0
    assert guarantee_for(float("inf"), rate=0.1, steps=50, delta=1e-3).noise == 0
    with pytest.raises(ConfigError, match="above 0"):
        guarantee_for(0.0, rate=0.1, steps=50, delta=1e-3)


def test_no_note_moves_the_weights_by_more_than_the_longest_gradient(start):
    model, rows, end = start
    moved = []
    for clip in (0.05, 0.1):
        trained = copy.deepcopy(model)
        one = Course(steps=1, batch=1, length=16, learning_rate=1.0, clip=clip)
        train_private(trained, rows[:1], one, noise=1e-9, end=end, seed=1, make_optimizer=sgd)
        moved.append(float((vector(trained) - vector(model)).norm()))
    assert moved == pytest.approx([0.05, 0.1], rel=1e-3)  # the gradient itself is longer than both


def test_the_noise_of_a_step_is_what_the_guarantee_counts(start):
    """Its deviation is noise times clip over the notes of a step.

    With half of it the promised epsilon is not kept.
    """
    model, rows, end = start
    found = []
    for noise, clip in ((2.0, 0.05), (1.0, 0.05), (2.0, 0.1)):
        trained = copy.deepcopy(model)
        one = Course(steps=1, batch=2, length=16, learning_rate=1.0, clip=clip)
        train_private(trained, rows[:2], one, noise=noise, end=end, seed=1, make_optimizer=sgd)
        found.append(float((vector(trained) - vector(model)).std()))
    # The gradients of two notes add at most their clipped lengths to thousands of weights: they do
    # not show beside it.
    assert found == pytest.approx([2.0 * 0.05 / 2, 1.0 * 0.05 / 2, 2.0 * 0.1 / 2], rel=0.05)


def test_half_the_noise_of_a_budget_is_accounted_as_twice_the_epsilon():
    told = guarantee_for(3.0, rate=0.1, steps=50, delta=1e-3)
    half = Guarantee(told.noise / 2, told.rate, told.steps, told.delta)
    assert told.epsilon() <= 3.0
    assert half.epsilon() > 6.0


def test_without_noise_it_is_plain_training(start):
    model, rows, end = start
    course = Course(steps=4, batch=3, length=16, learning_rate=0.1)
    private, plain = copy.deepcopy(model), copy.deepcopy(model)
    train_private(private, rows, course, noise=0.0, end=end, seed=5, make_optimizer=sgd)

    rng, optimizer = generator(5, 71), torch.optim.SGD(plain.parameters(), lr=0.1)
    for step in range(course.steps):
        chosen = np.flatnonzero(rng.random(len(rows)) < 3 / len(rows))
        optimizer.param_groups[0]["lr"] = 0.1 * linear_rate(step, steps=course.steps, warm_up=0.05)
        optimizer.zero_grad()
        for at in chosen:
            loss, count = response_loss(
                plain, batch_of([Pair(rows[at][:1], rows[at][1:16])], end, plain.device)
            )
            (loss / count / course.batch).backward()
        optimizer.step()

    assert (vector(private) - vector(model)).norm() > 0.01
    assert torch.allclose(vector(private), vector(plain), atol=1e-5)
    assert not any(hasattr(one, "grad_sample") for one in private.parameters())


def test_the_same_seed_gives_the_same_noise_and_another_gives_other(start):
    model, rows, end = start
    ends = []
    for seed in (1, 1, 2):
        trained = copy.deepcopy(model)
        train_private(trained, rows, COURSE, noise=1.0, end=end, seed=seed, make_optimizer=sgd)
        ends.append(vector(trained))
    assert torch.equal(ends[0], ends[1])
    assert not torch.equal(ends[0], ends[2])


@pytest.mark.parametrize(("value", "said"), [(0.9, "Positive control held"), (0.52, "VOID")])
def test_the_page_is_void_where_the_undefended_model_gives_nothing_away(value, said):
    loss = AttackEstimate("loss per token", 3.0, 2.9, 3.1, 6.4, 100)
    attacks = tuple(
        AttackEstimate(name, value, value - 0.05, value + 0.05, 0.5, 50)
        for name in ("membership AUC", "names")
    )
    promised = Guarantee(1.0, 0.05, 100, 1e-4)
    epsilons = {"prv": 3.0, "rdp": 3.4}
    arms = [
        Arm("undefended", "none", 100, 0, None, {}, loss, attacks),
        Arm("DP, ε = 3", "dp", 100, 0, promised, epsilons, loss, attacks),
    ]
    page = defences_html(arms, DefenceSettings(), provenance={"Command": "deid privacy dp"})
    assert said in page
    assert "1.0e-04" in page
    assert page.count("data:image/png") == 2
    assert [Arm.from_json(json.loads(json.dumps(arm.to_json()))) for arm in arms] == arms


def test_rates_are_chosen_on_another_corpus_and_no_trial_is_run_twice(tmp_path):
    wanted = DefenceSettings(notes=40, people=2, epsilons=(8.0,), course=Course(steps=2, batch=8))
    courses, tried = choose(wanted, (1e-3, 2e-2), (0.5,), tmp_path)
    best = min(tried, key=lambda one: one.loss)
    assert (courses[8.0].learning_rate, courses[8.0].clip, courses[8.0].steps) == (
        best.learning_rate,
        0.5,
        2,
    )
    again = []
    assert choose(wanted, (1e-3, 2e-2), (0.5,), tmp_path, again.append) == (courses, tried)
    assert again == []
