"""The detector and the map from Presidio's entities to PHI categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import TYPE_CHECKING

from deid_assets import LabelMap, Note, Phi, Span, SpanSet
from deid_assets.extending import ConfigError

if TYPE_CHECKING:
    from presidio_analyzer import RecognizerResult

ENTITIES = LabelMap(
    "presidio",
    {
        "AGE": Phi.AGE,
        "CREDIT_CARD": Phi.ACCOUNT,
        "CRYPTO": Phi.ACCOUNT,
        "DATE_TIME": Phi.DATE,
        "EMAIL": Phi.EMAIL,
        "EMAIL_ADDRESS": Phi.EMAIL,
        "ES_NIE": Phi.NATIONAL_ID,
        "ES_NIF": Phi.NATIONAL_ID,
        "IBAN_CODE": Phi.ACCOUNT,
        "ID": Phi.ID,
        "IP_ADDRESS": Phi.IP,
        "LOCATION": Phi.LOCATION,
        "MAC_ADDRESS": Phi.DEVICE,
        "MEDICAL_LICENSE": Phi.LICENSE,
        "NRP": None,
        "ORGANIZATION": Phi.ORGANIZATION,
        "PERSON": Phi.NAME,
        "PHONE_NUMBER": Phi.PHONE,
        "UK_NHS": Phi.NATIONAL_ID,
        "URL": Phi.URL,
        "US_BANK_NUMBER": Phi.ACCOUNT,
        "US_DRIVER_LICENSE": Phi.LICENSE,
        "US_ITIN": Phi.NATIONAL_ID,
        "US_PASSPORT": Phi.NATIONAL_ID,
        "US_SSN": Phi.NATIONAL_ID,
        "UUID": Phi.ID,
    },
)
"""Presidio's entities.

NRP (nationality, religion, politics) is no category here and is ignored on purpose.
"""

LANGUAGES = ("en", "es")


class PresidioDetector:
    """Runs the pattern recognizers that Presidio loads by default.

    If a spaCy pipeline is given, it is run for names and places. A note in a language other than
    ``LANGUAGES``, or in none, is read as English.

    Args:
        min_score: Spans below it are dropped, in [0, 1]. Lower finds more; at 0 any run of digits
            is an account.
        context: Raise a score when one of the recognizer's words stands shortly before, as Presidio
            does.
        timeout_s: Limit per pattern and note. Presidio skips a pattern that takes longer; here the
            note fails.
        phone_regions: ISO 3166 regions whose national phone formats are tried; each costs time.
        model: Folder of a spaCy pipeline in one of ``LANGUAGES``, or name of an installed one;
            nothing is fetched. Without it names and places are not found.

    Raises:
        ConfigError: ``min_score`` or ``timeout_s`` is out of range, or there is no such pipeline.
        UnknownLabelError: The installed Presidio knows an entity that ``ENTITIES`` does not map.
    """

    name = "presidio"
    version = "0.1.0"
    labels: frozenset[Phi] = ENTITIES.categories
    native_labels = frozenset(ENTITIES.labels)

    def __init__(
        self,
        *,
        min_score: float = 0.35,
        context: bool = True,
        timeout_s: float = 10.0,
        phone_regions: Sequence[str] = ("US", "GB", "ES", "DE", "FR", "CA"),
        model: str = "",
    ) -> None:
        from deid_presidio.engine import (  # noqa: PLC0415 - loads presidio and spaCy, 2 s
            offline_engine,
        )

        if not 0.0 <= min_score <= 1.0:
            raise ConfigError(f"presidio: min_score is {min_score}; it must lie in [0, 1]")
        if timeout_s <= 0:
            raise ConfigError(f"presidio: timeout_s is {timeout_s}; it must be positive")
        self.version = f"{type(self).version}+presidio{metadata.version('presidio-analyzer')}"
        self._engine = offline_engine(
            LANGUAGES,
            context=context,
            timeout_s=timeout_s,
            phone_regions=tuple(phone_regions),
            model=model,
        )
        entities = {
            entity for lang in LANGUAGES for entity in self._engine.get_supported_entities(lang)
        }
        ENTITIES.require(entities)
        self.labels = frozenset(
            label for entity in entities if (label := ENTITIES[entity]) is not None
        )
        self._min_score = min_score

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note.

        Raises:
            DetectorError: A pattern took longer than ``timeout_s``.
        """
        for note in notes:
            lang = note.lang if note.lang in LANGUAGES else "en"
            results = self._engine.analyze(note.text, lang, score_threshold=self._min_score)
            yield SpanSet.of(
                note, {span for result in results if (span := self._span(result)) is not None}
            )

    def _span(self, result: RecognizerResult) -> Span | None:
        label = ENTITIES[result.entity_type]
        if label is None:
            return None
        score = min(max(result.score, 0.0), 1.0)
        return Span(result.start, result.end, label, score, self.name, result.entity_type)
