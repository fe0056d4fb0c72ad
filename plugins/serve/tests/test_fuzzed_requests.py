"""Whatever is sent, the answer is a text, a problem or an outcome, and never a fault."""

import base64
import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deid_assets.extending.formats import RecordError
from deid_serve import fhir
from deid_serve.limits import ServiceLimits
from deid_serve.pipeline_door import open_door
from deid_serve.problems import HttpProblem

QUIET = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
WORD = "Zedquill"
SCALARS = st.sampled_from([None, True, 0, -1.5, "", "en", "tag", WORD, f"{WORD}\0", "\ud800", []])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "id", "div", "coding", WORD]), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["text", "id", "lang", "policy", "patient_id", "explain", "edits", "notes", "keep", WORD]
)
PATHS = st.sampled_from(["/v1/detect", "/v1/redact", "/v1/batch", "/v1/sessions"])
DATA = base64.b64encode(f"{WORD} came.".encode()).decode()
RESOURCES = (
    {
        "resourceType": "DocumentReference",
        "id": "a",
        "language": "en",
        "status": "current",
        "type": {"coding": [{"system": "http://loinc.org", "code": "11488-4"}]},
        "subject": {"reference": "Patient/p"},
        "text": {"div": f"<div>{WORD}</div>"},
        "content": [{"attachment": {"contentType": "text/plain", "data": DATA}}],
    },
    {
        "resourceType": "Composition",
        "id": "c",
        "status": "final",
        "section": [{"text": {"div": f"<div>{WORD}</div>"}, "section": []}],
    },
    {"resourceType": "Binary", "id": "b", "contentType": "text/plain", "data": DATA},
    {"resourceType": "DiagnosticReport", "id": "r", "conclusion": WORD, "code": {"coding": []}},
)


@pytest.mark.long
@QUIET
@given(path=PATHS, body=st.dictionaries(FIELDS, VALUES, max_size=5))
def test_any_json_gets_an_answer(served, path, body):
    answer = served.ask(path, json.dumps(body).encode())

    assert answer.status_code in {200, 201, 422}, answer.text
    if answer.status_code == 422:
        assert WORD not in answer.text.replace(str(body.get("id")), "")


@QUIET
@given(body=st.binary(max_size=60))
def test_any_bytes_get_a_problem(served, body):
    assert served.ask("/v1/redact", body).status_code in {400, 422}


@pytest.fixture(scope="module")
def door(talker_site):
    return open_door(detectors=("talker",), limits=ServiceLimits(), secret=bytes(range(32)))


def places(value, at=()):
    """Yield the way to everything inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in inside:
        yield (*at, step)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*at, step))


def replaced(value, way, new):
    found = copy.deepcopy(value)
    inner = found
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = new
    return found


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_damage_to_a_resource_gives_an_outcome(door, data):
    resource = data.draw(st.sampled_from(RESOURCES))
    for _ in range(data.draw(st.integers(1, 2))):
        way = data.draw(st.sampled_from(list(places(resource))))
        resource = replaced(resource, way, data.draw(VALUES))
    bundle = {"resourceType": "Bundle", "entry": [{"resource": resource}]}
    asked = fhir.FhirRequest(bundle, "tag", is_bare=False)

    try:
        status, found = fhir.deidentify(door, asked)
    except HttpProblem as problem:
        status, found = problem.status, problem.document()
    except RecordError:
        pytest.fail("a fault of a record is no fault of the program")

    assert status in {200, 422}
    named = str(resource.get("id"))  # ids are named, and so is the note that they are
    assert WORD not in json.dumps(found).replace(json.dumps(named)[1:-1], "")
