"""Finds record numbers written like ``MRN 123-45-67``: a whole detector, to copy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from deid_assets import Note, Phi, Span, SpanSet

__all__ = ["RecordNumberDetector"]


class RecordNumberDetector:
    """Marks the number that follows a prefix word.

    Args:
        prefix: Word before the number; case is ignored.
        score: Confidence of every span, in [0, 1].
    """

    name = "template"
    version = "0.1.0"
    labels = frozenset({Phi.MRN})

    def __init__(self, *, prefix: str = "MRN", score: float = 0.9) -> None:
        self._number = re.compile(
            rf"\b{re.escape(prefix)}\W{{0,3}}([0-9]{{3}}-[0-9]{{2}}-[0-9]{{2}})\b", re.IGNORECASE
        )
        self._score = score

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        for note in notes:
            places = (match.span(1) for match in self._number.finditer(note.text))
            yield SpanSet.of(
                note, [Span(*place, Phi.MRN, self._score, self.name) for place in places]
            )
