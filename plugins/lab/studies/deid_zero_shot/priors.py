"""How probable words are by themselves.

The model's unigram distribution, predicted without context.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deid_zero_shot.batches import answers
from deid_zero_shot.scorer import FLOOR, ScoredNote, WordScorer
from deid_zero_shot.variants import Variants, reveal

_REMEMBERED = 200_000


class Priors:
    """Scores of words that stand alone in a sequence, remembered by their sub-tokens.

    The word is masked and revealed as in a note, with nothing around it. The score in the note less
    this one is the pointwise mutual information of word and context (Church and Hanks 1990).

    Args:
        scorer: Of the model.
    """

    def __init__(self, scorer: WordScorer) -> None:
        self._scorer = scorer
        self._known: dict[tuple[int, ...], float] = {}

    def of(self, scored: ScoredNote) -> list[float]:
        """Return the natural logarithm of each word's probability by itself."""
        keys = [
            tuple(scored.encoded.ids[pieces.start : pieces.start + word.pieces].tolist())
            for word, pieces in zip(scored.words, scored.pieces, strict=True)
        ]
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._learn([key for key in dict.fromkeys(keys) if key and key not in self._known])
        return [self._known[key] if key else FLOOR for key in keys]

    def _learn(self, keys: Sequence[tuple[int, ...]]) -> None:
        asked = [Variants(np.array(key, dtype=np.int64)) for key in keys]
        for number, variants in enumerate(asked):
            reveal(variants, number, range(len(variants.ids)), np.zeros(0, dtype=np.int64))
            self._known[keys[number]] = 0.0
        scorer = self._scorer
        found = answers(
            asked,
            scorer.ask,
            scorer.encoder.specials,
            batch=8 * scorer.scoring.batch,
            vocabulary=scorer.vocabulary,
            spent=scorer.spent,
        )
        for _, number, value in found:
            self._known[keys[number]] += value / (len(keys[number]) if scorer.scoring.mean else 1)
