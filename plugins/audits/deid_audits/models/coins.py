"""Canaries that a coin puts into notes, and the lower bound of epsilon that they give.

One training is enough (Steinke, Nasr and Jagielski 2023).
"""

from __future__ import annotations

import hmac
import json
import math
import random
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deid_assets import Note
from deid_assets.extending import InputError
from deid_assets.extending.files import atomic_file, owner_only

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
SYLLABLES = 12
"""Of the secret words of a canary: some 70 bits."""
ABSTENTIONS = (1, 2, 4, 8)
"""A guess is made of all canaries, of the half that it is surest of, and so on."""
FEWEST = 20
"""Fewest guesses."""
STEPS = 40
MOST = 50.0
"""No bound is greater: a billion canaries would be needed."""
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True, slots=True)
class CoinCanary:
    """A text that stands in the notes if a coin said so.

    Args:
        canary_id: Of its notes, and of the patient that they name.
        text: Made at random.
        is_in: What the coin said.
    """

    canary_id: str
    text: str = field(repr=False)
    is_in: bool


@dataclass(frozen=True, slots=True)
class CoinPlanting:
    """What was planted in a site's own notes.

    Args:
        canaries: All of them, in and out.
        repeats: Notes of each that is in.
        training: Digest of the texts of the notes with the canaries, in any order.
    """

    canaries: tuple[CoinCanary, ...]
    repeats: int
    training: str = ""


def coins_of(count: int, *, seed: int | None, key: bytes | None, salt: str) -> list[bool]:
    """Return what so many fair coins say.

    Args:
        count: How many.
        seed: For experiments that are repeated: whoever knows it knows the coins.
        key: Where there is no seed, coins follow from it and the salt.
        salt: What the notes are, so that others get other coins.
    """
    if seed is not None:
        rng = random.Random(f"coins {seed}")  # noqa: S311 - an experiment that is repeated
        return [rng.random() < 0.5 for _ in range(count)]
    if key is None:
        return [bool(secrets.randbits(1)) for _ in range(count)]
    names = (f"coin {salt} {number}".encode() for number in range(count))
    return [bool(hmac.digest(key, name, "sha256")[0] & 1) for name in names]


def plant_by_coin(
    notes: Sequence[Note], *, count: int, repeats: int = 1, seed: int | None, key: bytes | None
) -> tuple[list[Note], CoinPlanting]:
    """Return notes with the canaries among them whose coin said so, and all canaries.

    Args:
        notes: A site's own.
        count: Canaries, of which about half are in.
        repeats: Notes of each.
        seed: As for ``coins_of``; also of texts and places.
        key: As for ``coins_of``.

    Raises:
        InputError: A note has an id or a patient of a canary.
    """
    salt = sha256("".join(one.digest for one in notes).encode()).hexdigest()
    coins = coins_of(count, seed=seed, key=key, salt=salt)
    rng = _source(seed, key, salt)
    canaries = tuple(
        CoinCanary(f"canary-{number:05d}", _text(rng), is_in) for number, is_in in enumerate(coins)
    )
    taken = {name for one in notes for name in (one.note_id.rpartition("/")[0], one.patient_id)}
    if any(one.canary_id in taken for one in canaries):
        raise InputError("canaries were planted in these notes before; take the notes without them")
    lang = next((one.lang for one in notes if one.lang), None)
    found = list(notes)
    for one in canaries:
        for time in range(repeats if one.is_in else 0):
            note = Note(f"{one.canary_id}/{time}", one.text, patient_id=one.canary_id, lang=lang)
            found.insert(rng.randrange(len(found) + 1), note)
    return found, CoinPlanting(canaries, repeats, digest_texts(one.text for one in found))


def digest_texts(texts: Iterable[str]) -> str:
    """Return the SHA-256 of texts, in any order; each counts as often as it is there."""
    digests = sorted(sha256(text.encode()).digest() for text in texts)
    return sha256(b"".join(digests)).hexdigest()


def _source(seed: int | None, key: bytes | None, salt: str) -> random.Random:
    if seed is not None:
        return random.Random(f"canaries {seed}")  # noqa: S311 - an experiment that is repeated
    if key is None:
        return secrets.SystemRandom()
    return random.Random(hmac.digest(key, f"canaries {salt}".encode(), "sha256"))  # noqa: S311


def _text(rng: random.Random) -> str:
    """Return words of no language, which no detector takes for a name and no note says."""
    syllables = [rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(SYLLABLES)]
    words = ["".join(syllables[at : at + 3]) for at in range(0, SYLLABLES, 3)]
    return f"{' '.join(words)}."


def write_planting(path: Path, planting: CoinPlanting) -> None:
    """Write what was planted, for its owner alone: who has it knows every coin."""
    with owner_only(), atomic_file(path) as file:
        file.write(f"{json.dumps(asdict(planting), indent=1)}\n".encode())


