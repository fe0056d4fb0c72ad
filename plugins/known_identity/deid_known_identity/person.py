"""One person's name, in every way a note may write it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rapidfuzz import process
from rapidfuzz.distance import OSA

from deid_known_identity.tokens import TextToken, TextTokens, fold, keys_of
from deid_known_identity.words import ORDINARY, nicknames

PAIR, EXACT, NEAR, LOWER, INITIALS = 0.99, 0.95, 0.9, 0.85, 0.7
LONG = 6
"""Letters from which a word may have one typo."""
INFLECTED = 4
"""Letters from which a word may have an ending."""
MAX_ENDING = 3
_JOINT = re.compile(r"(?:\.?,?[ \t\u00a0]{0,2}\r?\n?[ \t]{0,2}|\.?-|['\u2019])\Z")
_SENTENCE = re.compile(r"(?:^|[.!?:\n])\s*\Z")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention: tokens [first, last] and its score."""

    first: int
    last: int
    score: float


@dataclass(frozen=True, slots=True)
class PersonName:
    """The words of a name.

    Args:
        words: Folded words that identify.
        particles: Folded words in lower case between them (``van``, ``de``), which do not identify
            alone.
        initials: First letters of the words.
        nicknames: Folded short forms of the given names.
        alone: Whether one word of the name is a mention.
    """

    words: frozenset[str] = field(repr=False)
    particles: frozenset[str] = field(repr=False)
    initials: frozenset[str] = field(repr=False)
    nicknames: frozenset[str] = field(repr=False)
    alone: bool = True

    @classmethod
    def of(cls, names: Iterable[str], *, alone: bool = True) -> PersonName:
        """Return the person who bears all these names.

        Args:
            names: Whole names, or parts of them.
            alone: Whether one word is a mention; not so for people of whom there are many, such as
                staff.
        """
        names = list(names)
        spaced = [run for name in names for run in _WORD.findall(name)]
        particles = {fold(run) for run in spaced if run.islower() and len(run) < INFLECTED}
        words = {
            key for name in names for key in keys_of(name) if len(key) > 1 and not key.isdecimal()
        } - particles
        initials = {word[0] for word in words} | {fold(run) for run in spaced if len(run) == 1}
        short = {nick for word in words for nick in nicknames(word)} - words
        return cls(
            frozenset(words), frozenset(particles), frozenset(initials), frozenset(short), alone
        )

    def find(self, tokens: TextTokens) -> list[Mention]:
        """Return the mentions in a text, in order."""
        if not self.words:
            return []
        near = self._near(tokens)
        found: list[Mention] = []
        done = -1
        for index in tokens.at((*self.words, *self.nicknames, *near, *self.initials)):
            if index > done and self._counts(tokens[index], near):
                done = self._last(tokens, near, index)
                found += self._mention(tokens, near, index, done)
        return found

    def _counts(self, token: TextToken, near: frozenset[str]) -> bool:
        return self._score(token, near) > 0 or self._is_initial(token)

    def _near(self, tokens: TextTokens) -> frozenset[str]:
        """Words of the text that are one of the name with an ending, or with one typo if it is
        long.
        """
        unknown = [
            key
            for key, indexes in tokens.places.items()
            if len(key) >= INFLECTED
            and key not in self.words
            and key not in ORDINARY
            and any(tokens[index].capital for index in indexes)
        ]
        stems = [word for word in self.words if len(word) >= INFLECTED]
        inflected = {
            key
            for key in unknown
            if any(key.startswith(stem) and len(key) - len(stem) <= MAX_ENDING for stem in stems)
        }
        long = [word for word in self.words if len(word) >= LONG]
        if not long or not unknown:
            return frozenset(inflected)
        distances = process.cdist(unknown, long, scorer=OSA.distance, score_cutoff=1).min(axis=1)
        return frozenset(
            inflected
            | {key for key, distance in zip(unknown, distances, strict=True) if distance <= 1}
        )

    def _score(self, token: TextToken, near: frozenset[str]) -> float:
        """Return the weight of one token as evidence of the person, or 0."""
        if token.key in self.words:
            return EXACT if token.capital else LOWER
        if token.capital and (token.key in near or token.key in self.nicknames):
            return NEAR
        return 0.0

    def _is_initial(self, token: TextToken) -> bool:
        """Whether a token is an initial of the name."""
        return token.capital and len(token.key) == 1 and token.key in self.initials

    def _last(self, tokens: TextTokens, near: frozenset[str], first: int) -> int:
        """Index of the last token that belongs together with ``tokens[first]``."""
        last = index = first
        while index + 1 < len(tokens) and _JOINT.match(tokens.gap(index)):
            index += 1
            if self._counts(tokens[index], near):
                last = index
            elif tokens[index].key not in self.particles:
                break
        return last

    def _mention(
        self, tokens: TextTokens, near: frozenset[str], first: int, last: int
    ) -> list[Mention]:
        """Return a run of tokens as a mention, unless it says too little."""
        run = tokens[first : last + 1]
        scores = [score for token in run if (score := self._score(token, near))]
        if len(scores) > 1:
            return [Mention(first, last, PAIR)]
        if not scores:
            pointed = all(tokens.text[token.end : token.end + 1] == "." for token in run)
            whole = {token.key for token in run} == self.initials and len(self.initials) > 1
            return [Mention(first, last, INITIALS)] if pointed and whole and self.alone else []
        only = next(token for token in run if self._score(token, near))
        if last > first:
            return [Mention(first, last, scores[0])] if only.capital else []
        return (
            [Mention(first, last, scores[0])]
            if self.alone and self._stands_alone(tokens.text, only)
            else []
        )

    @staticmethod
    def _stands_alone(text: str, token: TextToken) -> bool:
        if len(token.key) < 3:
            return False
        if token.key not in ORDINARY:
            return True
        return token.capital and not _SENTENCE.search(text[max(0, token.start - 8) : token.start])
