"""FHIR ``$de-identify`` after HL7 DARTS (1.0.0-ballot, 2026): the notes of a ``Bundle``.

The operation takes ``Parameters`` with ``identifiableData`` (a ``Bundle``) and ``policy``, and
returns ``Parameters`` with ``de-identifiedData``. What is read are texts: attachments of
``text/plain``, conclusions, ``Binary`` of ``text/plain`` and narrative. Each resource is written
anew: its type, language, status, LOINC codes and redacted texts, under an id of this answer alone.
Nothing else of it is handed on, and resources without notes are left out and named in
``outcome``, since fields are no text that detectors read.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.responses import Response

from deid_assets import Failed, Note
from deid_assets.extending.formats import Fault, ParsedNote, ReadOptions, RecordError, Source
from deid_assets.extending.serving import CODES, Batch
from deid_clinical_formats.charsets import from_base64, to_text
from deid_clinical_formats.fhir import attachment_of, notes_of
from deid_clinical_formats.fhir_resources import Element, Resource, child, objects, unpack_resources
from deid_document_formats.html_text import text_of_html
from deid_serve.limits import ServiceLimits
from deid_serve.pipeline_door import PipelineDoor, outcome_of
from deid_serve.problems import HttpProblem, remedy_of

MEDIA_TYPE = "application/fhir+json"
DEFINITION = "http://hl7.org/fhir/us/darts/OperationDefinition/de-identify"
POLICIES: Mapping[str, str] = {"HHS_SAFE_HARBOR_DETERMINISTIC_METHOD": "safe_harbor"}
"""Codes of DARTS for policies, with the names that they have here."""
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
_STATUS: Mapping[str, frozenset[str]] = {
    "Composition": frozenset({"preliminary", "final", "amended", "entered-in-error"}),
    "DiagnosticReport": frozenset(
        {
            *("registered", "partial", "preliminary", "final", "amended", "corrected"),
            *("appended", "cancelled", "entered-in-error", "unknown"),
        }
    ),
    "DocumentReference": frozenset({"current", "superseded", "entered-in-error"}),
}
_USUAL: Mapping[str, str] = {
    "Composition": "final",
    "DiagnosticReport": "unknown",
    "DocumentReference": "current",
}
_LOINC = "http://loinc.org"
_CODE = re.compile(r"[0-9]{1,7}-[0-9]")
_BODY = Source(Path("body"), Path())
_MASKED = {
    "extension": [
        {
            "url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason",
            "valueCode": "masked",
        }
    ]
}


@dataclass(frozen=True, slots=True)
class FhirRequest:
    """What the operation was asked for.

    Args:
        resource: A ``Bundle`` or one resource.
        policy: Name of a policy here.
        is_bare: Whether it came without ``Parameters`` around it.
    """

    resource: Element = field(repr=False)
    policy: str
    is_bare: bool


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


def request_of(value: object, policy: str | None) -> FhirRequest:
    """Return what a body asks for.

    Args:
        value: ``Parameters``, or a resource.
        policy: Of the address, where the body names none.

    Raises:
        HttpProblem: A parameter is missing, unknown, or not served here.
    """
    if not isinstance(value, dict) or not isinstance(value.get("resourceType"), str):
        raise _wrong("the body is no FHIR resource", "send Parameters with identifiableData")
    if value["resourceType"] != "Parameters":
        return FhirRequest(value, _policy(policy), is_bare=True)
    found: dict[str, Element] = {}
    for one in _objects(value, "parameter"):
        name = one.get("name")
        if name not in {"identifiableData", "identifiableDataFileUrls", "policy"} or name in found:
            raise _wrong("a parameter is unknown or there twice", "send those of DARTS, once each")
        found[str(name)] = one
    if "identifiableDataFileUrls" in found:
        raise HttpProblem(
            HTTPStatus.NOT_IMPLEMENTED,
            "bad-request",
            "identifiableDataFileUrls: this service opens no addresses",
            remedy="send the resources as identifiableData",
        )
    resource = found.get("identifiableData", {}).get("resource")
    if not isinstance(resource, dict):
        raise _wrong("identifiableData has no resource", "send a Bundle as its resource")
    named = found.get("policy", {}).get("valueString", policy)
    return FhirRequest(resource, _policy(named), is_bare=False)


def _policy(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise _wrong(
            "policy is missing",
            "send it as valueString, such as HHS_SAFE_HARBOR_DETERMINISTIC_METHOD or safe_harbor",
        )
    if name == "HHS_EXPERT_DETERMINATION_METHOD":
        raise _wrong(
            "an expert determination is made by a person, not by this policy",
            "choose a policy that GET /v1 lists",
        )
    return POLICIES.get(name, name)


def deidentify(door: PipelineDoor, asked: FhirRequest) -> tuple[HTTPStatus, dict[str, Any]]:
    """Return the answer to a request: its status, and a resource.

    What cannot be read, or is withheld, is named in the ``outcome`` and not handed on; where
    nothing is left, it alone is the answer.

    Raises:
        HttpProblem: The policy is unknown, or there are too many texts.
        DeidError: The policy cannot be carried out.
    """
    policy = door.policy(asked.policy)
    _check_unicode(asked.resource)
    issues: list[dict[str, Any]] = []
    texts = list(_texts(asked.resource, door.limits, issues))
    notes = [place.note for one in texts for place in one.places]
    if len(notes) > door.limits.notes:
        raise _wrong(f"{len(notes)} texts, more than {door.limits.notes}", "send fewer at a time")
    batch = door.deidentify(notes, policy)
    patients: dict[str, str] = {}
    made = [
        written for one in texts if one.places and (written := _write(one, batch, patients, issues))
    ]
    if not made:
        if not any(issue["severity"] == "error" for issue in issues):
            issues.append(_issue("error", "not-found", "there is no note in it"))
        return HTTPStatus.UNPROCESSABLE_ENTITY, _outcome(issues)
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{"fullUrl": f"urn:uuid:{one['id']}", "resource": one} for one in made],
    }
    parts: list[dict[str, Any]] = [{"name": "de-identifiedData", "resource": bundle}]
    if issues:
        parts.append({"name": "outcome", "resource": _outcome(issues)})
    return HTTPStatus.OK, {"resourceType": "Parameters", "parameter": parts}


def _check_unicode(resource: Element) -> None:
    try:
        json.dumps(resource, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _wrong(
            "it holds a lone surrogate, which is no text", "decode the source as UTF-8 or UTF-16"
        ) from None


def _texts(
    value: Element, limits: ServiceLimits, issues: list[dict[str, Any]]
) -> Iterator[ResourceTexts]:
    options = ReadOptions(max_note_chars=limits.chars)
    ids: set[str] = set()
    try:
        for found in unpack_resources(_BODY, value):
            if isinstance(found, Fault):
                issues.append(_issue("error", "invalid", found.message.removeprefix("body: ")))
            elif found.type not in READ:
                what = found.type if found.type in _NAMED else "a resource"
                said = f"{found.place}{what}: left out, since only notes are de-identified here"
                issues.append(_issue("information", "informational", said))
            else:
                one = _places(found, options, limits, issues)
                _check_ids(one, ids)
                yield one
    except RecordError as error:
        issues.append(_issue("error", "invalid", error.reason))


def _check_ids(one: ResourceTexts, ids: set[str]) -> None:
    for place in one.places:
        if place.note.note_id in ids:
            raise _wrong(
                f"{one.resource.place}two notes have one id", "give every resource its own id"
            )
        ids.add(place.note.note_id)


def _places(
    resource: Resource,
    options: ReadOptions,
    limits: ServiceLimits,
    issues: list[dict[str, Any]],
) -> ResourceTexts:
    """Return a resource with its texts; without any where one of them cannot be read."""
    made = ResourceTexts(resource)
    try:
        made.codings = _codings(resource)
        made.places = _text_places(resource, options, limits)
    except RecordError as error:
        reason = error.reason.removeprefix(resource.place)
        issues.append(_issue("error", "invalid", f"{resource.place}{resource.type}: {reason}"))
        made.places = []
    return made


def _codings(resource: Resource) -> list[dict[str, str]]:
    """Return the LOINC codes of a resource's type; what they are called is not handed on."""
    if resource.type == "Binary":
        return []
    place = child(resource.element, _place_of_codes(resource.type))
    return [
        {"system": _LOINC, "code": str(coding["code"])}
        for coding in objects(place, "coding")
        if coding.get("system") == _LOINC and _CODE.fullmatch(str(coding.get("code")))
    ]


