"""Unprompted extraction.

Which of the texts that a model wrote freely are of its notes? (Carlini et al. 2021).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from deid_assets.extending.audits import Measurement
from deid_assets.extending.measuring import auc
from deid_audits.models.measures import FEWEST, estimate_measure
from deid_audits.models.membership import zlib_ratio
from deid_audits.models.scoring import Scorer

RUN = 6
"""Words in a row that a copy has of a note."""
GROUP = "unprompted"


def copies(
    texts: Sequence[str],
    notes: Sequence[str],
    *,
    run: int = RUN,
    owners: Sequence[str] | None = None,
) -> list[bool]:
    """Return which texts have so many words in a row of one note, whatever their case and what
    stands between them: tokenizers change both.

    With owners, of the notes of one owner alone.
    """
    whose: dict[tuple[str, ...], set[str]] = {}
    for number, note in enumerate(notes):
        for words in _runs(note, run):
            whose.setdefault(words, set()).add(owners[number] if owners else "")
    known = {words for words, names in whose.items() if len(names) == 1}
    return [any(words in known for words in _runs(text, run)) for text in texts]


def _runs(text: str, size: int) -> list[tuple[str, ...]]:
    """Return all runs of words, of those between blanks and of those without marks between them:
    a short note may have few enough of the second kind to have no run.
    """
    folded = text.casefold()
    return [
        tuple(words[at : at + size])
        for words in (folded.split(), re.findall(r"\w+", folded))
        for at in range(len(words) - size + 1)
    ]


def measure_unprompted(
    texts: Sequence[str], notes: Sequence[str], scorer: Scorer, *, seed: int
) -> list[Measurement]:
    """Return how many texts are copies, and how well membership by zlib tells them from the others.

    The second is left out where there are too few of either for an interval.
    """
    found = copies(texts, notes)
    none = "0 of a model that did not read the notes, but for phrases that all notes share"
    share = Measurement.share(
        f"{RUN} words in a row of a note",
        sum(found),
        len(texts),
        chance=none,
        unit="texts",
        group=GROUP,
    )
    if min(sum(found), len(found) - sum(found)) < FEWEST:
        return [share]
    scores = np.array(
        [zlib_ratio(text, one) for text, one in zip(texts, scorer.tokens(texts), strict=True)]
    )
    is_copy = np.array(found)
    area = estimate_measure(
        "AUC", scores[is_copy], scores[~is_copy], auc, chance=0.5, seed=seed, unit="texts"
    )
    told = Measurement(
        name="copies told from other texts by zlib, AUC",
        value=area.value,
        low=area.low,
        high=area.high,
        chance=0.5,
        units=area.units,
        unit="texts",
        group=GROUP,
    )
    return [share, told]
