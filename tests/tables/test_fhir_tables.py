"""FHIR resources, a line each: moved, keyed and joined as tables, and nothing unknown leaves."""

import json
from datetime import date, timedelta

import pytest

from deid_assets.assets.checked_tables import verdicts_of
from deid_assets.config import Settings
from deid_assets.config.tables import TableSettings
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.keys import Key, derive_released_id
from deid_assets.intake.table_leaks import _batches
from deid_assets.policies import load_policy
from deid_assets.tables.acting import PolicyActions
from deid_assets.tables.checking import begin, check_table
from deid_assets.tables.columns import Role
from deid_assets.tables.fhir_elements import resource_of, resource_types, roles_of, values_of
from deid_assets.tables.fhir_values import rules_of
from deid_assets.tables.rewriting import ReleasedNotes, TableRewriter
from deid_assets.tables.sources import open_table
from deid_assets.tables.writing import write_rows

POLICY = """\
name = "shifted"
default = "tag"
[actions]
AGE = "age_90"
DATE = { action = "shift", max_days = 364, whole_weeks = false }
"""
RANGE = {"dates_from": date(1900, 1, 2), "dates_to": date(2040, 1, 1)}
KEY = Key(b"k" * 32)
LOINC = {"system": "http://loinc.org", "code": "718-7", "display": "Hemoglobin, said Zedmarlow"}
PATIENT = {
    "resourceType": "Patient",
    "id": "17",
    "meta": {"lastUpdated": "2021-05-03T10:00:00Z"},
    "text": {"status": "generated", "div": "<div>Ann Zedmarlow</div>"},
    "identifier": [{"value": "7000123"}],
    "name": [{"family": "Zedmarlow", "given": ["Ann", "Bea"]}],
    "extension": [{"url": "http://example.org/birthplace", "valueString": "Zedtown"}],
    "gender": "female",
    "birthDate": "1951-02-03",
    "_birthDate": {"extension": [{"url": "http://example.org/t", "valueString": "Zed"}]},
    "deceasedDateTime": "2022-01-05T10:30:00+01:00",
    "maritalStatus": {"coding": [{"code": "M"}], "text": "married to Bo Zedquill"},
    "managingOrganization": {"reference": "Organization/1", "display": "Zed Clinic"},
}
ENCOUNTER = {
    "resourceType": "Encounter",
    "id": "e1",
    "status": "finished",
    "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "IMP"},
    "subject": {"reference": "Patient/17", "display": "Ann Zedmarlow"},
    "period": {"start": "2021-03-27T22:15:00+01:00", "end": "2021-03-29T08:00:00+02:00"},
    "participant": [{"individual": {"reference": "Practitioner/9", "display": "Dr. Zed"}}],
}
OBSERVATION = {
    "resourceType": "Observation",
    "id": "o1",
    "status": "final",
    "code": {"coding": [LOINC, {"system": "http://example.org", "code": "HB"}], "text": "Hb Zed"},
    "subject": {"reference": "https://ward.example/fhir/Patient/17"},
    "encounter": {"reference": "Encounter/e1"},
    "effectiveDateTime": "2021-03-28",
    "valueQuantity": {"value": 7.25, "unit": "mmol/l"},
    "note": [{"text": "told Zedmarlow"}],
    "component": [{"code": {"coding": [{"code": "a"}]}, "valueInteger": 3}],
}
CONDITION = {
    "resourceType": "Condition",
    "id": "c1",
    "code": {"coding": [{"system": "http://snomed.info/sct", "code": "38341003"}]},
    "subject": {"reference": "Patient/17"},
    "encounter": {"reference": "Encounter/e1"},
    "onsetDateTime": "2020-12-31",
    "onsetAge": {"value": 95, "unit": "a"},
}


class Patients:
    """Released ids of some patients."""

    def __init__(self, key, *ids):
        self._ids = {derive_released_id(key, "patient", one) for one in ids}

    def __contains__(self, one):
        return one in self._ids