def _place_of_codes(kind: str) -> str:
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


def _write(
    one: ResourceTexts,
    batch: Batch,
    patients: dict[str, str],
    issues: list[dict[str, Any]],
) -> dict[str, Any] | None:
    """Return a resource written anew, or nothing where one of its texts is withheld."""
    outcomes = [outcome_of(batch, place.note.note_id) for place in one.places]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    for outcome in failed:
        said = f"{one.resource.place}note {outcome.note_id!r} is withheld: {outcome.error}"
        issues.append(
            _issue("error", "processing", f"{said} in {outcome.stage}; {remedy_of(outcome)}")
        )
    if failed:
        return None
    made = _frame(one, patients)
    pairs = [
        (place.kind, outcome.text)
        for place, outcome in zip(one.places, outcomes, strict=True)
        if not isinstance(outcome, Failed)
    ]
    _fill(made, pairs)
    return made


def _frame(one: ResourceTexts, patients: dict[str, str]) -> dict[str, Any]:
    """Return a resource without its texts: nothing of it that is free text, a date or a name."""
    kind, element = one.resource.type, one.resource.element
    made: dict[str, Any] = {"resourceType": kind, "id": str(uuid.uuid4())}
    lang = one.places[0].note.lang
    if lang:
        made["language"] = lang
    if kind == "Binary":
        return made
    status = element.get("status")
    is_known = isinstance(status, str) and status in _STATUS[kind]
    made["status"] = status if is_known else _USUAL[kind]
    if one.codings or kind != "DocumentReference":
        made[_place_of_codes(kind)] = {"coding": one.codings} if one.codings else dict(_MASKED)
    patient = one.places[0].note.patient_id
    if patient is not None:
        value = patients.setdefault(patient, str(uuid.uuid4()))
        made["subject"] = {
            "identifier": {"system": "urn:ietf:rfc:3986", "value": f"urn:uuid:{value}"}
        }
    if kind == "Composition":
        made |= {"_date": dict(_MASKED), "author": [dict(_MASKED)], "_title": dict(_MASKED)}
    return made


