"""Training with epsilon: the noise that is added, a patient clipped as one, independent draws, what
is spent by a killed run, and what is refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("opacus")
pytest.importorskip("peft")
torch = pytest.importorskip("torch")

import opacus.accountants  # noqa: E402 - takes seconds, which no test is to be charged for
from typer.testing import CliRunner  # noqa: E402

from deid_assets import Note  # noqa: E402
from deid_assets.cli import app  # noqa: E402
from deid_assets.extending import ConfigError, InputError, TrainingError  # noqa: E402
from deid_assets.extending.corpora import PROMISE, read_promise, read_record  # noqa: E402
from deid_assets.training.pretraining import pretrain_model  # noqa: E402
from deid_assets.training.recipe import Recipe  # noqa: E402
from deid_causal import private  # noqa: E402
from deid_causal.new_model import make_model, make_tokenizer  # noqa: E402
from deid_causal.private import PatientUnit, UnitLearner, group_texts, make_private_model, promise  # noqa: E402
from deid_causal.run import begin_model, cut_rows  # noqa: E402
from deid_causal.settings import CausalSettings, NewCausal, read_settings  # noqa: E402
from deid_causal.spent import SPENT, SpentSteps  # noqa: E402
from deid_causal.steps import Pair, batch_of, response_loss  # noqa: E402
from deid_causal.trainer import CausalTrainer  # noqa: E402
from deid_training.guarantee import Guarantee, guarantee_for  # noqa: E402
from deid_training.learner import LoopSettings  # noqa: E402
from deid_training.loop import Loop  # noqa: E402
from deid_training.noise import draw_units  # noqa: E402

NOTES = [
    *(
        Note(f"n{number}", f"Day {number}: no fever.", patient_id=f"p{number}")
        for number in range(4)
    ),
    Note("n4", "The patient sleeps well and takes aspirin.", patient_id="p4"),
    Note("n5", "She left early.", patient_id="p4"),
    Note("n6", "Seen today."),
]
UNITS = 6
# Each step reads all units but where a test draws them: that is accounted fastest.
GIVEN = {"epochs": 2, "batch": 6, "length": 16, "threads": 1, "epsilon": 4.0, "delta": 1e-3}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of some thousand weights that read nothing."""
    out = tmp_path_factory.mktemp("base")
    tokenizer = make_tokenizer(["The ward was quiet."], out, vocabulary=300, whole=())
    torch.manual_seed(1)
    shape = NewCausal(vocabulary=300, context=32, width=16, layers=1, heads=2, feed_forward=16)
    make_model(shape, tokenizer).save_pretrained(out)
    return out


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Such small models are slower on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def settings_of(base: Path, **changes: Any) -> CausalSettings:
    return read_settings({**GIVEN, "base": str(base), **changes})


def recipe_of(base: Path, **changes: Any) -> Recipe:
    return Recipe(name="own", plugin="causal", settings={**GIVEN, "base": str(base), **changes})


def learner_of(
    base: Path, out: Path, guarantee: Guarantee, texts: Sequence[Sequence[str]], **changes: Any
) -> UnitLearner:
    settings = settings_of(base, **changes)
    model, tokenizer = begin_model((), out, settings)
    units = [PatientUnit(cut_rows(each, tokenizer, settings)) for each in texts]
    spent = SpentSteps(out, "test", guarantee.steps)
    return UnitLearner(model, tokenizer, units, settings, guarantee, spent=spent, out=out)


def gradients_of(learner: UnitLearner, *, epochs: int = 1) -> list[torch.Tensor]:
    """Return the gradient that the optimiser is given in each step."""
    found = []

    def keep(*_: object) -> None:
        found.append(torch.cat([each.grad.flatten() for each in learner.model.parameters()]))

    learner.optimizer.register_step_pre_hook(keep)
    Loop(learner, LoopSettings(epochs=epochs, clip=None, has_dropout=False)).run()
    return found


