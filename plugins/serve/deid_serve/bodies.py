"""Bodies of requests: bounded while they are read, strict, and never quoted."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from starlette.requests import ClientDisconnect, Request

from deid_assets.extending.serving import strict_json
from deid_serve.lane import too_slow
from deid_serve.limits import ServiceLimits
from deid_serve.problems import HttpProblem, bad_fields

JSON = frozenset({"application/json"})
FHIR_JSON = frozenset({"application/fhir+json", "application/json"})
FORM = frozenset({"application/x-www-form-urlencoded"})
_FIELDS = 200
_Model = TypeVar("_Model", bound=BaseModel)
_SAID = {
    "missing": "is missing",
    "extra_forbidden": "is unknown",
    "string_type": "is no string",
    "list_type": "is no list",
    "bool_type": "is neither true nor false",
    "int_type": "is no whole number",
    "too_long": "has too many entries",
    "too_short": "has no entry",
    "string_too_long": "is too long",
    "string_too_short": "is empty",
}


async def body_of(request: Request, limits: ServiceLimits, kinds: frozenset[str]) -> bytes:
    """Return the body of a request.

    Raises:
        HttpProblem: It is of another media type, too large, or comes too slowly.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise HttpProblem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "bad-body",
            "the media type of the body is not one that this address takes",
            remedy=f"send it as {' or '.join(sorted(kinds))}",
        )
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise _unreadable("the body is compressed", "send it as it is")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limits.bytes_:
        raise _too_large(limits)
    try:
        async with asyncio.timeout(limits.seconds):
            return await _read(request, limits)
    except TimeoutError:
        raise too_slow(limits) from None
    except ClientDisconnect:
        raise _unreadable("the body ended early", "send it again") from None


async def _read(request: Request, limits: ServiceLimits) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > limits.bytes_:
            raise _too_large(limits)
        pieces.append(piece)
    return b"".join(pieces)


def json_of(body: bytes) -> object:
    """Return the value of a JSON body.

    Raises:
        HttpProblem: It is no UTF-8, no JSON, nested too deep, or an object has a key twice.
    """
    try:
        return strict_json.loads(body)
    except UnicodeDecodeError as error:
        raise _unreadable(f"byte {error.start} is not UTF-8", "send JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise _unreadable(f"not JSON from character {error.pos}", "send one JSON object") from None
    except strict_json.StrictError as error:
        raise _unreadable(f"the body {_about(error)}", "send plain JSON") from None
    except ValueError:
        raise _unreadable("a number is too long to read", "send plain JSON") from None


def _about(error: ValueError) -> str:
    said = str(error)
    return f"has an object with {said.removeprefix('an object has ')}" if "twice" in said else said


def model_of(body: bytes, model: type[_Model]) -> _Model:
    """Return a body as a model says it.

    Raises:
        HttpProblem: It cannot be read, or fields are missing, unknown or of the wrong kind; values
            are not shown.
    """
    value = json_of(body)
    if not isinstance(value, dict):
        raise _unreadable("the body is no JSON object", "send one JSON object")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        raise bad_fields([_describe_fault(one) for one in found[:5]]) from None


def _describe_fault(fault: ErrorDetails) -> str:
    place = ""
    for step in fault["loc"]:
        if isinstance(step, int):
            place += f"[{step}]"
        elif fault["type"] != "extra_forbidden" or step != fault["loc"][-1]:
            place += f".{step}" if place else step
    if fault["type"] == "extra_forbidden":
        # its name is the caller's, and may be anything
        return f"{place}: a field that is unknown" if place else "a field is unknown"
    said = _SAID.get(fault["type"])
    return f"{place} {said}" if said else f"{place}: {fault['msg'].lower()}"


def form_of(body: bytes) -> list[tuple[str, str]]:
    """Return the fields of a form, in order.

    Raises:
        HttpProblem: It is no form in UTF-8, or has too many fields.
    """
    try:
        return parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_FIELDS,
        )
    except ValueError:
        raise _unreadable("the form cannot be read as UTF-8", "use the form of the page") from None


def _unreadable(detail: str, remedy: str) -> HttpProblem:
    return HttpProblem(HTTPStatus.BAD_REQUEST, "bad-body", detail, remedy=remedy)


def _too_large(limits: ServiceLimits) -> HttpProblem:
    return HttpProblem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too-large",
        f"the body has more than {limits.bytes_:,} bytes",
        remedy="send fewer notes at a time, or raise --max-bytes",
        headers={"Connection": "close"},
    )