def _fill(made: dict[str, Any], pairs: Sequence[tuple[str, str]]) -> None:
    """Put redacted texts into a resource."""
    for kind, text in pairs:
        if kind == "binary":
            attachment = attachment_of(text)
            made |= {"contentType": attachment["contentType"]}
            made |= {"data": attachment["data"]} if "data" in attachment else {}
        elif kind == "conclusion":
            made["conclusion"] = text
        elif kind == "narrative":
            made["text"] = _narrative_of(text)
        elif kind == "section":
            made.setdefault("section", []).append({"text": _narrative_of(text)})
        elif made["resourceType"] == "DiagnosticReport":
            made.setdefault("presentedForm", []).append(attachment_of(text))
        else:
            made.setdefault("content", []).append({"attachment": attachment_of(text)})


def _narrative_of(text: str) -> dict[str, str]:
    lines = escape(text).replace("\n", "<br/>")
    return {
        "status": "generated",
        "div": f'<div xmlns="http://www.w3.org/1999/xhtml">{lines}</div>',
    }


@cache
def capabilities(version: str) -> dict[str, Any]:
    """Return the statement of what this server can do in FHIR."""
    return {
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": "2026-11-26",
        "kind": "instance",
        "software": {"name": "deid-assets", "version": version},
        "implementation": {"description": "De-identifies the notes of a Bundle"},
        "fhirVersion": "4.0.1",
        "format": ["json"],
        "rest": [
            {
                "mode": "server",
                "operation": [{"name": "de-identify", "definition": DEFINITION}],
            }
        ],
    }


def fhir_response(status: HTTPStatus, resource: Mapping[str, Any]) -> Response:
    """Return a resource as an answer."""
    return Response(json.dumps(resource, ensure_ascii=True), status, media_type=MEDIA_TYPE)


def outcome_response(problem: HttpProblem) -> Response:
    """Return a problem as FHIR has it."""
    codes = {"withheld": "processing", "unauthorised": "login", "busy": "throttled"}
    code = codes.get(problem.kind, "invalid")
    where = f"note {problem.note!r}: " if problem.note else ""
    issue = _issue("error", code, f"{where}{problem.detail}; {problem.remedy}")
    response = fhir_response(problem.status, _outcome([issue]))
    for name, value in problem.headers.items():
        response.headers[name] = value
    return response


def _outcome(issues: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"resourceType": "OperationOutcome", "issue": list(issues)}


def _issue(severity: str, code: str, diagnostics: str) -> dict[str, Any]:
    return {"severity": severity, "code": code, "diagnostics": diagnostics}


def _objects(value: Element, name: str) -> list[Element]:
    try:
        return objects(value, name)
    except RecordError:
        raise _wrong(f"{name} is no list of objects", "send Parameters after FHIR R4") from None


def _wrong(detail: str, remedy: str) -> HttpProblem:
    return HttpProblem(HTTPStatus.UNPROCESSABLE_ENTITY, "bad-request", detail, remedy=remedy)
