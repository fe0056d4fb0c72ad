"""A network whose answers are written down, and a scorer of whole words around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

from deid_zero_shot.encoding import NoteEncoder, Specials
from deid_zero_shot.lemmas import lemmatizer
from deid_zero_shot.scorer import Scoring, WordScorer
from deid_zero_shot.words import plain

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNKNOWN, BEFORE, AFTER, MASK = range(5)


class Fixed:
    """Answers from what is visible; keeps what it was shown.

    Args:
        vocabulary: Every sub-token.
        answer: Sub-tokens of a variant without padding, the place, the true sub-token, to a
            probability.
    """

    def __init__(
        self, vocabulary: Mapping[str, int], answer: Callable[[Sequence[str], int, str], float]
    ) -> None:
        self._names = {number: name for name, number in vocabulary.items()}
        self._answer = answer
        self.shown: list[list[str]] = []
        self.runs = 0

    def __call__(self, ids, mask, rows, places, targets):
        self.runs += 1
        variants = [
            [self._names[int(number)] for number in row[: int(seen.sum())]]
            for row, seen in zip(ids, mask, strict=True)
        ]
        self.shown += variants
        return np.log(
            np.array(
                [
                    self._answer(variants[row], int(place), self._names[int(target)])
                    for row, place, target in zip(rows, places, targets, strict=True)
                ],
                dtype=np.float64,
            )
        )


def scorer(
    pieces: Sequence[str], answer, *, window: int = 64, lemmas: str = "none", **options
) -> tuple[WordScorer, Fixed]:
    """Return a scorer over a WordPiece vocabulary of these pieces, and its network."""
    vocabulary = {name: number for number, name in enumerate([*SPECIAL, *dict.fromkeys(pieces)])}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = Specials(
        before=BEFORE, after=AFTER, pad=PAD, mask=MASK, unknown=UNKNOWN, line=None, window=window
    )
    network = Fixed(vocabulary, answer)
    scoring = Scoring(segment=plain, lemma=lemmatizer(lemmas), window=window, **options)
    return WordScorer(
        NoteEncoder(tokenizer.to_str(), specials), network, len(vocabulary), scoring
    ), network
