"""Coins put canaries into notes, and the bound of epsilon that they give is true and of use."""

from __future__ import annotations

import json
import math
import random
import stat
from pathlib import Path

import pytest
from privacy_shell import main

from deid_assets import Note
from deid_assets.extending import InputError
from deid_assets.extending.corpora import PROMISE
from deid_audits.models.coins import (
    CoinPlanting,
    EpsilonBound,
    check_coins,
    coins_of,
    epsilon_bound,
    plant_by_coin,
    read_planting,
)
from deid_audits.models.commands import PromisedOptions, _answer

NOTES = [Note(f"n{number}", f"Note {number} of the ward.", lang="en") for number in range(30)]


def randomised(epsilon: float, seed: int, *, canaries: int = 1_000) -> float:
    """Return the bound of a mechanism that tells each coin with just so much epsilon."""
    rng = random.Random(seed)
    coins = [rng.random() < 0.5 for _ in range(canaries)]
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))
    told = [float(coin if rng.random() < honest else not coin) for coin in coins]
    return epsilon_bound(told, coins).value


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_the_bound_of_randomised_response_is_true_and_more_than_half(epsilon):
    found = sorted(randomised(epsilon, seed) for seed in range(200))
    assert sum(bound <= epsilon for bound in found) >= 0.95 * len(found)
    assert found[len(found) // 2] > epsilon / 2


def test_no_leak_gives_nothing_and_a_leaky_scorer_much():
    silent = [randomised(0.0, seed) for seed in range(200)]
    assert sum(bound == 0.0 for bound in silent) >= 0.95 * len(silent)
    coins = coins_of(1_000, seed=3, key=None, salt="")
    rng = random.Random(3)
    leaky = epsilon_bound([coin + rng.random() / 2 for coin in coins], coins)
    assert leaky.value > 4
    assert leaky.right == leaky.guesses


def test_a_delta_lowers_the_bound_and_fewer_guesses_of_a_few_leaks_raise_it():
    coins = coins_of(1_000, seed=4, key=None, salt="")
    rng = random.Random(4)
    scores = [
        (10.0 if coin else -10.0) if number < 150 else rng.random()
        for number, coin in enumerate(coins)
    ]
    found = epsilon_bound(scores, coins)
    assert found.guesses == 124
    assert found.value > 3
    assert epsilon_bound(scores, coins, delta=1e-3).value < found.value


def test_by_hand_twenty_right_guesses_of_twenty():
    # With 20 canaries only all may be guessed: p = (e^x / (1 + e^x)) ** 20 is .05 at this x.
    coins = [True] * 10 + [False] * 10
    share = 0.05 ** (1 / 20)
    found = epsilon_bound([float(coin) for coin in coins], coins)
    assert found.value == pytest.approx(math.log(share / (1 - share)), abs=1e-6)


@pytest.mark.parametrize(
    ("scores", "coins", "given", "message"),
    [
        ([1.0] * 10, [True] * 10, {}, "plant 20 or more"),
        ([float("nan")] * 30, [True] * 30, {}, "no likelihood"),
        ([1.0] * 30, [True] * 30, {"confidence": 1.0}, "between 0 and 1"),
        ([1.0] * 30, [True] * 30, {"delta": 1.0}, "below 1"),
    ],
)
def test_what_gives_no_bound_is_refused(scores, coins, given, message):
    with pytest.raises(InputError, match=message):
        epsilon_bound(scores, coins, **given)


def test_coins_follow_from_a_seed_or_a_key_and_else_from_nothing():
    by_key = coins_of(64, seed=None, key=b"k" * 32, salt="a")
    assert by_key == coins_of(64, seed=None, key=b"k" * 32, salt="a")
    assert by_key != coins_of(64, seed=None, key=b"k" * 32, salt="b")
    assert coins_of(64, seed=1, key=None, salt="a") == coins_of(64, seed=1, key=b"k", salt="b")
    assert coins_of(64, seed=None, key=None, salt="") != coins_of(64, seed=None, key=None, salt="")
    assert 400 < sum(coins_of(1_000, seed=None, key=b"k" * 32, salt="a")) < 600


def test_canaries_stand_among_the_notes_as_coins_say():
    found, planting = plant_by_coin(NOTES, count=40, repeats=2, seed=1, key=None)
    inside = [one for one in planting.canaries if one.is_in]
    assert len(found) == 30 + 2 * len(inside)
    assert [one for one in found if one in NOTES] == NOTES
    assert {one.patient_id for one in found if one.patient_id} == {one.canary_id for one in inside}
    assert len({one.text for one in planting.canaries}) == 40
    check_coins(planting, [one.text for one in found])
    with pytest.raises(InputError, match="canary-0"):
        check_coins(planting, [one.text for one in NOTES])
    with pytest.raises(InputError, match="other notes beside them"):
        check_coins(planting, [one.text for one in found if one is not NOTES[0]])
    check_coins(planting, [one.text for one in reversed(found)])
    with pytest.raises(InputError, match="planted in these notes before"):
        plant_by_coin(found, count=40, seed=2, key=None)


@pytest.mark.parametrize(
    ("value", "promised", "is_broken", "said", "code"),
    [
        (0.0, 8.0, None, "not shown to be broken", 0),
        (9.0, 8.0, True, "BROKEN: the model tells more of a patient with 4 notes", 1),
        (9.0, None, None, "the unit is a patient with 4 notes", 0),
    ],
)
def test_a_lower_bound_breaks_a_promise_of_the_unit_and_never_shows_that_it_is_kept(
    value, promised, is_broken, said, code
):
    bound = EpsilonBound(value, 0.95, 1_000, 480, 1_000)
    answer = _answer(bound, CoinPlanting((), 4), PromisedOptions(promised=promised))
    assert answer.document["is_broken"] is is_broken
    assert "is_kept" not in answer.document
    assert said in "\n".join(answer.said)
    assert "of a note" not in "\n".join(answer.said)
    assert answer.code == code


@pytest.mark.parametrize("promised", ["nan", "inf"])
def test_a_promise_that_is_not_finite_is_refused(tmp_path, capsys, promised):
    given = ["epsilon", str(tmp_path), "--coins", str(tmp_path / "c"), "--promised", promised]
    assert main(given) == 2
    assert "--promised" in capsys.readouterr().err
    with pytest.raises(InputError, match=f"--promised {promised} is no epsilon"):
        PromisedOptions(promised=float(promised))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, (3.0, 1e-3)),
        ({"promised": 8.0}, (8.0, 0.0)),
        # an epsilon at another delta was not promised
        ({"delta": 1e-6}, (None, 1e-6)),
    ],
)
def test_by_itself_the_promise_is_that_of_the_models_card(tmp_path, given, wanted):
    options = PromisedOptions(**given)
    assert options.complete(tmp_path) == options
    (tmp_path / PROMISE).write_text('{"epsilon": 3.0, "delta": 0.001}', encoding="utf-8")
    found = options.complete(tmp_path)
    assert (found.promised, found.delta) == wanted


