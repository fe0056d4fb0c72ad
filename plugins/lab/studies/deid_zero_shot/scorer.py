"""The score of each word of a note.

How probable it is to a masked language model that does not see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deid_assets import Note
from deid_assets.extending import Token
from deid_zero_shot.batches import Ask, ScoringCost, answers
from deid_zero_shot.encoding import EncodedNote, NoteEncoder, pieces_of
from deid_zero_shot.lemmas import Lemmatizer
from deid_zero_shot.related import Related
from deid_zero_shot.variants import Variants, hide_many, reveal
from deid_zero_shot.windows import assign, longest_word, windows
from deid_zero_shot.words import Segmenter, words_of

FLOOR = -10_000.0
"""Logarithm of the score of a word that the vocabulary cannot write.

Lower than that of any word that it can.
"""
KEPT = -FLOOR
"""Score of what is never redacted, whatever the threshold."""
SHARE = 6
"""Where words are not masked alone, one sub-token of a window in so many is hidden at once.

About as many as in
pre-training (Devlin et al. 2019)."""


class ScoredWord(NamedTuple):
    """A scored word.

    Args:
        start: First code point.
        end: After the last one.
        score: Natural logarithm of its probability in the context.
        pieces: Sub-tokens in it; 0 where the vocabulary has none for it.
        exact: Whether it was scored alone; if not, with others of its window hidden too.
    """

    start: int
    end: int
    score: float
    pieces: int
    exact: bool = True


class ScoredNote(NamedTuple):
    """A note's words with their scores, and its sub-tokens.

    Args:
        words: In order.
        pieces: Sub-tokens of each word, all of them.
        encoded: Of the note.
    """

    words: list[ScoredWord]
    pieces: list[range]
    encoded: EncodedNote


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How words are scored; part of what a threshold is calibrated for.

    Args:
        segment: Cuts a text into words.
        lemma: Tells which words are the same.
        together: Whether the same words elsewhere are masked with a word.
        window: Most sub-tokens that the network reads at once.
        mean: Whether a word's score is the geometric mean of its sub-tokens' probabilities, not
            their product.
        alone: Whether a word is hidden with nothing but the same word elsewhere; if not, with
            others that stand apart.
        batch: Most variants in one run.
        spare: Returns the numbers of the words that are not scored, because they are never
            redacted.
    """

    segment: Segmenter
    lemma: Lemmatizer
    together: bool = True
    window: int = 512
    mean: bool = False
    alone: bool = True
    batch: int = 32
    spare: Callable[[Note, Sequence[Token]], AbstractSet[int]] = lambda _note, _words: frozenset()


