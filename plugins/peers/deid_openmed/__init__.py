"""OpenMed's safety sweep as a detector.

Its patterns for 42 languages, without any of its models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

from deid_assets import LabelMap, Note, Phi, Span, SpanSet

__all__ = ["ENTITIES", "OpenmedDetector"]

ENTITIES = LabelMap(
    "openmed",
    {
        "ACCOUNT_NUMBER": Phi.ACCOUNT,
        "ETHNICITY": None,
        "FACILITY_ID": Phi.ID,
        "KE_MAISHA_NAMBA": Phi.NATIONAL_ID,
        "KE_NATIONAL_ID": Phi.NATIONAL_ID,
        "ORGANIZATION": Phi.ORGANIZATION,
        "abha": Phi.HEALTH_PLAN,
        "abha_address": Phi.HEALTH_PLAN,
        "abha_number": Phi.HEALTH_PLAN,
        "account_number": Phi.ACCOUNT,
        "age": Phi.AGE,
        "bic": Phi.ACCOUNT,
        "chinese_passport": Phi.NATIONAL_ID,
        "credit_card": Phi.ACCOUNT,
        "credit_debit_card": Phi.ACCOUNT,
        "date": Phi.DATE,
        "email": Phi.EMAIL,
        "gstin": Phi.ID,
        "home_return_permit": Phi.NATIONAL_ID,
        "iban": Phi.ACCOUNT,
        "ifsc": Phi.ACCOUNT,
        "indian_driving_licence": Phi.LICENSE,
        "indian_passport": Phi.NATIONAL_ID,
        "indian_vehicle_registration": Phi.VEHICLE,
        "ipv4": Phi.IP,
        "ipv6": Phi.IP,
        "mac_address": Phi.DEVICE,
        "medical_record_number": Phi.MRN,
        "mobile_money_account": Phi.ACCOUNT,
        "mobile_money_agent": Phi.ACCOUNT,
        "mobile_money_paybill": Phi.ACCOUNT,
        "mobile_money_till": Phi.ACCOUNT,
        "momo_reference": Phi.ACCOUNT,
        "mpesa_tx_code": Phi.ACCOUNT,
        "name": Phi.NAME,
        "national_id": Phi.NATIONAL_ID,
        "npi": Phi.LICENSE,
        "pan": Phi.NATIONAL_ID,
        "passport_mrz": Phi.NATIONAL_ID,
        "person": Phi.NAME,
        "phone_number": Phi.PHONE,
        "postcode": Phi.ZIP,
        "quantity": None,
        "ration_card": Phi.ID,
        "social_credit_code": Phi.NATIONAL_ID,
        "ssn": Phi.NATIONAL_ID,
        "street_address": Phi.STREET,
        "taiwan_compatriot_permit": Phi.NATIONAL_ID,
        "upi_id": Phi.ACCOUNT,
        "url": Phi.URL,
        "voter_id_epic": Phi.NATIONAL_ID,
    },
)
"""Entity types of the sweep's patterns.

Ethnicities and quantities identify nobody and are ignored on purpose.
"""

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt", "sv")
"""Languages whose patterns the declared labels are taken from.

Those of scripts we do not read are checked, not run.
"""


class OpenmedDetector:
    """Runs the patterns that OpenMed adds behind its models, alone.

    Its token classifiers need weights and are not run.

    A note in a language other than ``LANGUAGES``, or in none, is read as English.

    Raises:
        UnknownLabelError: The installed OpenMed has a pattern of a type that ``ENTITIES`` does not
            map.
    """

    name = "openmed"
    version = "0.1.0"
    labels: frozenset[Phi] = ENTITIES.categories
    native_labels = frozenset(ENTITIES.labels)

    def __init__(self) -> None:
        from openmed.core.language_pack_catalog import SUPPORTED_LANGUAGES  # noqa: PLC0415 - 1 s
        from openmed.core.pii_i18n import get_patterns_for_language  # noqa: PLC0415

        self.version = f"{type(self).version}+openmed{metadata.version('openmed')}"
        types_of = {
            lang: {p.entity_type for p in get_patterns_for_language(lang)}
            for lang in SUPPORTED_LANGUAGES
        }
        for types in types_of.values():
            ENTITIES.require(types)
        read = (ENTITIES[kind] for lang in LANGUAGES for kind in types_of[lang])
        self.labels = frozenset(label for label in read if label is not None)

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note."""
        from openmed.core.safety_sweep import (  # noqa: PLC0415 - loaded with the detector
            safety_sweep,
        )

        for note in notes:
            found = safety_sweep(note.text, [], lang=note.lang if note.lang in LANGUAGES else "en")
            yield SpanSet.of(
                note, {span for entity in found if (span := self._span(entity)) is not None}
            )

    def _span(self, entity: Any) -> Span | None:
        label = ENTITIES[entity.label]
        score = min(max(float(entity.confidence), 0.0), 1.0)
        return (
            None
            if label is None
            else Span(entity.start, entity.end, label, score, self.name, entity.label)
        )
