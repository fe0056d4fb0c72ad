"""How long the redaction of a batch will take, told before most of it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from deid_assets.core.note import Note

LEARN_FOR = 5.0  # seconds of redaction that an estimate rests on
WORTH_TELLING = 20.0  # seconds; a shorter rest is not told


@dataclass(frozen=True, slots=True)
class Forecast:
    """Gives the notes of a batch, and tells once how long those that are left will take.

    The estimate rests on the seconds a word of the notes after the first, which may load a model.
    A policy that is done within seconds, as those of lists are, tells nothing.

    Args:
        tell: Called with a line.
        clock: Seconds.
    """

    tell: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic

    def __call__(self, notes: Sequence[Note]) -> Iterator[Note]:
        """Yield the notes in order; each is taken as redacted when the next is asked for."""
        words, is_told = 0, False
        started = 0.0
        for number, note in enumerate(notes):
            if number == 1:
                started = self.clock()
            elif number > 1 and not is_told:
                words += _words([notes[number - 1]])
                spent = self.clock() - started
                if spent >= LEARN_FOR:
                    self._tell(notes[number:], spent / max(words, 1), number - 1, spent)
                    is_told = True
            yield note

    def _tell(self, left: Sequence[Note], rate: float, seen: int, spent: float) -> None:
        words = _words(left)
        seconds = rate * words
        if seconds < WORTH_TELLING:
            return
        took = f"{seen:,} {'note' if seen == 1 else 'notes'} took {spent:,.0f} s"
        rest = f"{len(left):,} notes ({words:,} words)" if len(left) > 1 else "the last note"
        self.tell(f"redacting: {took}; {rest} left of this batch, about {_time(seconds)}")


def _words(notes: Sequence[Note]) -> int:
    return sum(len(note.text.split()) for note in notes)


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    minutes = seconds / 60
    return f"{minutes:,.0f} min" if minutes < 120 else f"{minutes / 60:,.1f} h"