@pytest.mark.parametrize(
    ("epsilon", "clip", "batch"), [(2.0, 1.0, 6), (2.0, 0.1, 6), (16.0, 0.5, 1)]
)
def test_the_noise_of_a_step_is_what_the_accountant_was_told(
    base: Path, tmp_path: Path, epsilon: float, clip: float, batch: int
) -> None:
    settings = settings_of(base, epsilon=epsilon, clip=clip, batch=batch)
    told = promise(UNITS, settings)
    assert 0.8 * epsilon < told.epsilon() <= epsilon

    texts = group_texts(NOTES)
    first = gradients_of(learner_of(base, tmp_path, told, texts, clip=clip, batch=batch))[0]

    # Six gradients of this length do not show among thousands of weights.
    assert len(first) > 5_000
    assert float((first * batch).std()) == pytest.approx(told.noise * clip, rel=0.06)


def test_a_step_without_a_unit_is_noise_alone(base: Path, tmp_path: Path) -> None:
    told = Guarantee(noise=3.0, rate=1e-12, steps=1, delta=1e-3)
    learner = learner_of(base, tmp_path, told, [["No fever."]], batch=1)
    (found,) = gradients_of(learner)
    assert float((found * told.rate).std()) == pytest.approx(3.0, rel=0.06)


def lengths(base: Path, out: Path, texts: Sequence[Sequence[str]], **changes: Any) -> float:
    out.mkdir()
    told = Guarantee(noise=0.0, rate=1.0, steps=1, delta=1e-3)
    learner = learner_of(base, out, told, texts, batch=len(texts), **changes)
    return float(gradients_of(learner)[0].norm()) * len(texts)