@pytest.fixture(scope="module")
def actions(tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "shifted.toml"
    path.write_text(POLICY)
    return PolicyActions.of(load_policy(str(path)), KEY)


@pytest.fixture
def table(tmp_path):
    """Settings of a table of some resources."""

    def write(*resources, **given):
        kind = next(one["resourceType"] for one in resources if isinstance(one, dict))
        lines = [one if isinstance(one, str) else json.dumps(one) for one in resources]
        path = tmp_path / f"{kind}.ndjson"
        path.write_text("\n".join(lines) + "\n")
        return TableSettings(file=path, **{"fhir": kind, **RANGE, **given})

    return write


def released(settings, actions, *patients, notes=()):
    """The resources of a release, and what was counted."""
    path = settings.file.with_name("released.ndjson")
    with open_table(settings) as source:
        rewriter = TableRewriter(
            begin(settings, source),
            actions,
            lambda kind, value: derive_released_id(KEY, kind, value),
            ReleasedNotes(Patients(KEY, *(patients or ("17",))), set(), *notes),
        )
        write_rows(rewriter.batches(), path, seed=None, rows=10)
    return [json.loads(line) for line in path.read_text().splitlines()], rewriter


def faults(settings):
    return [line for one in check_table(settings).faults for line in one.told]


def moved(text, actions):
    return (date.fromisoformat(text) + timedelta(actions.offset("17"))).isoformat()


def test_a_patient_leaves_with_keyed_ids_moved_dates_and_no_text(table, actions):
    settings = table(PATIENT, {**PATIENT, "id": "18", "birthDate": "1920-01-05"})
    assert faults(settings) == []

    (first, second), rewriter = released(settings, actions, "17", "18")

    assert first == {
        "resourceType": "Patient",
        "id": derive_released_id(KEY, "patient", "17"),
        "gender": "female",
        "birthDate": moved("1951-02-03", actions),
        "deceasedDateTime": f"{moved('2022-01-05', actions)}T10:30:00Z",
        "maritalStatus": {"coding": [{"code": "M"}]},
        "managingOrganization": {
            "reference": f"Organization/{derive_released_id(KEY, 'organization', '1')}"
        },
    }
    assert "birthDate" not in second  # it would tell an age over 89
    assert rewriter.counts.emptied["birthDate"] == 1


def test_resources_join_as_before_and_as_tables_and_notes_do(table, actions):
    (encounter,), _ = released(table(ENCOUNTER), actions)
    (observation,), _ = released(table(OBSERVATION), actions)
    (condition,), _ = released(table(CONDITION), actions)

    patient = f"Patient/{derive_released_id(KEY, 'patient', '17')}"
    visit = derive_released_id(KEY, "encounter", "e1")
    assert {one["subject"]["reference"] for one in (encounter, observation, condition)} == {patient}
    assert encounter["id"] == visit
    assert observation["encounter"] == condition["encounter"] == {"reference": f"Encounter/{visit}"}
    assert encounter["period"] == {
        "start": f"{moved('2021-03-27', actions)}T22:15:00Z",
        "end": f"{moved('2021-03-29', actions)}T08:00:00Z",
    }
    assert observation["valueQuantity"] == {"value": 7.25, "unit": "mmol/l"}
    assert observation["code"] == {
        "coding": [
            {"system": "http://loinc.org", "code": "718-7"},
            {"system": "http://example.org", "code": "HB"},
        ]
    }
    assert observation["component"] == [{"code": {"coding": [{"code": "a"}]}, "valueInteger": 3}]
    assert observation["effectiveDateTime"] == moved("2021-03-28", actions)
    assert condition["onsetDateTime"] == moved("2020-12-31", actions)
    assert set(condition) == {*CONDITION} - {"onsetAge"}
    assert "Zed" not in json.dumps([encounter, observation, condition])


def test_encounters_may_join_a_table_of_visits(table, actions):
    (encounter,), _ = released(table(ENCOUNTER, ids={"id": "visit"}), actions)
    own = {"encounter.reference": "visit"}
    (observation,), _ = released(table(OBSERVATION, ids=own), actions)

    visit = derive_released_id(KEY, "visit", "e1")
    assert encounter["id"] == visit
    assert observation["encounter"]["reference"] == f"Encounter/{visit}"


def test_resources_of_others_stay_and_combinations_are_counted(table, actions):
    others = [{**PATIENT, "id": str(number), "gender": "male"} for number in (18, 19)]
    settings = table(PATIENT, *others, quasi=["gender", "maritalStatus.coding.code"])

    found, rewriter = released(settings, actions, "17", "18")

    assert [one["gender"] for one in found] == ["female", "male"]
    assert (rewriter.counts.rows, rewriter.counts.left_out) == (2, 1)
    groups = rewriter.groups.counts()
    assert (groups.combinations, groups.singletons) == (2, 2)


def test_an_element_that_is_kept_by_name_leaves_and_what_stands_beside_it_stops(table, actions):
    kept = table(CONDITION, keep=["onsetAge.value"], drop=["onsetAge.unit"])
    (condition,), _ = released(kept, actions)
    odd = {**OBSERVATION, "code": {"coding": [{"code": "X RAY"}]}}
    assert faults(table(odd, keep=["code.coding.code"])) == []

    assert condition["onsetAge"] == {"value": 95}
    with pytest.raises(InputError, match=r"element onsetAge\.unit is not declared"):
        check_table(table(CONDITION, keep=["onsetAge.value"]))


def test_an_identifier_that_is_kept_is_found(table, actions):
    odd = {**CONDITION, "id": "c2", "code": {"coding": [{"code": "x 9000017"}]}}
    odd["subject"] = {"reference": "Patient/9000017"}

    _, rewriter = released(table(odd), actions, "9000017")

    (told,) = rewriter.counts.surviving.told
    assert told.startswith("row 1, column code.coding[0].code: holds an identifier of its patient")


UCUM = {"system": "http://unitsofmeasure.org"}
TEXT_AS_UNIT = {
    **OBSERVATION,
    "code": {"coding": [{**LOINC, "version": "2.74"}, {"code": "HB", "version": "Zed edition"}]},
    "valueQuantity": {"value": 7.25, "unit": "said Ann Zedmarlow", "code": "mmol/L", **UCUM},
    "referenceRange": [{"low": {"value": 7, "unit": "g/dl"}, "high": {"value": 9, "unit": "Zed"}}],
    "component": [
        {
            "code": {"coding": [{"code": "a"}]},
            "valueQuantity": {"value": 3, "unit": "{score}", "code": "{Zedmarlow}", **UCUM},
        }
    ],
}


def test_text_that_is_no_unit_or_version_is_left_out_and_counted(table, actions):
    settings = table(TEXT_AS_UNIT)
    check = check_table(settings)
    verdicts = {one.name: one for one in verdicts_of(check)}

    (observation,), _ = released(settings, actions)

    assert faults(settings) == []
    assert "Zed" not in json.dumps([observation, check.left_out.told])
    assert observation["valueQuantity"] == {"value": 7.25, "code": "mmol/L", **UCUM}
    assert observation["referenceRange"] == [
        {"low": {"value": 7, "unit": "g/dl"}, "high": {"value": 9}}
    ]
    assert observation["component"][0]["valueQuantity"] == {"value": 3, "unit": "{score}", **UCUM}
    assert [one.get("version") for one in observation["code"]["coding"]] == ["2.74", None]
    assert verdicts["values_known"].counts == {"bad": 4}
    assert not verdicts["values_known"].stops
    assert check.left_out.told[0].startswith("row 1, column ")


def test_digits_alone_are_no_code_of_a_unit(table, actions):
    quantity = {"value": 7.25, "unit": "mmol/L", "code": "7000123", **UCUM}

    (observation,), _ = released(table({**OBSERVATION, "valueQuantity": quantity}), actions)

    assert observation["valueQuantity"] == {"value": 7.25, "unit": "mmol/L", **UCUM}


def test_a_unit_that_is_declared_leaves_as_it_is(table, actions):
    (observation,), _ = released(table(TEXT_AS_UNIT, keep=["valueQuantity.unit"]), actions)

    assert observation["valueQuantity"]["unit"] == "said Ann Zedmarlow"


@pytest.mark.parametrize("kind", resource_types())
def test_whatever_leaves_without_being_declared_has_a_rule(kind):
    settings = TableSettings(file="a.ndjson", fhir=kind)
    kept = {path for path, one in roles_of(settings).items() if one.role is Role.KEEP}

    assert {*rules_of(settings, roles_of(settings), kept)} == kept


OTHER_ZONE = {**ENCOUNTER, "id": "e2", "period": {"start": "2021-01-01T10:00:00-05:00"}}
IN_UTC = {**ENCOUNTER, "id": "e2", "period": {"end": "2021-03-29T06:00:00Z"}}
OTHER_TYPE = {**CONDITION, "id": "c2", "onsetDateTime": 2020}
NOBODY = {**OBSERVATION, "id": "o2", "subject": {"display": "Zedmarlow"}}
ODD_REFERENCE = {**CONDITION, "id": "c2", "encounter": {"reference": "urn:uuid:Zedmarlow"}}
BAD_LINES = {
    "no JSON": ((PATIENT, "{Zedmarlow"), "row 2: is no JSON in UTF-8; "),
    "a key twice": ((PATIENT, '{"id": "Zed", "id": "Zed"}'), "row 2: is no JSON in UTF-8; "),
    "no object": ((PATIENT, '["Zedmarlow"]'), "row 2: is no FHIR resource; "),
    "an odd name": ((PATIENT, {**PATIENT, "Ann Zed": 1}), "row 2: has an element whose name no "),
    "a partial date": (
        ({**PATIENT, "birthDate": "1951-02"},),
        "row 1, column birthDate: no date in ISO 8601, ",
    ),
    "another zone": ((ENCOUNTER, OTHER_ZONE), "row 2, column period.start: is hours from the "),
    "a time in UTC": ((ENCOUNTER, IN_UTC), "row 2, column period.end: is hours from the time zone"),
    "another kind": ((CONDITION, OTHER_TYPE), "row 2, column onsetDateTime: is of another JSON"),
    "no patient": ((OBSERVATION, NOBODY), "row 2, column subject.reference/Patient: has no patie"),
    "a reference": ((CONDITION, ODD_REFERENCE), "row 2: has a reference that is not Type/id, "),
    "a filler": (
        ({**CONDITION, "recordedDate": "9999-12-31"},),
        "row 1, column recordedDate: lies outside of dates_from and dates_to; ",
    ),
    "an id twice": ((CONDITION, CONDITION), "row 2, column id: has an id that an earlier row has"),
    "a long number": (
        (OBSERVATION, {**OBSERVATION, "id": "o2", "valueInteger": 10**19}),
        "row 2: has a number of over 18 digits; ",
    ),
    "a number without end": (
        (OBSERVATION, json.dumps({**OBSERVATION, "id": "o2"}).replace("7.25", "1e999")),
        "row 2: has a number that is too large; ",
    ),
    "a name as a code": (
        ({**OBSERVATION, "code": {"coding": [{"code": "Ann Zedmarlow"}]}},),
        "row 1, column code.coding[0].code: has blanks, as text has and codes have not, or ",
    ),
    "a name as a gender": (
        ({**PATIENT, "gender": "Ann Zedmarlow"},),
        "row 1, column gender: is no gender of FHIR; ",
    ),
    "a name as a truth value": (
        ({**PATIENT, "active": "Zedmarlow"},),
        "row 1, column active: is neither true nor false; ",
    ),
    "a name as a number": (
        (OBSERVATION, {**OBSERVATION, "id": "o2", "valueQuantity": {"value": "Zedmarlow"}}),
        "row 2, column valueQuantity.value: is no number; ",
    ),
    "a name as a language": (
        ({**OBSERVATION, "language": "Zedmarlow"},),
        "row 1, column language: is no code of a language; ",
    ),
    "a name as a comparator": (
        ({**OBSERVATION, "valueQuantity": {"value": 1, "comparator": "Zedmarlow"}},),
        "row 1, column valueQuantity.comparator: is no comparator of FHIR; ",
    ),
    "a name as a status": (
        ({**OBSERVATION, "status": "Zedmarlow"},),
        "row 1, column status: is no status of FHIR; ",
    ),
    "a name as an address": (
        ({**OBSERVATION, "code": {"coding": [{"system": "Zedmarlow"}]}},),
        "row 1, column code.coding[0].system: is no address that begins with http or urn; ",
    ),
    "deep nesting": ((PATIENT, '{"a":' * 40 + "1" + "}" * 40), "row 2: is nested deeper than "),
}


@pytest.mark.parametrize(("lines", "told"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_resource_that_cannot_be_read_is_one_line_without_its_values(table, lines, told):
    found = [line for line in faults(table(*lines)) if not line.endswith("leave it out")] or faults(
        table(*lines)
    )

    assert len(found) == 1
    assert found[0].startswith(told)
    assert "Zed" not in found[0]


BAD_FILES = {
    "two types": ((PATIENT, ENCOUNTER), {}, "that is no Patient; export each type into a file"),
    "an unknown element": (
        ({**PATIENT, "ward": "Zedmarlow"},),
        {},
        "element ward is not declared; name it under keep, drop or another role",
    ),
    "an unknown text": (
        ({**OBSERVATION, "valueSampledData": {"data": "Zed"}},),
        {},
        r"element valueSampledData\.data is not declared",
    ),
    "an unknown type": ((PATIENT,), {"fhir": "Patients"}, "there is no table of 'Patients'"),
    "nothing to count": ((PATIENT,), {"quasi": ["sex"]}, "quasi: no resource has element 'sex'"),
    "a list without end": (
        ({**PATIENT, "x": {str(f"a{number}"): 1 for number in range(500)}},),
        {},
        "it has over 400 different elements; drop some",
    ),
}


@pytest.mark.parametrize(("lines", "given", "told"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_not_declared_stops_in_one_line(table, lines, given, told):
    with pytest.raises(InputError, match=told) as stopped:
        check_table(table(*lines, **given))

    assert "\n" not in str(stopped.value)
    assert "Zed" not in str(stopped.value)


def test_an_empty_file_stops(tmp_path):
    path = tmp_path / "Patient.ndjson"
    path.write_text("\n")

    with pytest.raises(InputError, match="it has no resources; export it again"):
        check_table(TableSettings(file=path, fhir="Patient"))


@pytest.mark.parametrize(
    "given",
    [
        {"file": "a.ndjson"},
        {"file": "a.csv", "patient": "p", "fhir": "Patient"},
        {"file": "a.ndjson", "fhir": "Patient", "patient": "id"},
    ],
)
def test_wrong_settings_of_resources_are_one_line(given):
    with pytest.raises(ConfigError, match="fhir: "):
        Settings.of({"tables": {"labs": given}}, str)


@pytest.mark.parametrize("resource", [PATIENT, ENCOUNTER, OBSERVATION, CONDITION])
def test_paths_and_values_are_the_resource_again(resource):
    assert resource_of(dict(values_of(resource, {}))).keys() <= resource.keys()
    flat = dict(values_of(resource, {}))
    assert dict(values_of(resource_of(flat), {})) == flat


def test_a_leaked_value_is_looked_for_in_every_value(table, actions):
    settings = table(OBSERVATION)
    released(settings, actions)

    (batch,) = _batches(settings.file.with_name("released.ndjson"))

    assert {"718-7", "7.25", "mmol/l", "final"} <= {*batch.column("value").to_pylist()}
