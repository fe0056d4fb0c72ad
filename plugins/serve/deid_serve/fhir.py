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
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from deid_assets import Failed
from deid_assets.extending.formats import RecordError
from deid_assets.extending.serving import Batch
from deid_clinical_formats.fhir import attachment_of
from deid_clinical_formats.fhir_resources import Element, objects
from deid_serve.fhir_outcomes import issue_of, outcome_with, refusal
from deid_serve.fhir_texts import ResourceTexts, place_of_codes, texts_of
from deid_serve.pipeline_door import PipelineDoor, outcome_of
from deid_serve.problems import HttpProblem, remedy_of

MEDIA_TYPE = "application/fhir+json"
DEFINITION = "http://hl7.org/fhir/us/darts/OperationDefinition/de-identify"
POLICIES: Mapping[str, str] = {"HHS_SAFE_HARBOR_DETERMINISTIC_METHOD": "safe_harbor"}
"""Codes of DARTS for policies, with the names that they have here."""
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


def request_of(value: object, policy: str | None) -> FhirRequest:
    """Return what a body asks for.

    Args:
        value: ``Parameters``, or a resource.
        policy: Of the address, where the body names none.

    Raises:
        HttpProblem: A parameter is missing, unknown, or not served here.
    """
    if not isinstance(value, dict) or not isinstance(value.get("resourceType"), str):
        raise refusal("the body is no FHIR resource", "send Parameters with identifiableData")
    if value["resourceType"] != "Parameters":
        return FhirRequest(value, _policy(policy), is_bare=True)
    found: dict[str, Element] = {}
    for one in _objects(value, "parameter"):
        name = one.get("name")
        if name not in {"identifiableData", "identifiableDataFileUrls", "policy"} or name in found:
            raise refusal("a parameter is unknown or there twice", "send those of DARTS, once each")
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
        raise refusal("identifiableData has no resource", "send a Bundle as its resource")
    named = found.get("policy", {}).get("valueString", policy)
    return FhirRequest(resource, _policy(named), is_bare=False)


def _policy(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise refusal(
            "policy is missing",
            "send it as valueString, such as HHS_SAFE_HARBOR_DETERMINISTIC_METHOD or safe_harbor",
        )
    if name == "HHS_EXPERT_DETERMINATION_METHOD":
        raise refusal(
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
    texts = list(texts_of(asked.resource, door.limits, issues))
    notes = [place.note for one in texts for place in one.places]
    if len(notes) > door.limits.notes:
        raise refusal(f"{len(notes)} texts, more than {door.limits.notes}", "send fewer at a time")
    batch = door.deidentify(notes, policy)
    patients: dict[str, str] = {}
    made = [
        written for one in texts if one.places and (written := _write(one, batch, patients, issues))
    ]
    if not made:
        if not any(issue["severity"] == "error" for issue in issues):
            issues.append(issue_of("error", "not-found", "there is no note in it"))
        return HTTPStatus.UNPROCESSABLE_ENTITY, outcome_with(issues)
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{"fullUrl": f"urn:uuid:{one['id']}", "resource": one} for one in made],
    }
    parts: list[dict[str, Any]] = [{"name": "de-identifiedData", "resource": bundle}]
    if issues:
        parts.append({"name": "outcome", "resource": outcome_with(issues)})
    return HTTPStatus.OK, {"resourceType": "Parameters", "parameter": parts}


def _check_unicode(resource: Element) -> None:
    try:
        json.dumps(resource, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise refusal(
            "it holds a lone surrogate, which is no text", "decode the source as UTF-8 or UTF-16"
        ) from None


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
            issue_of("error", "processing", f"{said} in {outcome.stage}; {remedy_of(outcome)}")
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
        made[place_of_codes(kind)] = {"coding": one.codings} if one.codings else dict(_MASKED)
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
    issue = issue_of("error", code, f"{where}{problem.detail}; {problem.remedy}")
    response = fhir_response(problem.status, outcome_with([issue]))
    for name, value in problem.headers.items():
        response.headers[name] = value
    return response


def _objects(value: Element, name: str) -> list[Element]:
    try:
        return objects(value, name)
    except RecordError:
        raise refusal(f"{name} is no list of objects", "send Parameters after FHIR R4") from None
