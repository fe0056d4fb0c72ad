"""DataFog's regular expressions as a detector: structured identifiers, no names, no places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

from deid_assets import LabelMap, Note, Phi, Span, SpanSet

__all__ = ["ENTITIES", "DatafogDetector"]

ENTITIES = LabelMap(
    "datafog",
    {
        "CREDIT_CARD": Phi.ACCOUNT,
        "DE_IBAN": Phi.ACCOUNT,
        "DE_PASSPORT_NUMBER": Phi.NATIONAL_ID,
        "DE_POSTAL_CODE": Phi.ZIP,
        "DE_RESIDENCE_PERMIT_NUMBER": Phi.NATIONAL_ID,
        "DE_SOCIAL_SECURITY_NUMBER": Phi.NATIONAL_ID,
        "DE_TAX_ID": Phi.NATIONAL_ID,
        "DE_VAT_ID": Phi.ID,
        "DOB": Phi.DATE,
        "EMAIL": Phi.EMAIL,
        "IP_ADDRESS": Phi.IP,
        "PHONE": Phi.PHONE,
        "SSN": Phi.NATIONAL_ID,
        "ZIP": Phi.ZIP,
    },
)
"""DataFog's labels. Its ``DOB`` is any numeric date."""


class DatafogDetector:
    """Runs DataFog's regular expressions; the German ones on German notes only.

    DataFog's own ``scan`` keeps one of several overlapping finds. Here all are kept: which one
    counts is decided when detectors are merged.

    Raises:
        UnknownLabelError: The installed DataFog has a label that ``ENTITIES`` does not map.
    """

    name = "datafog"
    version = "0.1.0"
    labels = ENTITIES.categories
    native_labels = frozenset(ENTITIES.labels)

    def __init__(self) -> None:
        from datafog.processing.text_processing.regex_annotator import (  # noqa: PLC0415 - loads pydantic
            RegexAnnotator,
        )

        self.version = f"{type(self).version}+datafog{metadata.version('datafog')}"
        self._german, self._other = RegexAnnotator(locales=["de"]), RegexAnnotator()
        ENTITIES.require([*self._german.active_labels, *self._other.active_labels])

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note."""
        for note in notes:
            annotator = self._german if note.lang == "de" else self._other
            _, found = annotator.annotate_with_spans(note.text)
            yield SpanSet.of(
                note, {made for span in found.spans if (made := self._span(span)) is not None}
            )

    def _span(self, span: Any) -> Span | None:
        label = ENTITIES[span.label]
        if label is None or not span.text.strip():
            return None
        return Span(span.start, span.end, label, 1.0, self.name, span.label)
