"""Identities of FHIR R4: ``Patient``, ``RelatedPerson`` and ``Practitioner``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from deid_assets.extending.formats import (
    Fault,
    Identity,
    Known,
    ReadOptions,
    RecordError,
    Source,
    check_values,
    optional_string,
)
from deid_clinical_formats.fhir_resources import (
    Element,
    Resource,
    child,
    objects,
    patient_of,
    resources,
)
from deid_clinical_formats.hl7_identities import number_kind

_ALIASES = frozenset({"nickname", "anonymous", "old", "maiden"})
"""Uses of a name that another one stands beside (FHIR R4, value set name-use)."""
_SYSTEMS = {"phone": "phone", "fax": "phone", "pager": "phone", "sms": "phone", "email": "email"}


def identities(source: Source, options: ReadOptions) -> Iterator[Identity | Fault]:
    """Yield what each resource knows, and a fault for what cannot be read of it."""
    for resource in resources(source, options):
        if isinstance(resource, Fault):
            yield resource
        else:
            place = f"{resource.place}{resource.type}: "
            yield from check_values(_list_known(resource), source, line=resource.line, place=place)


def _list_known(resource: Resource) -> Iterator[Known]:
    element = resource.element
    patient_id: str | None = None
    found: Iterator[tuple[str, str]]
    if resource.type == "Patient":
        patient_id = optional_string(element, "id")
        if not patient_id:
            raise RecordError(
                "missing-field", "no id, so that no note is theirs; give every resource one"
            )
        found = chain(_person(element), _of_patient(element))
    elif resource.type == "RelatedPerson":
        patient_id = patient_of(element, "patient")
        if not patient_id:
            raise RecordError("missing-field", "names no patient by reference; export it again")
        found = chain(_list_names(element, "relative"), _list_contacts(element))
    elif resource.type == "Practitioner":
        found = _list_names(element, "staff")
    else:
        return
    yield from ((patient_id, kind, value) for kind, value in found if value and not value.isspace())


def _of_patient(element: Element) -> Iterator[tuple[str, str]]:
    if born := optional_string(element, "birthDate"):
        yield "birth_date", born
    for contact in objects(element, "contact"):
        if name := _whole(child(contact, "name")):
            yield "relative", name
        yield from _telecom(contact)
        yield from _address(child(contact, "address"))
    for practitioner in objects(element, "generalPractitioner"):
        if shown := optional_string(practitioner, "display"):
            yield "staff", shown


def _person(element: Element) -> Iterator[tuple[str, str]]:
    for name in objects(element, "name"):
        is_alias = optional_string(name, "use") in _ALIASES
        if whole := _whole(name):
            yield "alias" if is_alias else "name", whole
        yield from (("given_name", given) for given in _strings(name, "given"))
        if family := optional_string(name, "family"):
            yield "family_name", family
    yield from _list_contacts(element)


def _list_contacts(element: Element) -> Iterator[tuple[str, str]]:
    """Numbers and places of a person."""
    for identifier in objects(element, "identifier"):
        if value := optional_string(identifier, "value"):
            yield _number_kind(identifier), value
    yield from _telecom(element)
    for address in objects(element, "address"):
        yield from _address(address)


def _number_kind(identifier: Element) -> str:
    codes = [
        optional_string(coding, "code") or ""
        for coding in objects(child(identifier, "type"), "coding")
    ]
    is_us_ssn = identifier.get("system") == "http://hl7.org/fhir/sid/us-ssn"
    return (
        "national_id" if is_us_ssn or "national_id" in map(number_kind, codes) else "record_number"
    )


def _telecom(element: Element) -> Iterator[tuple[str, str]]:
    for contact in objects(element, "telecom"):
        value, system = optional_string(contact, "value"), optional_string(contact, "system") or ""
        kind = _SYSTEMS.get(system) or ("email" if "@" in (value or "") else "phone")
        if value and system != "url":
            yield kind, value.removeprefix("tel:").removeprefix("mailto:")


def _address(address: Element) -> Iterator[tuple[str, str]]:
    lines = _strings(address, "line")
    yield from (("address", line) for line in lines)
    if not lines and (text := optional_string(address, "text")):
        yield "address", text
    for name, kind in (("city", "city"), ("postalCode", "zip")):
        if value := optional_string(address, name):
            yield kind, value


def _list_names(element: Element, kind: str) -> Iterator[tuple[str, str]]:
    yield from ((kind, _whole(name)) for name in objects(element, "name"))


def _whole(name: Element) -> str:
    """The name as written, or given and family names."""
    family = optional_string(name, "family")
    return optional_string(name, "text") or " ".join(
        [*_strings(name, "given"), *([family] if family else [])]
    )


def _strings(element: Element, name: str) -> list[str]:
    """Return the strings of a list that hold more than blanks.

    Raises:
        RecordError: It is no list of strings.
    """
    found = element.get(name)
    if found is None:
        return []
    # A null keeps the place of an extension (FHIR R4, JSON format).
    if not isinstance(found, list) or not all(isinstance(value, str | None) for value in found):
        raise RecordError("malformed", f"{name} is no list of strings; export it again")
    return [value for value in found if value and not value.isspace()]
