"""The ordinary words of a corpus: a count over many notes, in which no note can be seen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from deid_assets.extending import Note, SpanSet

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_BEGINS = re.compile(r"(?:^|[.!?:;\n\r\t•*-])\s*$")
MIN_PATIENTS = 5
LOWER_SHARE = 0.1


class CaseCounts:
    """Counts in how many notes each word stands in lower case, and in how many with a capital
    inside a sentence.

    A word is ordinary when enough patients' notes have it and a tenth or more of those notes in
    lower case. Names that somebody writes in lower case again and again do not get in, as long as a
    detector finds them: what its spans cover is not counted.

    Args:
        min_patients: Patients whose notes must have the word; a note without a patient is one of
            its own.
    """

    def __init__(self, *, min_patients: int = MIN_PATIENTS) -> None:
        self._min_patients = min_patients
        self._lower: Counter[str] = Counter()
        self._capital: Counter[str] = Counter()
        self._patients: dict[str, set[str]] = {}

    def add(self, note: Note, spans: SpanSet) -> None:
        """Count the words of a note outside its spans, each once."""
        words = list(_words(note.text, [(span.start, span.end) for span in spans]))
        lower = {word for word, _ in words if word.islower() and len(word) > 1}
        self._lower.update(lower)
        self._capital.update(
            {word.lower() for word, inside in words if inside and word.istitle()} - lower
        )
        patient = note.patient_id or note.note_id
        for word in lower:
            patients = self._patients.setdefault(word, set())
            if len(patients) < self._min_patients:  # enough is enough, which bounds the memory
                patients.add(patient)

    def words(self) -> Iterator[tuple[str, int]]:
        """Yield the ordinary words with the number of their notes, sorted."""
        for word, notes in sorted(self._lower.items()):
            is_shared = len(self._patients[word]) >= self._min_patients
            if is_shared and notes >= LOWER_SHARE * (notes + self._capital[word]):
                yield word, notes


def _words(text: str, covered: Iterable[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """The words outside the ranges, and whether each stands inside a sentence."""
    ranges, at = sorted(covered), 0
    for match in _WORD.finditer(text):
        while at < len(ranges) and ranges[at][1] <= match.start():
            at += 1
        if at == len(ranges) or match.end() <= ranges[at][0]:
            yield match[0], not _BEGINS.search(text[max(0, match.start() - 8) : match.start()])
