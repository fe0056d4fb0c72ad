"""The description of the service, and what the service answers."""

import re

import pytest
from pydantic import TypeAdapter

from deid_serve import models, openapi


def test_every_address_for_programs_is_described(served):
    described = served.ask("/openapi.json").json()
    routes = {
        (method.lower(), route.path)
        for route in served.service.app()._app.routes
        for method in route.methods - {"HEAD"}
    }
    of_programs = {(method, path) for method, path in routes if path.startswith(("/v1", "/fhir"))}
    found = {(method, path) for path, one in described["paths"].items() for method in one}
    assert found == of_programs
    assert described["openapi"].startswith("3.1")


def test_every_reference_leads_somewhere():
    described = openapi.document()
    named = set(re.findall(r"#/components/schemas/(\w+)", str(described)))

    assert named <= described["components"]["schemas"].keys()
    assert {"RedactBody", "RedactAnswer", "Problem", "SentNote", "SpanReason"} <= named


@pytest.mark.parametrize(
    ("path", "body", "model"),
    [
        ("/v1/detect", {"explain": True}, models.DetectAnswer),
        ("/v1/redact", {"explain": True, "edits": True}, models.RedactAnswer),
        ("/v1/sessions", {}, models.SessionAnswer),
    ],
)
def test_answers_are_as_described(served, path, body, model):
    answer = served.ask(path, {"text": "Zedamar saw Dr. Lee.", **body}).json()

    assert set(answer) <= set(model.model_fields)
    required = {name for name, one in model.model_fields.items() if one.is_required()} - {"lang"}
    assert required <= set(answer)
    TypeAdapter(model).validate_python({"lang": None, **answer})


def test_the_page_on_the_service_names_every_operation_and_problem_and_loads_nothing(served):
    page = served.ask("/docs").text

    for one in openapi.OPERATIONS:
        assert f"{one.method.upper()} {one.path}" in page
    assert 'id="withheld"' in page
    assert set(re.findall(r'(?:src|href)="([^"#]+)"', page)) == {
        "/style.css",
        "/",
        "/docs",
        "/openapi.json",
    }
    assert "<script" not in page


def test_the_service_says_what_it_is_set_to(served):
    said = served.ask("/v1").json()

    assert said["detectors"] == ["rules", "talker"]
    assert {"tag", "safe_harbor", "surrogate"} <= said["policies"].keys()
    assert said["limits"]["notes"] == 200
    assert served.ask("/healthz", token="no").json() == {"status": "ok", "waiting": 0}
