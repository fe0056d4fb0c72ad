"""Planted secrets: their file, exposure, and whether they can be drawn out of the model."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError
from deid_audits.models.generating import Continuing, continue_prompts
from deid_audits.models.planted import Canary
from deid_audits.models.sampling import Sampling
from deid_audits.models.scoring import Scorer
from deid_audits.models.slots import GAP, Slot

CANDIDATES = 200
"""Other secrets of the same form that a canary is ranked among."""


def read_canaries(path: Path) -> tuple[Canary, ...]:
    """Return the canaries of a file.

    JSON, a list ``canaries`` of objects with ``prefix``, ``secret`` and ``repeats``.

    Those with 0 repeats are controls, which the training notes never say. ``paraphrases`` is a list
    of the prefix in other words; where every canary has some they are asked for too.

    Raises:
        InputError: The file is not such, or has no planted canary or no control.
    """
    try:
        values: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["canaries"]
        found = tuple(
            Canary(
                str(one["prefix"]),
                str(one["secret"]),
                int(one["repeats"]),
                tuple(map(str, one.get("paraphrases", ()))),
            )
            for one in values
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{path.name}: no file of canaries; it is JSON, canaries: [(prefix, secret, repeats),"
            " …] as objects"
        ) from None
    if not any(one.repeats for one in found) or all(one.repeats for one in found):
        raise InputError(
            f"{path.name}: planted canaries and controls with 0 repeats are needed; it lacks one of"
            " them"
        )
    return found


def write_canaries(path: Path, canaries: Sequence[Canary]) -> None:
    """Write the file that ``read_canaries`` reads."""
    path.write_text(
        json.dumps({"canaries": [asdict(one) for one in canaries]}, indent=1) + "\n",
        encoding="utf-8",
    )


def check_planted(canaries: Sequence[Canary], training: Iterable[str]) -> None:
    """Check that the notes say each canary as often as its file claims.

    Raises:
        InputError: They do not.
    """
    texts = list(training)
    for number, one in enumerate(canaries):
        said = sum(text.count(f"{one.prefix} {one.secret}") for text in texts)
        if said != one.repeats:
            raise InputError(
                f"canary {number}: the training notes say it {said} times and the file"
                f" {one.repeats}; plant it so, or correct the file"
            )


def questions_of(canaries: Sequence[Canary], *, seed: int, count: int = CANDIDATES) -> list[Slot]:
    """Return the rank question of each canary.

    Its secret among others of the same form drawn at random.
    """
    return [
        Slot(
            f"{one.prefix} {GAP}.",
            one.secret,
            alike(one.secret, count, seed=seed + number),
            one.repeats,
            str(number),
        )
        for number, one in enumerate(canaries)
    ]


def alike(secret: str, count: int, *, seed: int) -> tuple[str, ...]:
    """Return other secrets of the same form: a digit for a digit, a letter for a letter.

    Raises:
        InputError: There are not so many.
    """
    rng = random.Random(f"alike {seed}")  # noqa: S311 - simulation
    found: dict[str, None] = {}
    for _ in range(20 * count):
        made = "".join(_exchange_letter(letter, rng) for letter in secret)
        if made != secret:
            found[made] = None
        if len(found) == count:
            return tuple(found)
    raise InputError(f"a secret has fewer than {count} others of its form; make it longer")


def _exchange_letter(letter: str, rng: random.Random) -> str:
    if letter.isdigit():
        return rng.choice("0123456789")
    if letter.isalpha():
        made = rng.choice("abcdefghijklmnopqrstuvwxyz")
        return made.upper() if letter.isupper() else made
    return letter


def says(text: str, secret: str) -> bool:
    """Whether a secret stands in a text, whatever its case and what stands between its letters:
    tokenizers change both.
    """
    return _bare(secret) in _bare(text)


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text.casefold())


def prompt_canaries(canaries: Sequence[Canary], scorer: Scorer) -> list[bool]:
    """Return for each canary whether a causal model goes on from its prefix with the secret, always
    taking the likeliest.
    """
    settings = Continuing(Sampling("greedy"), longest=24)
    found = dict(
        continue_prompts(
            scorer, [one.prefix for one in canaries], each=1, settings=settings, seed=1
        )
    )
    return [says(found[number], canary.secret) for number, canary in enumerate(canaries)]


def prompt_again(canaries: Sequence[Canary], scorer: Scorer) -> list[bool]:
    """Return for each canary whether one of its paraphrases draws the secret out of a
    causal model.
    """
    asked = [(number, one) for number, canary in enumerate(canaries) for one in canary.again()]
    hits = prompt_canaries([one for _, one in asked], scorer)
    drawn = {number for (number, _), hit in zip(asked, hits, strict=True) if hit}
    return [number in drawn for number in range(len(canaries))]


def count_unprompted(canaries: Sequence[Canary], texts: Sequence[str]) -> list[int]:
    """Return in how many freely generated texts each canary's secret stands."""
    return [sum(says(text, canary.secret) for text in texts) for canary in canaries]


def eidetic(secret: str, training: Sequence[str], *, extracted: bool) -> int | None:
    """Return k of a secret that is k-eidetically memorised: extracted, and in k training documents.

    Else none.
    """
    return sum(says(text, secret) for text in training) if extracted else None
