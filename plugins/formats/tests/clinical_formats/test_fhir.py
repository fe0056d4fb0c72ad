"""FHIR R4: attachments and conclusions as notes, minimal resources out.

Broken resources are faults.
"""

import base64
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.formats import (
    Annotated,
    Fault,
    ReadOptions,
    detect_format,
    read_notes,
    write_notes,
)
from deid_assets.formats.identities import Identity, read_identities

DATA = Path(__file__).parent / "data" / "fhir"
FAST = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SECRET = "Zyxwick"


def attachment(text=SECRET, **fields):
    return {"contentType": "text/plain", "data": base64.b64encode(text.encode()).decode()} | fields


def document(*attachments, **fields):
    content = [{"attachment": entry} for entry in attachments]
    return {"resourceType": "DocumentReference", "id": "d1", "content": content} | fields


def report(**fields):
    return {"resourceType": "DiagnosticReport", "id": "r1"} | fields


def read(tmp_path, *resources, name="n.ndjson", **options):
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, resources)), encoding="utf-8")
    return list(read_notes(path, format="fhir", options=ReadOptions(**options)))


def notes(found):
    assert not [entry.message for entry in found if isinstance(entry, Fault)]
    return {entry.note.note_id: entry.note.text for entry in found}


@pytest.mark.parametrize("name", ["export.ndjson", "bundle.json", "document.json"])
def test_golden_files_hold_the_golden_note(name, golden_text):
    assert detect_format(DATA / name) == "fhir"
    found = list(read_notes(DATA / name))
    first = found[0].note
    assert (first.note_id, first.text) == ("a1", golden_text)
    assert (first.patient_id, first.lang, found[0].spans) == ("p-44", "en", None)
    if name != "document.json":
        texts = [
            (entry.note.note_id, entry.note.text, entry.note.patient_id, entry.note.lang)
            for entry in found[1:]
        ]
        assert texts == [
            ("r1-1", "Señora: sin hallazgos.", "p-44", "es"),
            ("r1-2", "No finding.", "p-44", None),
        ]


def test_what_was_read_is_written_as_a_minimal_resource(tmp_path):
    found = [entry for entry in read_notes(DATA / "export.ndjson") if isinstance(entry, Annotated)]
    assert write_notes(tmp_path / "out.ndjson", found, format="fhir") == 3
    assert list(read_notes(tmp_path / "out.ndjson")) == found
    first = json.loads((tmp_path / "out.ndjson").read_text().splitlines()[0])
    assert set(first) == {"resourceType", "id", "language", "status", "subject", "content"}
    assert "Marrowby" not in (tmp_path / "out.ndjson").read_text()


@pytest.mark.parametrize(
    ("subject", "patient_id"),
    [
        ({"reference": "Patient/7"}, "7"),
        ({"reference": "http://h/r4/Patient/7/_history/1"}, "7"),
        ({"reference": "urn:uuid:7-7"}, "7-7"),
        ({"identifier": {"value": "x 7"}}, "x 7"),
        ({"reference": "Group/7"}, None),
        ({"reference": "#p"}, None),
        ({}, None),
    ],
)
def test_the_patient_is_that_of_the_reference(subject, patient_id, tmp_path):
    (found,) = read(tmp_path, document(attachment(), subject=subject))
    assert found.note.patient_id == patient_id


def test_resources_without_notes_and_reports_without_texts_are_passed_over(tmp_path):
    found = read(
        tmp_path, {"resourceType": "Observation"}, report(result=[]), document(attachment("x"))
    )
    assert notes(found) == {"d1": "x"}


def test_a_file_or_folder_without_any_note_is_a_fault(tmp_path):
    (fault,) = read(tmp_path, {"resourceType": "Patient", "id": "p"})
    assert fault.kind == "empty-file"
    (fault,) = read_notes(tmp_path, format="fhir")
    assert fault.kind == "empty-file"