@pytest.mark.parametrize("at_once", [1, 16])
def test_two_notes_of_a_patient_are_clipped_as_one_and_of_two_as_two(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(private, "AT_ONCE", at_once)
    same = "The patient sleeps well."
    one = lengths(base, tmp_path / "one", [[same, same]], clip=0.05)
    two = lengths(base, tmp_path / "two", [[same], [same]], clip=0.05)
    assert one == pytest.approx(0.05, rel=1e-3)
    assert two == pytest.approx(0.10, rel=1e-3)


@pytest.mark.parametrize("at_once", [1, 16])
def test_a_units_gradient_is_that_of_its_mean_however_many_sequences_are_read_at_once(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(private, "AT_ONCE", at_once)
    texts = ["The patient sleeps well.", "No fever, no pain, no cough and no rash since Monday."]
    told = Guarantee(noise=0.0, rate=1.0, steps=1, delta=1e-3)
    learner = learner_of(base, tmp_path, told, [texts], batch=1, clip=1e9)
    (unit,) = learner._units
    assert len(unit.rows) > 2
    batch = batch_of(
        [Pair(list(row[:1]), list(row[1:])) for row in unit.rows], 0, torch.device("cpu")
    )
    loss, count = response_loss(learner.model, batch)
    wanted = torch.autograd.grad(loss / count, list(learner.model.parameters()))

    (found,) = gradients_of(learner)

    torch.testing.assert_close(found, torch.cat([each.flatten() for each in wanted]))


def test_units_are_drawn_independently_with_the_rate_that_is_accounted() -> None:
    rng = np.random.default_rng(1)
    drawn = np.zeros((4_000, 20))
    for step in drawn:
        step[draw_units(20, 0.15, rng)] = 1
    assert np.allclose(drawn.mean(0), 0.15, atol=0.03)
    # of sums of independent draws; a batch of fixed size would have none
    assert drawn.sum(1).var() == pytest.approx(20 * 0.15 * 0.85, rel=0.1)
    assert not drawn.any(1).all()


def test_a_training_draws_with_the_rate_of_its_promise(base: Path, tmp_path: Path) -> None:
    told = Guarantee(noise=1.0, rate=1 / 3, steps=300, delta=1e-3)
    learner = learner_of(base, tmp_path, told, group_texts(NOTES), batch=2)
    drawn = [len(step) for epoch in range(100) for step in learner.batches(epoch)]
    assert len(drawn) == 300
    assert 1.6 < np.mean(drawn) < 2.4
    assert len(set(drawn)) > 2


def test_a_patients_notes_are_one_unit_and_notes_without_a_patient_each_one() -> None:
    notes = [*NOTES, Note("n7", "Seen today."), Note("n8", "Late.", patient_id="p4")]
    assert [len(texts) for texts in group_texts(notes)] == [1, 1, 1, 1, 3, 1, 1]


@pytest.mark.parametrize(("epsilon", "steps", "delta"), [(1e-3, 50, 1e-5), (0.05, 100_000, 1e-8)])
def test_an_epsilon_that_no_noise_reaches_is_one_line(
    epsilon: float, steps: int, delta: float
) -> None:
    with pytest.raises(ConfigError, match="is reached by no noise") as refused:
        guarantee_for(epsilon, rate=0.1, steps=steps, delta=delta)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"base": "new"}, "epsilon needs a base"),
        ({"packed": True}, "packed joins notes of two patients"),
        ({"held_out": 0.2}, "held_out tells a loss"),
        ({"epsilon": None}, "delta and clip are of a training with epsilon"),
        ({"epsilon": 0.0}, "epsilon: Input should be greater than 0"),
        ({"epsilon": float("inf")}, "epsilon: Input should be a finite number"),
        ({"delta": 1.0}, "delta: Input should be less than 1"),
    ],
)
def test_settings_under_which_nothing_could_be_promised_are_refused(
    wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        read_settings({**GIVEN, "base": "model", **wrong})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"batch": 7}, "a batch of 7 of 6 patients"), ({"delta": 0.2}, "be told whole")],
)
def test_batch_and_delta_that_do_not_fit_the_patients_are_refused(
    base: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        promise(UNITS, settings_of(base, **changes))


def test_without_a_delta_it_is_a_tenth_of_one_over_the_patients(base: Path) -> None:
    assert promise(UNITS, settings_of(base, delta=None)).delta == pytest.approx(1 / 60)


def test_settings_without_epsilon_are_stored_as_before() -> None:
    assert not {"epsilon", "delta", "clip"} & read_settings({}).to_json().keys()
    given = CausalTrainer().settings({**GIVEN, "base": "model"})
    assert CausalTrainer().settings(given) == given
    assert given["epsilon"] == 4.0


def test_without_opacus_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, opacus.accountants.__name__, None)
    with pytest.raises(ConfigError, match=r"causal\[private\]"):
        Guarantee(1.0, 0.1, 10, 1e-3).epsilon()


