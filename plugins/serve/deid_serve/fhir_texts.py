"""The texts of FHIR resources as notes: attachments, conclusions, ``Binary`` and narrative."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deid_assets import Note
from deid_assets.extending.formats import Fault, ParsedNote, ReadOptions, RecordError, Source
from deid_assets.extending.serving import CODES
from deid_clinical_formats.charsets import from_base64, to_text
from deid_clinical_formats.fhir import notes_of
from deid_clinical_formats.fhir_resources import (
    Element,
    Resource,
    check_contained,
    child,
    objects,
    unpack_resources,
)
from deid_document_formats.html_text import text_of_html
from deid_serve.fhir_outcomes import issue_of, refusal
from deid_serve.limits import ServiceLimits

READ = frozenset({"Binary", "Composition", "DiagnosticReport", "DocumentReference"})
_NAMED = frozenset(
    {
        *("AllergyIntolerance", "CarePlan", "CareTeam", "Condition", "Coverage", "Device"),
        *("Encounter", "EpisodeOfCare", "Goal", "Immunization", "Location", "Media"),
        *("Medication", "MedicationRequest", "MedicationStatement", "Observation"),
        *("Organization", "Patient", "Person", "Practitioner", "PractitionerRole"),
        *("Procedure", "Provenance", "QuestionnaireResponse", "RelatedPerson"),
        *("ServiceRequest", "Specimen"),
    }
)
"""Resources that an outcome names; of another one the type may be anything."""
_LOINC = "http://loinc.org"
_CODE = re.compile(r"([0-9]{1,6})-([0-9])")
"""Number and check digit; no code of LOINC has more than six digits before it."""
_BODY = Source(Path("body"), Path())


@dataclass(slots=True)
class TextPlace:
    """A text of a resource, and where its redaction goes.

    Args:
        kind: ``attachment``, ``conclusion``, ``narrative``, ``section`` or ``binary``.
        note: The text as a note.
    """

    kind: str
    note: Note = field(repr=False)


@dataclass(slots=True)
class ResourceTexts:
    """A resource with its texts.

    Args:
        resource: It.
        codings: LOINC codes of its type.
        places: Its texts, in order.
    """

    resource: Resource
    codings: list[dict[str, str]] = field(default_factory=list)
    places: list[TextPlace] = field(default_factory=list, repr=False)


def texts_of(
    value: Element, limits: ServiceLimits, issues: list[dict[str, Any]]
) -> Iterator[ResourceTexts]:
    """Yield the resources with notes; the others, and what cannot be read, become issues.

    Raises:
        HttpProblem: Two notes have one id.
    """
    options = ReadOptions(max_note_chars=limits.chars)
    ids: set[tuple[str, str]] = set()
    try:
        for found in unpack_resources(_BODY, value):
            if isinstance(found, Fault):
                issues.append(issue_of("error", "invalid", found.message.removeprefix("body: ")))
            elif found.type not in READ:
                issues.append(_left_out(found))
            else:
                one = _places(found, options, limits, issues)
                _name_notes(one, ids)
                yield one
    except RecordError as error:
        issues.append(issue_of("error", "invalid", error.reason))


def _left_out(resource: Resource) -> dict[str, Any]:
    """Return the issue of a resource without notes; an error where a note lies in it."""
    what = resource.type if resource.type in _NAMED else "a resource"
    try:
        check_contained(resource, READ)
    except RecordError as error:
        return issue_of("error", "invalid", f"{resource.place}{what}: {error.reason}")
    said = f"{resource.place}{what}: left out, since only notes are de-identified here"
    return issue_of("information", "informational", said)


def _name_notes(one: ResourceTexts, ids: set[tuple[str, str]]) -> None:
    """Give each note an id of its own: an id of FHIR is one among the resources of a type alone."""
    others = {note_id for kind, note_id in ids if kind != one.resource.type}
    for place in one.places:
        note_id = place.note.note_id
        if (one.resource.type, note_id) in ids:
            raise refusal(
                f"{one.resource.place}two notes have one id",
                "give every resource of a type its own id",
            )
        ids.add((one.resource.type, note_id))
        if note_id in others:
            place.note = replace(place.note, note_id=f"{one.resource.type}/{note_id}")


def _places(
    resource: Resource,
    options: ReadOptions,
    limits: ServiceLimits,
    issues: list[dict[str, Any]],
) -> ResourceTexts:
    """Return a resource with its texts; without any where one of them cannot be read."""
    made = ResourceTexts(resource)
    try:
        check_contained(resource, READ)
        made.codings = _codings(resource)
        made.places = _text_places(resource, options, limits)
    except RecordError as error:
        reason = error.reason.removeprefix(resource.place)
        issues.append(issue_of("error", "invalid", f"{resource.place}{resource.type}: {reason}"))
        made.places = []
    return made


def _codings(resource: Resource) -> list[dict[str, str]]:
    """Return the LOINC codes of a resource's type; what they are called is not handed on."""
    if resource.type == "Binary":
        return []
    place = child(resource.element, place_of_codes(resource.type))
    return [
        {"system": _LOINC, "code": str(coding["code"])}
        for coding in objects(place, "coding")
        if coding.get("system") == _LOINC and _is_loinc(str(coding.get("code")))
    ]


