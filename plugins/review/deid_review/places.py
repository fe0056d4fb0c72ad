"""Where a value stands in the notes of a batch, by an index of their words."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deid_assets import Note

_WORD = re.compile(r"\w+")
_MOST = 4_096
"""Values whose places are kept."""


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """A place where a value stands.

    Args:
        note_id: Of the note.
        start: First code point.
        end: One past the last.
    """

    note_id: str
    start: int
    end: int


class WordIndex:
    """The notes of a batch by their words, so that a value is looked for where it may stand.

    Args:
        notes: By id.
    """

    def __init__(self, notes: Mapping[str, Note]) -> None:
        self._notes = list(notes.values())
        self._by_word: dict[str, array[int]] = defaultdict(lambda: array("I"))
        self._by_patient: dict[str, set[int]] = defaultdict(set)
        self._known: dict[tuple[str | None, str], Sequence[ValuePlace]] = {}
        for number, note in enumerate(self._notes):
            for word in _words_of(note.text):
                self._by_word[word].append(number)
            if note.patient_id is not None:
                self._by_patient[note.patient_id].add(number)

    def places(self, value: str, *, patient: str | None = None) -> Sequence[ValuePlace]:
        """Return where a value stands as whole words, in any case and with any blanks.

        Args:
            value: It.
            patient: Whose notes are looked at; all where not given.
        """
        wanted = (patient, " ".join(value.split()))
        if wanted not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[wanted] = list(self._find(value, patient))
        return self._known[wanted]

    def _find(self, value: str, patient: str | None) -> Iterator[ValuePlace]:
        among = None if patient is None else self._by_patient.get(patient, set())
        words = r"\s+".join(map(re.escape, value.split()))
        pattern = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
        for number in self._holding(value, among):
            note = self._notes[number]
            for found in pattern.finditer(note.text):
                yield ValuePlace(note.note_id, *found.span())

    def _holding(self, value: str, among: set[int] | None) -> list[int]:
        """Return the numbers of the notes that have every word of a value, in order."""
        postings = sorted((self._by_word.get(one, ()) for one in _words_of(value)), key=len)
        found = set(postings[0]) if postings else set(range(len(self._notes)))
        for posting in postings[1:]:
            found.intersection_update(posting)
        return sorted(found if among is None else found & among)


def _words_of(text: str) -> set[str]:
    """Return the words of a text, alike wherever a pattern that ignores case takes them for alike:
    there the Turkish letters are an ``i``, and a sigma is one at the end of a word too.
    """
    return {
        one.casefold().replace("i\u0307", "i").replace("\u0131", "i") for one in _WORD.findall(text)
    }