def test_the_command_trains_and_the_card_says_what_is_promised(base: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    lines = [
        json.dumps({"id": note.note_id, "text": note.text, "patient_id": note.patient_id})
        for note in NOTES
    ]
    notes.write_text("\n".join(lines), encoding="utf-8")
    recipe = tmp_path / "own.toml"
    settings = "\n".join(f"{name} = {json.dumps(value)}" for name, value in GIVEN.items())
    recipe.write_text(
        f'name = "own"\nplugin = "causal"\n[settings]\nbase = "{base}"\nkeep_epochs = true\n'
        f"{settings}\n",
        encoding="utf-8",
    )
    out = tmp_path / "model"
    arguments = ["pretrain", str(recipe), "--raw", str(notes), "--out", str(out)]

    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 0, result.output
    assert "at delta 0.001 for each patient; privacy.json says what that covers" in result.output
    card = read_promise(out)
    accounted = Guarantee(
        card["noise_multiplier"], card["sampling_rate"], card["steps"], card["delta"]
    )
    assert card["epsilon"] == pytest.approx(accounted.epsilon())
    assert card["epsilon"] <= card["epsilon_asked"] == 4.0
    assert (card["steps"], card["steps_lost"], card["sampling_rate"]) == (2, 0, 1.0)
    assert (card["units"], card["notes"], card["notes_without_patient"]) == (UNITS, 7, 1)
    assert (card["clipping"], card["is_reproducible"]) == (1.0, False)
    assert "Mironov 2017" in card["accountant"]
    assert any("base" in each for each in card["does_not_cover"])
    assert read_record(out).promise == card
    assert (out / "epochs" / "002" / "model.safetensors").exists()
    # the loss of notes is measured without noise
    assert all("loss" not in point for point in json.loads((out / "curve.json").read_text()))
    before = (out / "model.safetensors").read_bytes()
    assert "at delta" in CliRunner().invoke(app, arguments).output
    assert (out / "model.safetensors").read_bytes() == before


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def make(base: Path, out: Path, **changes: Any) -> None:
    out.mkdir(exist_ok=True)
    make_private_model(
        NOTES, out, settings_of(base, **changes), seed=1, version="1", report=lambda _: None
    )


def test_no_seed_gives_the_noise_away_and_no_model_is_made_twice(
    base: Path, tmp_path: Path
) -> None:
    make(base, tmp_path / "a")
    make(base, tmp_path / "b")
    assert weights(tmp_path / "a") != weights(tmp_path / "b")
    before = weights(tmp_path / "a")
    make(base, tmp_path / "a")
    assert weights(tmp_path / "a") == before


def test_what_a_killed_run_began_is_spent(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: UnitLearner, step: int) -> float:
        if step == 4:
            raise KeyboardInterrupt
        return 1.0

    with monkeypatch.context() as patch:
        patch.setattr(UnitLearner, "rate", killed)
        with pytest.raises(KeyboardInterrupt):
            make(base, tmp_path / "m", epochs=6)
    # four steps are stored, and one more had begun
    assert json.loads((tmp_path / "m" / SPENT).read_text())["begun"] == 5

    with pytest.raises(TrainingError, match="other notes or settings"):
        make(base, tmp_path / "m", epochs=6, epsilon=3.0)
    make(base, tmp_path / "m", epochs=6)

    card = read_promise(tmp_path / "m")
    assert (card["steps"], card["steps_lost"]) == (6, 1)
    assert json.loads((tmp_path / "m" / SPENT).read_text())["begun"] == 6


def test_a_training_whose_count_is_lost_is_not_gone_on_with(base: Path, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    with pytest.raises(TrainingError, match=r"lost spent\.json"):
        make(base, tmp_path)
    (tmp_path / SPENT).write_text("{}", encoding="utf-8")
    with pytest.raises(TrainingError, match="what was spent is not known"):
        make(base, tmp_path)


def test_a_base_that_read_the_notes_is_refused(base: Path, tmp_path: Path) -> None:
    plain = {"epsilon": None, "delta": None, "epochs": 1}
    pretrain_model(recipe_of(base, **plain), NOTES[:2], tmp_path / "first")
    others = recipe_of(tmp_path / "first", **plain)
    pretrain_model(others, NOTES[2:3], tmp_path / "second")
    # what a base has read counts too
    with pytest.raises(ConfigError, match="has read 2 of these notes"):
        make_private_model(
            [*NOTES[:2], *NOTES[3:]],
            tmp_path,
            settings_of(tmp_path / "second"),
            seed=1,
            version="1",
            report=lambda _: None,
        )


def test_an_adapter_learns_with_noise(base: Path, tmp_path: Path) -> None:
    make(base, tmp_path, method="lora")
    assert (tmp_path / "adapter").exists()
    assert weights(tmp_path) != weights(base)


@pytest.mark.parametrize("broken", ["{", "{}", '{"epsilon": "x", "delta": 0}'])
def test_a_broken_promise_is_none(tmp_path: Path, broken: str) -> None:
    assert read_promise(tmp_path) == {}
    (tmp_path / PROMISE).write_text(broken, encoding="utf-8")
    with pytest.raises(InputError, match="is broken"):
        read_promise(tmp_path)