def _is_loinc(code: str) -> bool:
    """Whether a code is one by its check digit (modulus 10), and no other number of a person."""
    match = _CODE.fullmatch(code)
    if match is None:
        return False
    doubled = (int(digit) * (2 - at % 2) for at, digit in enumerate(reversed(match[1])))
    return (sum(value // 10 + value % 10 for value in doubled) + int(match[2])) % 10 == 0


def place_of_codes(kind: str) -> str:
    """Return the element with the codes of a resource's type."""
    return "code" if kind == "DiagnosticReport" else "type"


def _text_places(
    resource: Resource, options: ReadOptions, limits: ServiceLimits
) -> list[TextPlace]:
    parsed = [*_parse(resource, options), *_narrative(resource)]
    if not parsed:
        raise RecordError("missing-field", "holds no text; export it with its notes")
    return [TextPlace(kind, _note(one, limits)) for kind, one in parsed]


def _parse(resource: Resource, options: ReadOptions) -> Iterator[tuple[str, ParsedNote]]:
    if resource.type == "Binary":
        yield from _binary(resource)
        return
    if resource.type == "Composition":
        return
    found = notes_of(resource, _BODY, options)
    has_conclusion = bool(resource.element.get("conclusion")) and (
        resource.type == "DiagnosticReport"
    )
    for at, one in enumerate(found):
        is_conclusion = has_conclusion and at == len(found) - 1
        yield ("conclusion" if is_conclusion else "attachment"), one


def _binary(resource: Resource) -> Iterator[tuple[str, ParsedNote]]:
    """Yield the text of a ``Binary``; one that an attachment names is read there."""
    kind, _, charset = str(resource.element.get("contentType", "")).partition(";")
    if kind.strip().lower() != "text/plain":
        raise RecordError("malformed", "is no text/plain; convert it")
    name = charset.partition("charset=")[2].strip().strip('"') or "utf-8"
    encoded = resource.element.get("data")
    if not isinstance(encoded, str):
        raise RecordError("missing-field", "has no data; export it with the data inside")
    text = to_text(from_base64(encoded, what="data"), name, what="data")
    yield "binary", ParsedNote("body", _id(resource), text)


def _narrative(resource: Resource) -> Iterator[tuple[str, ParsedNote]]:
    """Yield the narrative of a resource, and of the sections of a ``Composition``."""
    if div := child(resource.element, "text").get("div"):
        yield "narrative", _of_html(resource, div, "narrative")
    if resource.type == "Composition":
        for number, section in enumerate(_sections(resource.element), start=1):
            if div := child(section, "text").get("div"):
                yield "section", _of_html(resource, div, f"section-{number}")


def _sections(element: Element, depth: int = 0) -> Iterator[Element]:
    if depth > 8:
        raise RecordError("malformed", "has sections more than 8 deep; export it flat")
    for section in objects(element, "section"):
        yield section
        yield from _sections(section, depth + 1)


def _of_html(resource: Resource, div: object, name: str) -> ParsedNote:
    if not isinstance(div, str):
        raise RecordError("malformed", "has a narrative that is no XHTML; export it again")
    language = resource.element.get("language")
    lang = language.partition("-")[0].lower() if isinstance(language, str) else None
    owner = child(resource.element, "subject").get("reference")
    patient = owner.rpartition("Patient/")[2] if isinstance(owner, str) else None
    note_id = f"{_id(resource)}-{name}"
    return ParsedNote("body", note_id, text_of_html(div), patient_id=patient or None, lang=lang)


def _id(resource: Resource) -> str:
    if resource.id:
        return resource.id
    raise RecordError("missing-field", "has no id; give every resource one")


def _note(parsed: ParsedNote, limits: ServiceLimits) -> Note:
    if len(parsed.text) > limits.chars:
        raise RecordError("too-large", f"has a text of more than {limits.chars:,} characters")
    if "\0" in parsed.text:
        raise RecordError("malformed", "holds a NUL character; export it as plain text")
    lang = parsed.lang if parsed.lang in CODES else None
    try:
        return Note(parsed.note_id, parsed.text, parsed.patient_id, lang)
    except ValueError:
        reason = "has an id or a text that is no Unicode text; export it as UTF-8"
        raise RecordError("malformed", reason) from None
