"""scrubadub's detectors as one detector.

Patterns and phone numbers, no names, no places, no dates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

from deid_assets import LabelMap, Note, Phi, Span, SpanSet
from deid_assets.extending import ConfigError

__all__ = ["FILTH", "LOCALES", "ScrubadubDetector"]

FILTH = LabelMap(
    "scrubadub",
    {
        "address": Phi.STREET,
        "credential": Phi.USERNAME,
        "credit_card": Phi.ACCOUNT,
        "date_of_birth": Phi.DATE,
        "drivers_licence": Phi.LICENSE,
        "email": Phi.EMAIL,
        "location": Phi.LOCATION,
        "name": Phi.NAME,
        "national_insurance_number": Phi.NATIONAL_ID,
        "organization": Phi.ORGANIZATION,
        "phone": Phi.PHONE,
        "postalcode": Phi.ZIP,
        "skype": Phi.USERNAME,
        "social_security_number": Phi.NATIONAL_ID,
        "tax_reference_number": Phi.NATIONAL_ID,
        "twitter": Phi.USERNAME,
        "url": Phi.URL,
        "vehicle_licence_plate": Phi.VEHICLE,
    },
)
"""scrubadub's kinds of filth.

``unknown`` and ``tagged`` are of its own evaluation and are not known here.
"""

LOCALES: Mapping[str, str] = {
    "en": "en_US",
    "de": "de_DE",
    "es": "es_ES",
    "fi": "fi_FI",
    "fr": "fr_FR",
    "it": "it_IT",
    "nl": "nl_NL",
    "sv": "sv_SE",
}
"""Language of a note to the locale that its phone numbers and postal codes are read by.

Else that of English.
"""


class ScrubadubDetector:
    """Runs the detectors that scrubadub loads by default in a note's locale.

    Each has predictions of its own.

    Args:
        locales: Language to locale, over ``LOCALES``. With ``en = "en_GB"`` postal codes, number
            plates, driving licences and national insurance numbers are found, and social security
            numbers are not.
        more: Names of detectors that scrubadub does not load by default, such as ``date_of_birth``;
            each runs in the locales that it was made for.

    Raises:
        ConfigError: scrubadub has no detector of a name in ``more``.
        UnknownLabelError: A detector finds what ``FILTH`` does not map.
    """

    name = "scrubadub"
    version = "0.1.0"
    labels: frozenset[Phi] = FILTH.categories
    native_labels = frozenset(FILTH.labels)

    def __init__(
        self, *, locales: Mapping[str, str] | None = None, more: Sequence[str] = ()
    ) -> None:
        self.version = f"{type(self).version}+scrubadub{metadata.version('scrubadub')}"
        self._detectors = {
            lang: _detectors(at, more) for lang, at in {**LOCALES, **(locales or {})}.items()
        }
        kinds = {
            detector.filth_cls.type for found in self._detectors.values() for detector in found
        }
        FILTH.require(kinds)
        self.labels = frozenset(label for kind in kinds if (label := FILTH[kind]) is not None)

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note; spans of several of scrubadub's detectors may overlap."""
        for note in notes:
            detectors = self._detectors.get(note.lang or "en", self._detectors["en"])
            found = (filth for detector in detectors for filth in detector.iter_filth(note.text))
            yield SpanSet.of(
                note, {span for filth in found if (span := self._span(filth)) is not None}
            )

    def _span(self, filth: Any) -> Span | None:
        label = FILTH[filth.type]
        return (
            None if label is None else Span(filth.beg, filth.end, label, 1.0, self.name, filth.type)
        )


def _detectors(locale: str, more: Sequence[str]) -> list[Any]:
    """Return what a ``Scrubber`` of the locale would load, and the detectors of ``more``."""
    from scrubadub.detectors.catalogue import (  # type: ignore[import-untyped]  # noqa: PLC0415 - 2 s
        detector_catalogue,
    )

    known = detector_catalogue.get_all()
    if unknown := sorted(set(more) - known.keys()):
        raise ConfigError(
            f"scrubadub: no detector {unknown[0]!r}; more may name {', '.join(sorted(known))}"
        )
    chosen = [
        detector
        for name, detector in known.items()
        if (detector.autoload or name in more) and _is_for(detector, locale)
    ]
    return [detector(locale=locale) for detector in chosen]


def _is_for(detector: Any, locale: str) -> bool:
    return not hasattr(detector, "supported_locale") or bool(detector.supported_locale(locale))
