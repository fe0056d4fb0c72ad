"""``$de-identify`` of HL7 DARTS: notes of a Bundle in, a Bundle written anew out."""

import base64
import copy
import html
import json
import re

import pytest

from deid_assets import Note, deidentify_notes

SECRET = bytes.fromhex("5a" * 32)
DETECTORS = ("rules", "talker")
SAFE_HARBOR = "HHS_SAFE_HARBOR_DETERMINISTIC_METHOD"
TEXTS = (
    "Dr. Zedamar Caldwick saw the patient on 3 May 2021.\nMRN: 4471902.",
    "Later Zedamar Caldwick called.",
)


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def document(name, text, **fields):
    attachment = {"contentType": "text/plain", "data": encoded(text), "title": "Zedtitle"}
    return {
        "resourceType": "DocumentReference",
        "id": name,
        "status": "current",
        "language": "en-US",
        "identifier": [{"value": "Zedidentifier"}],
        "subject": {"reference": "Patient/zedpatient", "display": "Zeddisplay"},
        "date": "2021-05-03",
        "description": "Zeddescription",
        "type": {
            "coding": [{"system": "http://loinc.org", "code": "11488-4", "display": "Zeddisplay"}],
            "text": "Zedtext",
        },
        "content": [{"attachment": attachment}],
        **fields,
    }


def bundle(*resources):
    entries = [{"resource": one} for one in resources]
    return {"resourceType": "Bundle", "type": "collection", "entry": entries}


def parameters(resource, policy=SAFE_HARBOR):
    return {
        "resourceType": "Parameters",
        "parameter": [
            {"name": "identifiableData", "resource": resource},
            {"name": "policy", "valueString": policy},
        ],
    }


