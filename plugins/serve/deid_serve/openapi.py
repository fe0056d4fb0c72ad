"""The description of the service (OpenAPI 3.1), made of the models that requests are checked by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from deid_assets import __version__
from deid_serve import models
from deid_serve.problems import TITLES

_REF = "#/components/schemas/{model}"
_FHIR = "application/fhir+json"


@dataclass(frozen=True, slots=True)
class DescribedOperation:
    """One operation.

    Args:
        method: Of HTTP, in lower case.
        path: With ``{id}`` where a session is named.
        summary: One line.
        body: What is sent; nothing where nothing is.
        answer: What comes back; nothing where only a status does.
        is_fhir: Whether both are FHIR resources.
    """

    method: str
    path: str
    summary: str
    body: type[BaseModel] | None = None
    answer: type[BaseModel] | None = None
    is_fhir: bool = False


OPERATIONS = (
    DescribedOperation(
        "get", "/v1", "Detectors, policies and limits.", answer=models.ServiceAnswer
    ),
    DescribedOperation(
        "post", "/v1/detect", "Find the spans of a note.", models.DetectBody, models.DetectAnswer
    ),
    DescribedOperation(
        "post", "/v1/redact", "Redact a note.", models.RedactBody, models.RedactAnswer
    ),
    DescribedOperation(
        "post",
        "/v1/batch",
        "Redact notes together: what is found in one is covered in all of its patient.",
        models.BatchBody,
        models.BatchAnswer,
    ),
    DescribedOperation(
        "post",
        "/v1/sessions",
        "Begin a reversible session with a text.",
        models.SessionBody,
        models.SessionAnswer,
    ),
    DescribedOperation(
        "post",
        "/v1/sessions/{id}/redact",
        "Give a further text the placeholders of its session.",
        models.SessionText,
        models.SessionAnswer,
    ),
    DescribedOperation(
        "post",
        "/v1/sessions/{id}/restore",
        "Put the values of a session back into a text.",
        models.RestoreBody,
        models.RestoreAnswer,
    ),
    DescribedOperation("delete", "/v1/sessions/{id}", "End a session, and forget its values."),
    DescribedOperation(
        "post", "/fhir/$de-identify", "De-identify the notes of a Bundle (HL7 DARTS).", is_fhir=True
    ),
    DescribedOperation("get", "/fhir/metadata", "What the server can do in FHIR.", is_fhir=True),
)
"""All operations that callers have."""


@cache
def document() -> Mapping[str, Any]:
    """Return the description."""
    used = {one for each in OPERATIONS for one in (each.body, each.answer) if one}
    _, schemas = models_json_schema(
        [(one, "validation") for one in sorted(used, key=lambda one: one.__name__)],
        ref_template=_REF,
    )
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "deid serve", "version": __version__},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**schemas["$defs"], "Problem": _problem()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: DescribedOperation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": one.summary,
        "operationId": f"{one.method}{one.path.replace('/', '_').replace('$', '')}".translate(
            str.maketrans("", "", "{}")
        ),
        "responses": {
            **_answer(one),
            "default": _content("application/problem+json", {"$ref": _REF.format(model="Problem")}),
        },
    }
    if "{id}" in one.path:
        found["parameters"] = [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        ]
    if one.is_fhir:
        found["responses"]["default"] = _content(_FHIR, {"type": "object"}, "An OperationOutcome")
    if one.method == "post":
        schema = _schema(one.body)
        found["requestBody"] = {
            "required": True,
            "content": {_FHIR if one.is_fhir else "application/json": {"schema": schema}},
        }
    return found


def _answer(one: DescribedOperation) -> dict[str, Any]:
    if one.method == "delete":
        return {"204": {"description": "Done"}}
    return {
        "200": _content(_FHIR if one.is_fhir else "application/json", _schema(one.answer), "Done")
    }


def _schema(model: type[BaseModel] | None) -> dict[str, Any]:
    return {"$ref": _REF.format(model=model.__name__)} if model else {"type": "object"}


def _content(kind: str, schema: Mapping[str, Any], about: str = "A problem") -> dict[str, Any]:
    return {"description": about, "content": {kind: {"schema": schema}}}


def _problem() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "description": "RFC 9457. No text of a note is in it.",
        "properties": {
            "type": {"type": "string", "enum": [f"/docs#{kind}" for kind in TITLES]},
            "title": text,
            "status": {"type": "integer"},
            "detail": text,
            "remedy": text,
            "note": {"type": "string", "description": "Id of the note that is to blame."},
        },
        "required": ["type", "title", "status", "detail", "remedy"],
    }