@dataclass(slots=True)
class WordScorer:
    """Scores the words of notes.

    Args:
        encoder: Of the model.
        ask: Its network.
        vocabulary: How many sub-tokens it has.
        scoring: How.
    """

    encoder: NoteEncoder
    ask: Ask
    vocabulary: int
    scoring: Scoring
    spent: ScoringCost = field(default_factory=ScoringCost)

    def score(
        self, note: Note, *, below: float | None = None, spared: AbstractSet[int] = frozenset()
    ) -> ScoredNote:
        """Return the words of a note in order, each with its score.

        Args:
            note: Of any length.
            below: Where given, only words that score lower than this logarithm when others are
                hidden with them are scored alone; the others keep that score.
            spared: Numbers of more words that are not scored.
        """
        read = Read(note, self.encoder, self.scoring)
        found = dict.fromkeys(range(len(read.words)), FLOOR)
        spared = spared | self.scoring.spare(note, read.words)
        found |= dict.fromkeys(spared, KEPT)
        wanted = [
            number
            for number, pieces in enumerate(read.pieces)
            if number not in spared and read.is_known(number)
        ]
        inexact: set[int] = set()
        if below is not None or not self.scoring.alone:
            found |= self._answer(self._many(read, wanted))
            inexact = {number for number in wanted if below is None or found[number] >= below}
            wanted = [number for number in wanted if number not in inexact]
        found |= self._answer(self._alone(read, wanted))
        words = [
            ScoredWord(start, end, found[number], len(read.pieces[number]), number not in inexact)
            for number, (start, end) in enumerate(read.words)
        ]
        return ScoredNote(words, read.whole, read.encoded)

    def _answer(self, asked: Sequence[Variants]) -> dict[int, float]:
        """Return the score of each word that was asked for."""
        total: dict[int, float] = {}
        count: dict[int, int] = {}
        for _, word, value in answers(
            asked,
            self.ask,
            self.encoder.specials,
            batch=self.scoring.batch,
            vocabulary=self.vocabulary,
            spent=self.spent,
        ):
            total[word] = total.get(word, 0.0) + value
            count[word] = count.get(word, 0) + 1
        if self.scoring.mean:
            return {word: max(value / count[word], FLOOR) for word, value in total.items()}
        return {word: max(value, FLOOR) for word, value in total.items()}

    def _alone(self, read: Read, wanted: Sequence[int]) -> list[Variants]:
        asked = read.variants()
        for number in wanted:
            window, pieces, related = read.place(number)
            reveal(asked[window], number, pieces, related)
        return asked

    def _many(self, read: Read, wanted: Sequence[int]) -> list[Variants]:
        asked = read.variants()
        placed: list[list[tuple[int, range, NDArray[np.int64]]]] = [[] for _ in asked]
        for number in wanted:
            window, pieces, related = read.place(number)
            placed[window].append((number, pieces, related))
        for variants, words in zip(asked, placed, strict=True):
            hide_many(variants, words, most=max(1, len(variants.ids) // SHARE))
        return asked


class Read:
    """A note, tokenized and cut into windows; what scoring and substitution ask about.

    Args:
        note: Of any length.
        encoder: Of the model.
        scoring: How it is cut, and which words are the same.
    """

    def __init__(self, note: Note, encoder: NoteEncoder, scoring: Scoring) -> None:
        self.words = words_of(note.text, note.lang, scoring.segment)
        self._specials = encoder.specials
        self.encoded: EncodedNote = encoder.encode(note.text)
        self.whole = pieces_of(self.encoded, self.words)
        longest = longest_word(scoring.window)
        self.pieces = [pieces[:longest] for pieces in self.whole]
        length = len(self.encoded.ids)
        self._parts = windows(length, window=scoring.window)
        self.window = assign(self.pieces, self._parts, length=length)
        self._related = (
            Related(
                note.text,
                note.lang,
                self.words,
                pieces=self.whole,
                encoded=self.encoded,
                lemma=scoring.lemma,
            )
            if scoring.together
            else None
        )

    def is_known(self, number: int) -> bool:
        """Whether the vocabulary can write the word."""
        pieces = self.pieces[number]
        ids = self.encoded.ids[pieces.start : pieces.stop]
        unknown = self._specials.unknown
        return bool(len(ids)) and (unknown is None or not (ids == unknown).any())

    def variants(self) -> list[Variants]:
        """Return each window without masked words."""
        return [Variants(self.encoded.ids[part.start : part.stop]) for part in self._parts]

    def place(self, number: int) -> tuple[int, range, NDArray[np.int64]]:
        """Return the window of a word, its places in it, and those of the same word elsewhere in
        it.
        """
        window = self.window[number]
        part = self._parts[window]
        pieces = self.pieces[number]
        own = range(pieces.start - part.start, pieces.stop - part.start)
        if self._related is None:
            return window, own, np.zeros(0, dtype=np.int64)
        related = self._related.of(number)
        inside = related[(related >= part.start) & (related < part.stop)]
        return window, own, inside - part.start

    def alike(self, number: int) -> list[int]:
        """Return the numbers of the words that hold a word, in any form.

        Itself, its inflections, addresses.
        """
        places = (
            set(self._related.of(number).tolist()) if self._related else set(self.whole[number])
        )
        return [other for other, pieces in enumerate(self.whole) if not places.isdisjoint(pieces)]

    def around(self, start: int, end: int, value: Token) -> tuple[list[int], list[int]]:
        """Return what a window shows before and after a word, each without the word itself.

        Masked are the rest of the value that the word is of, and all that would be masked where the
        word is scored.

        Args:
            start: First code point of the word.
            end: After its last one.
            value: First code point of the value, and after its last one.
        """
        numbers = [
            number
            for number, (first, last) in enumerate(self.words)
            if first < end and last > start
        ]
        own, whole = pieces_of(self.encoded, [(start, end), value])
        window = self.window[numbers[0]] if numbers else 0
        part = self._parts[window]
        ids = self.encoded.ids[part.start : part.stop].copy()
        hidden = [self._related.of(number) for number in numbers] if self._related else []
        for places in (*hidden, np.arange(whole.start, whole.stop)):
            inside = places[(places >= part.start) & (places < part.stop)]
            ids[inside - part.start] = self._specials.mask
        before, after = ids[: max(0, own.start - part.start)], ids[max(0, own.stop - part.start) :]
        return [self._specials.before, *before.tolist()], [*after.tolist(), self._specials.after]
