"""Probabilities that a language model gives to text, many sequences at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from deid_audits.models.opened import LanguageModel
from deid_transformers.token_scores import TokenScores as Asked

Floats = NDArray[np.float64]
PATTERNS = 10
"""Mask patterns of a sequence, as Mireshghallah et al. (2022) have them."""
SHARE = 0.15
"""Share of the words that a pattern hides."""
_LEAST_PATTERN = 1
_FLOATS = 2**24
"""Scores that are held at once."""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text as tokens.

    Args:
        ids: Tokens, without those that open and close.
        words: Number of the word that each token belongs to.
        offsets: Characters that each token stands for.
    """

    ids: NDArray[np.int64]
    words: NDArray[np.int64]
    offsets: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TextScores:
    """Scores of the tokens of a text, natural logarithms: (tokens,) each.

    Args:
        logp: Of the token that stands there.
        mean: Mean of the logarithm over the vocabulary, by the model's own probabilities.
        std: Its standard deviation.
    """

    logp: Floats
    mean: Floats
    std: Floats

    @property
    def loss(self) -> float:
        """Mean negative logarithm per token."""
        return float(-self.logp.mean()) if len(self.logp) else 0.0


@dataclass(slots=True)
class ScoringWork:
    """Work done.

    Args:
        sequences: That a network read, variants included.
        seconds: Of CPU.
    """

    sequences: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Sequences per second of CPU."""
        return self.sequences / self.seconds if self.seconds else 0.0


@dataclass(slots=True)
class Scorer:
    """Scores texts with one model.

    Args:
        lm: The model.
        spent: Work done so far.
    """

    lm: LanguageModel
    spent: ScoringWork = field(default_factory=ScoringWork)
    _asked: Asked | None = None

    def __post_init__(self) -> None:
        if self.lm.kind == "masked":
            self._asked = Asked(self.lm.model).eval()

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        """Return texts as tokens, cut where the model can read no more."""
        if not texts:
            return []
        room = self.lm.context - 2
        coded = self.lm.tokenizer(
            list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        found = []
        for text, ids, offsets in zip(
            texts, coded["input_ids"], coded["offset_mapping"], strict=True
        ):
            starts = np.array([word.start() for word in _WORD.finditer(text)], dtype=np.int64)
            # A byte-level token may begin with the blank before its word: its last character tells
            # the word.
            ends = np.array([end - 1 for _, end in offsets], dtype=np.int64)
            words = np.searchsorted(starts, ends, side="right") - 1
            found.append(
                EncodedText(
                    np.array(ids[:room], dtype=np.int64),
                    words[:room],
                    tuple(map(tuple, offsets[:room])),
                )
            )
        return found

    def tokens(self, texts: Sequence[str]) -> list[TextScores]:
        """Return the scores of each text's tokens.

        A causal model reads each text once. A masked one reads it about seven times, each time with
        another 15 % of its words hidden, so that each token is predicted once (pseudo-likelihood).
        """
        encoded = self.encode(texts)
        if self.lm.kind == "causal":
            return self._causal(encoded)
        found = [TextScores(*(np.zeros(len(one.ids)) for _ in range(3))) for one in encoded]
        jobs = [
            (row, hidden) for row, one in enumerate(encoded) for hidden in split_hidden(one.words)
        ]
        for (row, hidden), scores in zip(
            jobs, self.score_hidden([(encoded[row], hidden) for row, hidden in jobs]), strict=True
        ):
            found[row].logp[hidden], found[row].mean[hidden], found[row].std[hidden] = scores
        return found

    def losses(self, texts: Sequence[str], *, parts: int) -> Floats:
        """Return the mean loss per token of each text.

        Of a masked model over the first parts of its words alone.

        A part is hidden together, about 15 % of the words. Texts of as many words are asked at the
        same places.
        """
        if self.lm.kind == "causal":
            return np.array([one.loss for one in self.tokens(texts)])
        encoded = self.encode(texts)
        jobs = [
            (row, hidden)
            for row, one in enumerate(encoded)
            for hidden in split_hidden(one.words)[:parts]
        ]
        found = self.score_hidden([(encoded[row], hidden) for row, hidden in jobs])
        totals, counts = np.zeros(len(encoded)), np.zeros(len(encoded))
        for (row, hidden), (logp, _, _) in zip(jobs, found, strict=True):
            totals[row] -= logp.sum()
            counts[row] += len(hidden)
        return totals / np.maximum(counts, 1)

    def energies(self, texts: Sequence[str], *, patterns: int = PATTERNS, seed: int = 1) -> Floats:
        """Return E(S) of each text.

        The mean over mask patterns of the summed logarithms of what they hide.

        Patterns are drawn over words, by the seed and the number of words alone, so that two
        models, and a text and its twin, are asked the same (Mireshghallah et al. 2022; here a
        larger value is likelier). For a causal model it is the logarithm of the probability of the
        whole text.
        """
        encoded = self.encode(texts)
        if self.lm.kind == "causal":
            return np.array([scores.logp.sum() for scores in self._causal(encoded)])
        jobs = [
            (row, np.flatnonzero(np.isin(one.words, words)))
            for row, one in enumerate(encoded)
            for words in word_patterns(_count(one.words), patterns, seed=seed)
        ]
        totals = np.zeros(len(encoded))
        found = self.score_hidden([(encoded[row], hidden) for row, hidden in jobs])
        for (row, _), scores in zip(jobs, found, strict=True):
            totals[row] += scores[0].sum() / patterns
        return totals

    def _causal(self, encoded: Sequence[EncodedText]) -> list[TextScores]:
        rows = [np.concatenate([[self.lm.opens], one.ids]) for one in encoded]
        found: list[TextScores] = [TextScores(*(np.zeros(0),) * 3)] * len(rows)
        for chosen in self._batches([len(row) for row in rows]):
            began = time.process_time()
            ids, mask = self.pad([rows[number] for number in chosen])
            with torch.inference_mode():
                logits = (
                    self.lm.model(input_ids=ids, attention_mask=mask, use_cache=False)
                    .logits[:, :-1]
                    .float()
                )
                logp, mean, std = (part.cpu().numpy() for part in _moments(logits, ids[:, 1:]))
            for at, number in enumerate(chosen):
                size = len(rows[number]) - 1
                found[number] = TextScores(
                    *(part[at, :size].astype(np.float64) for part in (logp, mean, std))
                )
            self._spend(len(chosen), began)
        return found

    def score_hidden(
        self, jobs: Sequence[tuple[EncodedText, NDArray[np.int64]]]
    ) -> list[tuple[Floats, Floats, Floats]]:
        """Return the scores of hidden tokens.

        Of each job, with all of its tokens hidden at once.
        """
        found: list[tuple[Floats, Floats, Floats]] = [(np.zeros(0),) * 3] * len(jobs)
        for chosen in self._batches([len(one.ids) + 2 for one, _ in jobs]):
            began = time.process_time()
            rows, places, targets = [], [], []
            for at, number in enumerate(chosen):
                one, hidden = jobs[number]
                ids = np.concatenate([[self.lm.opens], one.ids, [self.lm.closes]])
                ids[hidden + 1] = self.lm.mask
                rows.append(ids)
                places += [(at, place + 1) for place in hidden.tolist()]
                targets += one.ids[hidden].tolist()
            scores = self.scores_at(rows, places, targets) if places else (np.zeros(0),) * 3
            begin = 0
            for number in chosen:
                end = begin + len(jobs[number][1])
                found[number] = tuple(part[begin:end] for part in scores)  # type: ignore[assignment]
                begin = end
            self._spend(len(chosen), began)
        return found

    def scores_at(
        self,
        rows: Sequence[NDArray[np.int64]],
        places: Sequence[tuple[int, int]],
        targets: Sequence[int],
    ) -> tuple[Floats, Floats, Floats]:
        """Return logarithm, mean and deviation of targets at places (row, position) of a masked
        model's input.
        """
        with torch.inference_mode():
            logits = self.logits_at(rows, places)
            answers = torch.tensor(list(targets), device=logits.device)
            logp, mean, std = (
                part.cpu().numpy().astype(np.float64) for part in _moments(logits, answers)
            )
        return logp, mean, std

    def logits_at(
        self, rows: Sequence[NDArray[np.int64]], places: Sequence[tuple[int, int]]
    ) -> torch.Tensor:
        """Return a masked model's scores at places (row, position) of its input: (places,
        vocabulary).
        """
        if self._asked is None:
            raise TypeError("a causal model has no gaps")
        ids, mask = self.pad(rows)
        where = torch.tensor(list(places), device=ids.device)
        with torch.inference_mode():
            found: torch.Tensor = self._asked.scores(ids, mask, where[:, 0], where[:, 1]).float()
        return found.clone()  # a tensor of inference mode cannot be changed outside it

    def pad(self, rows: Sequence[NDArray[np.int64]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return rows as tokens and what of them is to be read, filled on the right."""
        size = max(map(len, rows))
        ids = np.full((len(rows), size), self.lm.pad, dtype=np.int64)
        mask = np.zeros((len(rows), size), dtype=np.int64)
        for at, row in enumerate(rows):
            ids[at, : len(row)], mask[at, : len(row)] = row, 1
        place = self.lm.device
        return torch.from_numpy(ids).to(place), torch.from_numpy(mask).to(place)

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield numbers of sequences of like length, as many as fit."""
        order = sorted(range(len(lengths)), key=lambda number: lengths[number])
        begin = 0
        while begin < len(order):
            end = begin + 1
            while (
                end < len(order)
                and end - begin < 256
                and self._fits(lengths[order[end]], end + 1 - begin)
            ):
                end += 1
            yield order[begin:end]
            begin = end

    def _fits(self, length: int, count: int) -> bool:
        return length * count * self.lm.vocabulary <= _FLOATS

    def _spend(self, sequences: int, began: float) -> None:
        self.spent.sequences += sequences
        self.spent.seconds += time.process_time() - began


def word_patterns(
    words: int, count: int, *, seed: int, share: float = SHARE
) -> list[NDArray[np.int64]]:
    """Return mask patterns over words, each at least one word, drawn by the seed and the number of
    words alone.
    """
    if not words:
        return []
    rng = np.random.default_rng([seed, words])
    size = max(_LEAST_PATTERN, round(share * words))
    return [np.sort(rng.permutation(words)[:size]) for _ in range(count)]


def _count(words: NDArray[np.int64]) -> int:
    return int(words.max()) + 1 if len(words) else 0


def split_hidden(words: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the tokens in parts that are hidden together.

    About 15 % of the words each, neighbours apart.
    """
    count = _count(words)
    size = max(1, min(count, round(1 / SHARE)))
    return [places for part in range(size) if len(places := np.flatnonzero(words % size == part))]


def _moments(
    logits: torch.Tensor, targets: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the logarithm of the targets, and mean and deviation of the logarithm under the
    model's probabilities.
    """
    logs = torch.log_softmax(logits, dim=-1)
    shares = logs.exp()
    mean = (shares * logs).sum(-1)
    variance = (shares * logs.square()).sum(-1) - mean.square()
    return logs.gather(-1, targets[..., None])[..., 0], mean, variance.clamp_min(1e-12).sqrt()
