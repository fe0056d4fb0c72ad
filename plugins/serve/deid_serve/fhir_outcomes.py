"""What went wrong, as FHIR has it: issues of an ``OperationOutcome``, and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from deid_serve.problems import HttpProblem


def outcome_with(issues: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an ``OperationOutcome``."""
    return {"resourceType": "OperationOutcome", "issue": list(issues)}


def issue_of(severity: str, code: str, diagnostics: str) -> dict[str, Any]:
    """Return an issue of an outcome."""
    return {"severity": severity, "code": code, "diagnostics": diagnostics}


def refusal(detail: str, remedy: str) -> HttpProblem:
    """Return the refusal of a request that cannot be read, or asks for too much."""
    return HttpProblem(HTTPStatus.UNPROCESSABLE_ENTITY, "bad-request", detail, remedy=remedy)
