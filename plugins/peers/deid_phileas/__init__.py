"""The pattern filters of Phileas' Python port as a detector.

No names without its model server, which is not called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

from deid_assets import LabelMap, Note, Phi, Span, SpanSet

__all__ = ["FILTERS", "PhileasDetector"]

FILTERS = LabelMap(
    "phileas",
    {
        "age": Phi.AGE,
        "bank-routing-number": Phi.ACCOUNT,
        "bitcoin-address": Phi.ACCOUNT,
        "credit-card": Phi.ACCOUNT,
        "currency": None,
        "date": Phi.DATE,
        "drivers-license": Phi.LICENSE,
        "email-address": Phi.EMAIL,
        "iban-code": Phi.ACCOUNT,
        "ip-address": Phi.IP,
        "mac-address": Phi.DEVICE,
        "passport-number": Phi.NATIONAL_ID,
        "phone-number": Phi.PHONE,
        "ssn": Phi.NATIONAL_ID,
        "street-address": Phi.STREET,
        "tracking-number": Phi.ID,
        "url": Phi.URL,
        "vin": Phi.VEHICLE,
        "zip-code": Phi.ZIP,
    },
)
"""Phileas' types of filter. ``currency`` identifies nobody and is ignored on purpose."""

_OF_THE_USER = {"ph-eye", "dictionary", "pattern"}
"""Filters that need a server, or words and patterns of the user's own; none is switched on here."""


class PhileasDetector:
    """Runs every filter of Phileas that needs neither a server nor a word list.

    Each note is filtered by a service of its own: Phileas keeps the tokens it replaced, in clear,
    for as long as the service lives.

    Raises:
        UnknownLabelError: The installed Phileas has a type of filter that ``FILTERS`` does not map.
    """

    name = "phileas"
    version = "0.1.0"
    labels = FILTERS.categories
    native_labels = frozenset(FILTERS.labels)

    def __init__(self) -> None:
        from phileas import Policy  # type: ignore[import-untyped]  # noqa: PLC0415 - loaded with the detector
        from phileas.filters.base import FilterType  # type: ignore[import-untyped]  # noqa: PLC0415

        self.version = f"{type(self).version}+phileas-redact{metadata.version('phileas-redact')}"
        types = {value for key, value in vars(FilterType).items() if key.isupper()} - _OF_THE_USER
        FILTERS.require(types)
        wanted = sorted(kind for kind in types if FILTERS[kind] is not None)
        self._policy = Policy.from_dict({"identifiers": {_camel(kind): {} for kind in wanted}})

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note."""
        from phileas import FilterService  # noqa: PLC0415 - loaded with the detector

        for note in notes:
            found = FilterService().filter(self._policy, "notes", "note", note.text).spans
            yield SpanSet.of(
                note, {made for span in found if (made := self._span(span)) is not None}
            )

    def _span(self, span: Any) -> Span | None:
        label = FILTERS[span.filter_type]
        if label is None or span.ignored:
            return None
        score = min(max(float(span.confidence), 0.0), 1.0)
        return Span(
            span.character_start, span.character_end, label, score, self.name, span.filter_type
        )


def _camel(kind: str) -> str:
    """Return the key of a policy for a type of filter: ``zip-code`` is ``zipCode``."""
    first, *rest = kind.split("-")
    return first + "".join(word.capitalize() for word in rest)