def ask(served, body, *, status=200, path="/fhir/$de-identify"):
    headers = {"Content-Type": "application/fhir+json"}
    content = json.dumps(body) if isinstance(body, dict) else body
    answer = served.ask(path, content, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/fhir+json"
    found = answer.json()
    if found["resourceType"] == "OperationOutcome":
        return found
    return {one["name"]: one["resource"] for one in found["parameter"]}


def texts_of(found):
    return [
        base64.b64decode(one["attachment"]["data"]).decode()
        for entry in found["de-identifiedData"]["entry"]
        for one in entry["resource"]["content"]
    ]


def test_notes_of_a_bundle_have_the_texts_of_python_and_nothing_else_is_handed_on(served):
    found = ask(served, parameters(bundle(*map(document, ("a", "b"), TEXTS))))

    notes = [
        Note(name, text, "zedpatient", "en") for name, text in zip(("a", "b"), TEXTS, strict=True)
    ]
    expected = deidentify_notes(notes, policy="safe_harbor", detectors=DETECTORS, secret=SECRET)
    assert texts_of(found) == [one.text for one in expected]
    assert "outcome" not in found
    assert not re.search(r"(?i)zed|4471902|caldwick|05-03", json.dumps(found))
    first, second = (entry["resource"] for entry in found["de-identifiedData"]["entry"])
    assert first["type"] == {"coding": [{"system": "http://loinc.org", "code": "11488-4"}]}
    assert first["id"] != "a"
    assert first["subject"] == second["subject"]
    again = ask(served, parameters(bundle(*map(document, ("a", "b"), TEXTS))))
    assert again["de-identifiedData"]["entry"][0]["resource"]["id"] != first["id"]


def test_a_resource_alone_is_taken_with_the_policy_in_the_address(served):
    path = "/fhir/$de-identify?policy=tag"
    found = ask(served, document("a", "Zedamar came."), path=path)

    assert texts_of(found) == ["[NAME] came."]


def test_reports_binaries_and_narrative_are_written_anew(served):
    report = {
        "resourceType": "DiagnosticReport",
        "id": "r",
        "status": "final",
        "language": "en",
        "conclusion": "Zedamar is well.",
        "presentedForm": [{"contentType": "text/plain", "data": encoded("Zedbert <&> here.")}],
    }
    binary = {
        "resourceType": "Binary",
        "id": "b",
        "contentType": "text/plain; charset=latin-1",
        "data": base64.b64encode("Zedamar für immer.".encode("latin-1")).decode(),
    }
    composition = {
        "resourceType": "Composition",
        "id": "c",
        "status": "final",
        "title": "Zedtitle",
        "section": [
            {
                "title": "Zedtitle",
                "text": {"div": "<div><p>Seen: <b>Zed</b>amar &amp; co.</p><p>x&lt;y</p></div>"},
                "section": [{"text": {"div": "<div title='Zedhidden'>Zedcarl came.</div>"}}],
            }
        ],
    }
    found = ask(served, parameters(bundle(report, binary, composition), "tag"))

    made = {
        entry["resource"]["resourceType"]: entry["resource"]
        for entry in found["de-identifiedData"]["entry"]
    }
    assert made["DiagnosticReport"]["conclusion"] == "[NAME] is well."
    form = made["DiagnosticReport"]["presentedForm"][0]
    assert base64.b64decode(form["data"]).decode() == "[NAME] <&> here."
    assert base64.b64decode(made["Binary"]["data"]).decode() == "[NAME] für immer."
    first, second = (one["text"]["div"] for one in made["Composition"]["section"])
    assert "[NAME] &amp; co.<br/>x&lt;y" in first
    assert "[NAME] came." in second
    assert "Zed" not in json.dumps(found)
    assert html.unescape(first).startswith("<div xmlns=")


def test_resources_without_notes_are_left_out_and_named(served):
    patient = {"resourceType": "Patient", "id": "p", "name": [{"family": "Zedamar"}]}
    found = ask(served, parameters(bundle(patient, document("a", "Zedamar came.")), "tag"))

    assert len(found["de-identifiedData"]["entry"]) == 1
    (issue,) = found["outcome"]["issue"]
    assert issue["severity"] == "information"
    assert issue["diagnostics"].startswith("entry 1: Patient: left out")
    alone = ask(served, parameters(bundle(patient), "tag"), status=422)
    assert alone["issue"][-1]["severity"] == "error"


def test_a_note_that_is_withheld_or_cannot_be_read_is_an_error_and_no_text(served):
    picture = document("pic", "x")
    picture["content"][0]["attachment"] = {"contentType": "image/png", "data": "AAAA"}
    broken = document("broken", "x")
    broken["content"][0]["attachment"]["data"] = "Zedamar"
    body = bundle(
        document("fine", "Zedamar came."),
        document("trip", "Zedbert, tripwire."),
        picture,
        broken,
        document("nul", "Zed\0"),
        {"resourceType": "Binary", "id": "bin", "contentType": "image/png", "data": "AAAA"},
    )
    found = ask(served, parameters(body, "tag"))

    assert texts_of(found) == ["[NAME] came."]
    said = [issue["diagnostics"] for issue in found["outcome"]["issue"]]
    assert len(said) == 5
    assert sum("'trip' is withheld: LookupError in spans_talker" in one for one in said) == 1
    assert {one.split(":")[0] for one in said} == {f"entry {at}" for at in range(2, 7)}
    assert "Zed" not in json.dumps(found)
    lone = ask(served, parameters(document("trip", "Zedbert, tripwire."), "tag"), status=422)
    assert "withheld" in lone["issue"][0]["diagnostics"]


def report(name, text):
    return {
        "resourceType": "DiagnosticReport",
        "id": name,
        "status": "final",
        "conclusion": text,
    }


def test_resources_of_two_types_may_have_one_id(served):
    body = bundle(report("d1", "Zedbert went."), document("d1", "Zedamar came."))
    found = ask(served, parameters(body, "tag"))

    assert "outcome" not in found
    first, second = (entry["resource"] for entry in found["de-identifiedData"]["entry"])
    assert first["conclusion"] == "[NAME] went."
    data = second["content"][0]["attachment"]["data"]
    assert base64.b64decode(data).decode() == "[NAME] came."
    ask(served, parameters(bundle(report("d1", "x"), report("d1", "y")), "tag"), status=422)


def test_what_is_withheld_of_two_types_with_one_id_names_its_note(served):
    body = bundle(document("d1", "Zedamar came."), report("d1", "Zedbert, tripwire."))
    found = ask(served, parameters(body, "tag"))

    assert texts_of(found) == ["[NAME] came."]
    (issue,) = found["outcome"]["issue"]
    assert "'DiagnosticReport/d1' is withheld" in issue["diagnostics"]


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (document("o", "Zedamar came."), document("i", "Zedbert")),
        (document("o", "Zedamar came."), {"resourceType": "Binary", "id": "b", "data": "WmVk"}),
        (report("o", "Zedamar came."), {"resourceType": "Composition", "id": "c"}),
        ({"resourceType": "Encounter", "id": "o"}, report("i", "Zedbert")),
        ({"resourceType": "Zedtype", "id": "o"}, document("i", "Zedbert")),
        ({"resourceType": "Patient", "id": "o"}, {"resourceType": "documentreference"}),
        ({"resourceType": "documentReference", "id": "o"}, {"resourceType": "Patient"}),
        ({"resourceType": "Documentreference", "id": "o"}, {"resourceType": "Patient"}),
    ],
)
def test_a_note_within_a_resource_withholds_it_with_an_error(served, outer, inner):
    body = bundle({**outer, "contained": [inner]}, document("fine", "Zedamar went."))
    found = ask(served, parameters(body, "tag"))

    assert texts_of(found) == ["[NAME] went."]
    (issue,) = found["outcome"]["issue"]
    assert (issue["severity"], issue["diagnostics"][:8]) == ("error", "entry 1:")
    assert "Zed" not in json.dumps(found)


