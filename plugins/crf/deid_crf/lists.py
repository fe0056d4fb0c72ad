"""Which compiled lists hold a token, alone or in a phrase."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from deid_assets.extending.lists import PHRASE_LISTS, Gazetteer

REMEMBERED = 60_000


class CompiledLists:
    """Compiled lists, asked word by word.

    Args:
        paths: Files that ``deid gazetteer build`` made.

    Raises:
        InputError: A file is missing, or no compiled list.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        lists = [Gazetteer(path) for path in paths]
        self._words = [each for each in lists if each.kind not in PHRASE_LISTS]
        self._phrases = [each for each in lists if each.kind in PHRASE_LISTS]
        self._kinds = lru_cache(REMEMBERED)(self._look_up)
        self._beginning = lru_cache(REMEMBERED)(self._look_up_beginning)

    def hits(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return for each token the kinds of the lists that hold it, phrases with ``B-`` and
        ``I-``.
        """
        lows = [word.lower() for word in words]
        found: list[tuple[str, ...]] = (
            [self._kinds(low) for low in lows] if self._words else [()] * len(lows)
        )
        for at in range(len(lows) if self._phrases else 0):
            for kind, phrase in self._beginning(lows[at]):
                if tuple(lows[at : at + len(phrase)]) == phrase:
                    for number in range(at, at + len(phrase)):
                        name = f"{'I' if number > at else 'B'}-{kind}"
                        found[number] = tuple(dict.fromkeys((*found[number], name)))
        return found

    def _look_up(self, low: str) -> tuple[str, ...]:
        return tuple(sorted({each.kind for each in self._words if low in each}))

    def _look_up_beginning(self, low: str) -> list[tuple[str, tuple[str, ...]]]:
        """The phrases that begin with a word, of each list the longest last."""
        return [
            (each.kind, phrase)
            for each in self._phrases
            for phrase in sorted(each.beginning_with(low), key=len)
        ]