def read_planting(path: Path) -> CoinPlanting:
    """Return what ``write_planting`` wrote.

    Raises:
        InputError: It is none.
    """
    try:
        values = json.loads(path.read_text("utf-8"))
        canaries = tuple(
            CoinCanary(str(one["canary_id"]), str(one["text"]), one["is_in"] is True)
            for one in values["canaries"]
        )
        return CoinPlanting(canaries, int(values["repeats"]), str(values["training"]))
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{path.name}: no file of coins; deid privacy plant NOTES writes it"
        ) from None


def check_coins(planting: CoinPlanting, texts: Sequence[str]) -> None:
    """Check that the notes of a training are those that canaries were planted in, with the canaries
    that the coins put there and no other.

    Raises:
        InputError: They are not.
    """
    said: dict[str, int] = {}
    for text in texts:
        said[text.strip()] = said.get(text.strip(), 0) + 1
    for one in planting.canaries:
        wanted = planting.repeats if one.is_in else 0
        if said.get(one.text, 0) != wanted:
            raise InputError(
                f"{one.canary_id}: the training notes say it {said.get(one.text, 0)} times and the"
                f" coins {wanted}; give the notes that deid privacy plant wrote"
            )
    if digest_texts(texts) != planting.training:
        raise InputError(
            "the training notes have the canaries of the coins, and other notes beside them; give"
            " the notes that deid privacy plant wrote, and a model trained on those"
        )


@dataclass(frozen=True, slots=True)
class EpsilonBound:
    """A lower bound of epsilon.

    Args:
        value: It; 0 where the guesses are no better than chance would have them.
        confidence: With which it holds.
        guesses: That it rests on.
        right: How many of them were.
        canaries: How many there were.
    """

    value: float
    confidence: float
    guesses: int
    right: int
    canaries: int


def epsilon_bound(
    scores: Sequence[float],
    coins: Sequence[bool],
    *,
    confidence: float = 0.95,
    delta: float = 0.0,
) -> EpsilonBound:
    """Return the lower bound of epsilon that one training gives (Steinke et al. 2023).

    The canaries of the highest scores are guessed to be in, as many of the lowest to be out, and
    nothing is said of those between. Several numbers of guesses are tried, and each is held to a
    share of the error, so that the bound holds whichever is best.

    Args:
        scores: Of each canary; the higher, the likelier it is in. Not a function of the coins but
            through the model.
        coins: Whether it was.
        confidence: Of the bound.
        delta: Of the guarantee that is bounded.

    Raises:
        InputError: There are too few canaries, scores that are no numbers, or no such confidence.
    """
    values = np.asarray(scores, dtype=np.float64)
    inside = np.asarray(coins, dtype=np.bool_)
    if len(values) != len(inside) or len(values) < FEWEST:
        raise InputError(f"{len(values)} canaries give no bound; plant {FEWEST} or more")
    if not np.isfinite(values).all():
        raise InputError("the model gives a canary no likelihood that is a number")
    if not 0 < confidence < 1 or not 0 <= delta < 1:
        raise InputError(
            f"confidence {confidence:g} and delta {delta:g}: the first is between 0 and 1, the"
            " second 0 or more and below 1"
        )
    tried = sorted({len(values) // part // 2 for part in ABSTENTIONS})
    tried = [side for side in tried if 2 * side >= FEWEST]
    error = (1 - confidence) / len(tried)
    found = [
        _bound_of(values, inside, side, error=error, delta=delta, confidence=confidence)
        for side in tried
    ]
    return max(found, key=lambda one: (one.value, one.guesses))


def _bound_of(
    values: Floats, inside: Flags, side: int, *, error: float, delta: float, confidence: float
) -> EpsilonBound:
    order = np.argsort(values, kind="stable")
    right = int(inside[order[-side:]].sum() + (~inside[order[:side]]).sum())
    chance = _chances(len(values), 2 * side, right, delta)
    return EpsilonBound(_least(chance, error), confidence, 2 * side, right, len(values))


def _least(chance: Callable[[float], float], error: float) -> float:
    """Return the greatest epsilon under which the guesses have less than a chance, or 0."""
    low, high = 0.0, MOST
    if chance(low) >= error:
        return 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) < error else (low, middle)
    return low


def _chances(canaries: int, guesses: int, right: int, delta: float) -> Callable[[float], float]:
    """Return the greatest chance of so many right guesses under epsilon and delta.

    Each guess is right with at most e^epsilon / (1 + e^epsilon), as if by itself; delta adds what
    Theorem 5.2 of Steinke et al. has.
    """
    counts = np.arange(guesses + 1)
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, guesses + 1)))))
    ways = logs[guesses] - logs - logs[::-1]

    def chance(epsilon: float) -> float:
        # log(1 + e^-x) is stable where e^x is not
        hit = -math.log1p(math.exp(-epsilon))
        miss = -epsilon + hit
        shares = np.exp(ways + counts * hit + (guesses - counts) * miss)
        tail = float(shares[right:].sum())
        if not delta or not right:
            return min(tail, 1.0)
        below = np.cumsum(shares[:right][::-1]) / np.arange(1, right + 1)
        return min(tail + 2 * canaries * delta * float(below.max()), 1.0)

    return chance