BROKEN = {
    "html only": (document(attachment(contentType="text/html")), "malformed"),
    "no type": (document(attachment(contentType=None)), "malformed"),
    "pdf beside a conclusion": (
        report(conclusion=SECRET, presentedForm=[attachment(contentType="application/pdf")]),
        "malformed",
    ),
    "a url": (document({"contentType": "text/plain", "url": "Binary/1"}), "missing-field"),
    "no data": (document({"contentType": "text/plain"}), "missing-field"),
    "no base64": (document(attachment(data=f"{SECRET}!")), "malformed"),
    "data no string": (document(attachment(data=[1])), "malformed"),
    "another size": (document(attachment(size=3)), "text-mismatch"),
    "another hash": (document(attachment(hash="AAAA")), "text-mismatch"),
    "not in its charset": (
        document(attachment("é", contentType="text/plain; charset=ascii")),
        "undecodable",
    ),
    "no charset": (document(attachment(contentType="text/plain; charset=none")), "undecodable"),
    "a codec that is no charset": (
        document(attachment(contentType="text/plain; charset=hex")),
        "undecodable",
    ),
    "no content": (document(), "missing-field"),
    "content no list": (document(content=SECRET), "malformed"),
    "second attachment broken": (document(attachment(), attachment(data="!")), "malformed"),
    "no id": (document(attachment(), id=None), "missing-field"),
    "an id of blanks and breaks": (document(attachment(), id="a\nb"), "malformed"),
    "no type of resource": ({"id": "x", "text": SECRET}, "malformed"),
    "no object": ([SECRET], "malformed"),
    "a type in other letters": (
        document(attachment(), resourceType="Documentreference"),
        "malformed",
    ),
    "a bundle in other letters": (
        {"resourceType": "BUNDLE", "entry": [{"resource": document(attachment())}]},
        "malformed",
    ),
    "a document in a document": (
        document(attachment("x"), contained=[document(attachment(), id="c")]),
        "malformed",
    ),
    "a report in a visit": (
        {"resourceType": "Encounter", "id": "e", "contained": [report(conclusion=SECRET)]},
        "malformed",
    ),
    "contained no list": (document(attachment("x"), contained=SECRET), "malformed"),
    "no type beside one": (
        document(attachment("x"), attachment(contentType=None)),
        "malformed",
    ),
    "no media type beside one": (
        document(attachment("x"), attachment(contentType="plain text")),
        "malformed",
    ),
    "an error of the server": (
        {
            "resourceType": "OperationOutcome",
            "issue": [{"severity": "error", "diagnostics": SECRET}],
        },
        "malformed",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_resource_is_one_fault_and_the_rest_is_read(case, tmp_path):
    resource, kind = BROKEN[case]
    fault, rest = read(tmp_path, resource, document(attachment("x"), id="d2"))
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.line) == (kind, 1)
    assert SECRET not in fault.message
    assert rest.note.text == "x"


def test_a_fault_in_a_bundle_names_its_entry(tmp_path):
    bundle = {
        "resourceType": "Bundle",
        "entry": [{"resource": document(attachment("x"))}, {"resource": 1}],
    }
    outer = {"resourceType": "Bundle", "entry": [{"resource": bundle}]}
    note, fault = read(tmp_path, outer, name="n.json")
    assert note.note.text == "x"
    assert (
        fault.message
        == "n.json: entry 1: entry 2: no FHIR resource with a resourceType; remove it or export it"
        " again"
    )


@pytest.mark.parametrize("url", ["urn:uuid:b-1", "Binary/7"])
def test_a_binary_of_the_same_bundle_is_the_data_of_an_attachment(url, tmp_path):
    binary = {
        "resourceType": "Binary",
        "id": "7",
        "contentType": "text/plain",
        "data": attachment("x")["data"],
    }
    entries = [
        {"resource": document({"contentType": "text/plain", "url": url, "size": 1})},
        {"resource": document({"contentType": "text/plain", "url": f"{url}0"}, id="d2")},
        {"fullUrl": "urn:uuid:b-1", "resource": binary},
    ]
    note, fault = read(tmp_path, {"resourceType": "Bundle", "entry": entries})
    assert note.note.text == "x"
    assert (fault.kind, fault.note_id) == ("missing-field", "d2")


def test_bundles_in_bundles_without_end_are_refused(tmp_path):
    bundle = document(attachment("x"))
    for _ in range(20):
        bundle = {"resourceType": "Bundle", "entry": [{"resource": bundle}]}
    (fault,) = read(tmp_path, bundle)
    assert (fault.kind, "deep" in fault.message) == ("malformed", True)


def test_the_longest_note_is_read_and_a_longer_one_is_a_fault(tmp_path):
    (found,) = read(tmp_path, document(attachment("\U0001f468" * 400_000)), max_note_chars=400_000)
    assert len(found.note.text) == 400_000
    (fault,) = read(tmp_path, document(attachment("\U0001f468" * 401_000)), max_note_chars=400_000)
    assert fault.kind == "too-large"


def test_spans_are_refused_rather_than_lost(tmp_path):
    note = Note("n", "x")
    with pytest.raises(InputError, match="holds no spans"):
        write_notes(tmp_path / "n.ndjson", [Annotated(note, SpanSet.of(note, []))], format="fhir")


@pytest.mark.parametrize("name", ["n.json", "n.ndjson"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_suffix_says_whether_lines_or_a_bundle_are_written(name, count, tmp_path):
    given_notes = [Annotated(Note(f"n{number}", "x")) for number in range(count)]
    assert write_notes(tmp_path / name, given_notes, format="fhir") == count
    written = (tmp_path / name).read_text()
    assert [
        json.loads(part)["resourceType"]
        for part in ([written] if name == "n.json" else written.splitlines())
    ] == (["Bundle"] if name == "n.json" else ["DocumentReference"] * count)
    if count:
        assert detect_format(tmp_path / name) == "fhir"
        assert list(read_notes(tmp_path / name)) == given_notes


printable = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@FAST
@given(
    texts=st.lists(st.text(max_size=20), min_size=1, max_size=3),
    prefix=printable,
    patient_id=st.none() | printable,
)
@example(texts=["", "\0\r\n\ufeff\x85"], prefix="p/ä", patient_id="Patient/1")
def test_any_text_id_and_patient_come_back(texts, prefix, patient_id):
    given_notes = [
        Annotated(Note(f"{prefix}{number}", text, patient_id, "en"))
        for number, text in enumerate(texts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "n.ndjson")
        write_notes(path, given_notes, format="fhir")
        assert list(read_notes(path, format="fhir")) == given_notes
        assert detect_format(path) == "fhir"


def test_patients_relatives_and_staff_are_known_identities():
    found = list(read_identities(DATA / "export.ndjson"))
    assert found == [
        *(
            Identity("p-44", kind, value)
            for kind, value in [
                ("name", "Odette Fay Marrowby"),
                ("given_name", "Odette"),
                ("given_name", "Fay"),
                ("family_name", "Marrowby"),
                ("alias", "Odie"),
                ("record_number", "440044"),
                ("national_id", "900-12-3456"),
                ("phone", "555-0100"),
                ("email", "odette@example.org"),
                ("address", "12 Quillan Lane"),
                ("city", "Easthollow"),
                ("zip", "04999"),
                ("birth_date", "1961-06-15"),
                ("relative", "Ivo Marrowby"),
                ("phone", "555-0101"),
                ("staff", "Dr Tamsin Orlebar"),
                ("relative", "Hesper Marrowby"),
                ("phone", "555-0102"),
            ]
        ),
        Identity(None, "staff", "Tamsin Orlebar"),
    ]


@pytest.mark.parametrize(
    "resource",
    [
        {"resourceType": "Patient", "name": [{"family": SECRET}]},
        {"resourceType": "Patient", "id": "p", "name": SECRET},
        {"resourceType": "Patient", "id": "p", "name": [{"given": SECRET}]},
        {"resourceType": "RelatedPerson", "name": [{"family": SECRET}]},
    ],
)
def test_a_person_that_cannot_be_read_whole_is_a_fault(resource, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(resource))
    (fault,) = read_identities(path)
    assert isinstance(fault, Fault)
    assert SECRET not in fault.message


def test_a_value_that_cannot_be_read_is_a_fault_and_the_others_are_known(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(
        json.dumps(
            {"resourceType": "Patient", "id": "p", "birthDate": SECRET, "name": [{"text": "Qua"}]}
        )
    )
    name, fault = read_identities(path)
    assert name == Identity("p", "name", "Qua")
    assert (
        fault.message
        == "p.json: Patient: a birth_date is not YYYY, YYYY-MM or YYYY-MM-DD; write it so"
    )


@st.composite
def damaged(draw, seed):
    start = draw(st.integers(0, len(seed)))
    end = draw(st.integers(start, min(len(seed), start + 40)))
    added = st.binary(max_size=8) | st.sampled_from(
        [b'"', b"\n", b"\0", b"{", b"]", b"null", b"-1", b"[[", b"\\ud800"]
    )
    return seed[:start] + draw(added) + seed[end:]


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in inner:
        yield from places(child, (*path, key))


def replaced(value, path, other):
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], other)
    return copy


RESOURCES = [json.loads(line) for line in (DATA / "export.ndjson").read_text().splitlines()]
other_values = st.sampled_from(
    [None, True, 0, -1, 1.5, 10**30, "", " ", "\ud800", "a\nb", [], [None], [[]], {}, {"a": {}}]
)


@settings(FAST, max_examples=300)
@given(st.data())
def test_any_value_in_any_place_gives_notes_and_identities_or_faults(data):
    resource = data.draw(st.sampled_from(RESOURCES))
    for _ in range(data.draw(st.integers(1, 3))):
        resource = replaced(
            resource, data.draw(st.sampled_from(list(places(resource)))), data.draw(other_values)
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "n.json")
        path.write_text(json.dumps(resource))
        for found in (
            list(read_notes(path, format="fhir")),
            list(read_identities(path, format="fhir")),
        ):
            assert found
            assert all(entry.message.isprintable() for entry in found if isinstance(entry, Fault))


@pytest.mark.parametrize("name", ["export.ndjson", "bundle.json", "random"])
def test_damaged_files_give_notes_or_faults(name):
    contents = st.binary(max_size=200) if name == "random" else damaged((DATA / name).read_bytes())

    @FAST
    @given(content=contents)
    def reads(content):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "n" + (Path(name).suffix or ".json"))
            path.write_bytes(content)
            for found in (
                list(read_notes(path, format="fhir")),
                list(read_identities(path, format="fhir")),
            ):
                assert found
                assert not [
                    entry
                    for entry in found
                    if isinstance(entry, Fault) and "Marrowby" in entry.message
                ]

    reads()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("n.ndjson", '{"resourceType": "Patient", "text": {}}', "fhir"),
        ("n.jsonl", '{"id": "a", "text": "x"}', "jsonl"),
        ("n.ndjson", '{"note": 1, "body": "resourceType"}', "jsonl"),
        ("n.jsonl", "broken", "jsonl"),
        ("n.jsonl", "", "jsonl"),
        ("n.json", '\ufeff{\n "id": "x", "resourceType": "Bundle"}', "fhir"),
        ("n.ndjson", '{"resourceType": "Patient", "id": "' + "x" * 2_000_000 + '"}', "fhir"),
        ("n.ndjson", '{"resourceType": "Patient", "text": "x"}', None),
        (
            "n.ndjson",
            '{"id": "'
            + "x" * 200_000
            + '", "resourceType": "Patient", "a": "'
            + "x" * 200_000
            + '"}',
            None,
        ),
        ("n.json", '{"id": "a", "text": "x"}', None),
        ("n.json", "", None),
    ],
)
def test_a_file_of_json_is_told_by_what_it_begins_with_or_the_user_is_asked(
    name, content, expected, tmp_path
):
    (tmp_path / name).write_text(content, encoding="utf-8")
    for path in (tmp_path / name, tmp_path):
        if expected:
            assert detect_format(path) == expected
        else:
            with pytest.raises(InputError, match="name one with --format"):
                detect_format(path)