@pytest.fixture
def own_notes(tmp_path) -> Path:
    path = tmp_path / "own.jsonl"
    lines = [json.dumps({"id": one.note_id, "lang": "en", "text": one.text}) for one in NOTES]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_coins_are_not_overwritten_and_what_is_planted_is_its_owners_alone(
    tmp_path, capsys, own_notes
):
    out = tmp_path / "planted"
    given = ["plant", str(own_notes), "--out", str(out), "--seed", "1", "--canaries"]
    assert main([*given, "19"]) == 2
    assert "--canaries 19 give no bound; plant 20" in capsys.readouterr().err
    assert not out.exists()
    out.mkdir(mode=0o755)
    assert main([*given, "20"]) == 0
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in (out, *out.iterdir())}
    assert modes == {"planted": 0o700, "coins.json": 0o600, "training.jsonl": 0o600}
    before = (out / "coins.json").read_bytes()
    assert main([*given, "40"]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert (out / "coins.json").read_bytes() == before


def test_the_command_plants_in_own_notes_and_bounds_epsilon_of_a_model(
    tmp_path, capsys, causal_folder, own_notes
):
    out = tmp_path / "planted"
    given = ["--out", str(out), "--canaries", "60", "--seed", "1"]
    assert main(["plant", str(own_notes), *given]) == 0
    said = capsys.readouterr().out
    assert "yours alone" in said
    assert "canary-" not in said
    coins = out / "coins.json"
    assert stat.S_IMODE(coins.stat().st_mode) == 0o600

    asked = ["epsilon", str(causal_folder), "--coins", str(coins), "--promised", "1", "--json"]
    assert main([*asked, "--training", str(out / "training.jsonl")]) == 0
    found = json.loads(capsys.readouterr().out)
    # the model never read them
    assert found["epsilon_at_least"] < 1
    assert found["is_broken"] is None
    assert found["canaries"] == len(read_planting(coins).canaries) == 60
    assert main([*asked, "--training", str(own_notes)]) == 2
    assert "the coins" in capsys.readouterr().err
    assert main(["plant", str(own_notes), *given, "--people", "3"]) == 2
    assert "--people are of made notes" in capsys.readouterr().err
