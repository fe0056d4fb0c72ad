"""Identities of CDA R2.

Record target, guardians, participants, and everyone who wrote or signed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from deid_assets.extending.formats import (
    Fault,
    Identity,
    ReadOptions,
    RecordError,
    Source,
    check_values,
)
from deid_clinical_formats.cda_documents import find_elements, instance, local, parse, patient_id
from deid_clinical_formats.hl7_identities import iso_date

_ROLE = ("recordTarget", "patientRole")
_ALIASES = frozenset({"P", "A", "ASGN", "I", "R"})
"""Uses of a name besides the legal one.

Pseudonyms, artists', assigned, indigenous and religious names.
"""
_STAFF = (
    ("author", "assignedAuthor", "assignedPerson", "name"),
    ("dataEnterer", "assignedEntity", "assignedPerson", "name"),
    ("legalAuthenticator", "assignedEntity", "assignedPerson", "name"),
    ("authenticator", "assignedEntity", "assignedPerson", "name"),
    ("informationRecipient", "intendedRecipient", "informationRecipient", "name"),
    ("documentationOf", "serviceEvent", "performer", "assignedEntity", "assignedPerson", "name"),
    (
        "componentOf",
        "encompassingEncounter",
        "encounterParticipant",
        "assignedEntity",
        "assignedPerson",
        "name",
    ),
)
_US_SSN = "2.16.840.1.113883.4.1"


def identities(source: Source, options: ReadOptions) -> Iterator[Identity | Fault]:
    """Yield what the header knows, and a fault for what cannot be read of it."""
    root = parse(source, options)
    if isinstance(root, Fault):
        yield root
        return
    patient = patient_id(root)
    known = ((patient, kind, value) for kind, value in _list_known(root, patient) if value)
    yield from check_values(known, source)


def _list_known(root: Element, patient_id: str | None) -> Iterator[tuple[str, str]]:
    if patient_id is None and next(find_elements(root, *_ROLE), None) is not None:
        raise RecordError(
            "missing-field", "no id of the record target, so that no note is theirs; add it"
        )
    for role in find_elements(root, *_ROLE):
        for number in find_elements(role, "id"):
            yield (
                "national_id" if number.get("root") == _US_SSN else "record_number",
                number.get("extension") or "",
            )
        yield from _list_contacts(role)
        for patient in find_elements(role, "patient"):
            yield from _patient(patient)
    for participant in find_elements(root, "participant", "associatedEntity"):
        yield from (
            ("relative", _whole(name))
            for name in find_elements(participant, "associatedPerson", "name")
        )
        yield from _list_contacts(participant)
    for encounter in find_elements(root, "componentOf", "encompassingEncounter", "id"):
        yield "record_number", instance(encounter) if encounter.get("extension") else ""
    for path in _STAFF:
        yield from (("staff", _whole(name)) for name in find_elements(root, *path))


def _patient(patient: Element) -> Iterator[tuple[str, str]]:
    for name in find_elements(patient, "name"):
        is_alias = bool(_ALIASES & {*name.get("use", "").split()})
        yield "alias" if is_alias else "name", _whole(name)
        yield from (("given_name", given) for given in _parts(name, "given"))
        yield from (("family_name", family) for family in _parts(name, "family"))
    for born in find_elements(patient, "birthTime"):
        yield "birth_date", iso_date(born.get("value", ""))
    for guardian in find_elements(patient, "guardian"):
        yield from (
            ("relative", _whole(name)) for name in find_elements(guardian, "guardianPerson", "name")
        )
        yield from _list_contacts(guardian)


def _list_contacts(element: Element) -> Iterator[tuple[str, str]]:
    for address in find_elements(element, "addr"):
        lines = _parts(address, "streetAddressLine")
        street = [*_parts(address, "streetName"), *_parts(address, "houseNumber")]
        yield from (("address", line) for line in lines)
        yield "address", " ".join(street)
        yield from (("city", city) for city in _parts(address, "city"))
        yield from (("zip", code) for code in _parts(address, "postalCode"))
        if not len(address):
            yield "address", _fold([address.text or ""])
    for contact in find_elements(element, "telecom"):
        scheme, _, value = contact.get("value", "").partition(":")
        if scheme in ("tel", "fax", "mailto"):
            yield "email" if scheme == "mailto" else "phone", value


def _whole(name: Element) -> str:
    """Given and family names in the order of the document; a name without parts as it stands."""
    parts = [inner for inner in name if local(inner) in ("given", "family")]
    return _fold(inner.text or "" for inner in parts) if parts else _fold(name.itertext())


def _parts(element: Element, name: str) -> list[str]:
    return [text for part in find_elements(element, name) if (text := _fold(part.itertext()))]


def _fold(texts: Iterable[str]) -> str:
    return " ".join(" ".join(texts).split())