@pytest.mark.parametrize(
    ("code", "is_kept"),
    [
        *[(code, True) for code in ("11488-4", "18842-5", "34117-2", "105724-9", "8302-2")],
        *[(code, False) for code in ("4471902-1", "4471902-9", "11488-5", "447190-3", "1", "-4")],
    ],
)
def test_a_code_is_handed_on_where_its_check_digit_is_right(served, code, is_kept):
    coding = {"system": "http://loinc.org", "code": code}
    found = ask(served, parameters(document("a", "Fine.", type={"coding": [coding]}), "tag"))

    (entry,) = found["de-identifiedData"]["entry"]
    assert ("type" in entry["resource"]) is is_kept


def test_persons_within_a_resource_are_not_handed_on(served):
    person = {"resourceType": "Patient", "id": "p", "name": [{"family": "Zedamar"}]}
    found = ask(served, parameters(bundle(document("a", "Fine.", contained=[person])), "tag"))

    assert texts_of(found) == ["Fine."]
    assert "Zed" not in json.dumps(found)


def broken_parameters():
    fine = parameters(document("a", "Zedamar"))
    urls = {"name": "identifiableDataFileUrls", "resource": {"resourceType": "Parameters"}}
    twice = copy.deepcopy(fine)
    twice["parameter"].append(twice["parameter"][1])
    return {
        "no resource": ({"a": 1}, 422, "no FHIR resource"),
        "no data": (
            {"resourceType": "Parameters", "parameter": [fine["parameter"][1]]},
            422,
            "identifiableData has no resource",
        ),
        "no policy": (
            {"resourceType": "Parameters", "parameter": [fine["parameter"][0]]},
            422,
            "policy is missing",
        ),
        "addresses": (
            {"resourceType": "Parameters", "parameter": [urls, fine["parameter"][1]]},
            501,
            "opens no addresses",
        ),
        "twice": (twice, 422, "there twice"),
        "an expert": (
            parameters(document("a", "x"), "HHS_EXPERT_DETERMINATION_METHOD"),
            422,
            "made by a person",
        ),
        "another policy": (parameters(document("a", "x"), "Zedpolicy"), 422, "no policy"),
        "no list": ({"resourceType": "Parameters", "parameter": {"a": 1}}, 422, "no list"),
        "two of one id": (
            parameters(bundle(document("a", "x"), document("a", "y"))),
            422,
            "two notes have one id",
        ),
        "no id": (parameters(document(None, "x"), "tag"), 422, "no id"),
        "deep": (b'{"a":' + b"[" * 100_000, 400, "nested too deep"),
    }


@pytest.mark.parametrize("name", broken_parameters())
def test_wrong_parameters_are_one_outcome(served, name):
    body, status, said = broken_parameters()[name]
    if name == "no id":
        del body["parameter"][0]["resource"]["id"]
    found = ask(served, body, status=status)

    assert said in found["issue"][0]["diagnostics"]
    assert "Zed" not in json.dumps(found)


def test_bundles_in_bundles_end(served):
    inner = bundle(document("a", "Zedamar came."))
    for _ in range(5):
        inner = bundle(inner)
    assert texts_of(ask(served, parameters(inner, "tag"))) == ["[NAME] came."]
    for _ in range(20):
        inner = bundle(inner)
    found = ask(served, parameters(inner, "tag"), status=422)
    assert "Bundles deep" in found["issue"][0]["diagnostics"]


def test_what_the_server_can_do_is_stated(served):
    stated = served.ask("/fhir/metadata").json()

    (operation,) = stated["rest"][0]["operation"]
    assert operation["definition"].endswith("/OperationDefinition/de-identify")
    assert served.ask("/fhir/nothing").json()["resourceType"] == "OperationOutcome"
    assert served.ask("/fhir/metadata", token="no").json()["issue"][0]["code"] == "login"
