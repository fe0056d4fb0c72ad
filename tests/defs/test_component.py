"""An installation in somebody's own Dagster project, in a sandbox of defs folders."""

import json
import os
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

import deid_assets
from deid_assets import DeidPipelineComponent
from deid_assets.config import Settings
from deid_assets.config.settings import ReleaseSettings
from deid_assets.defs.instance import ENVIRONMENT

pytestmark = pytest.mark.long

SECRET = "Zedmarlow"
WAREHOUSE = '''
"""The host's own part: a table of notes, and an asset that follows the released corpus."""

import os

import dagster as dg
import pandas as pd


@dg.asset(key_prefix="warehouse")
def notes() -> pd.DataFrame:
    return pd.read_json(os.environ["HOST_NOTES"], dtype=False)


@dg.asset(deps=[dg.AssetKey(["clinic_a", "deid", "released_corpus"])])
def study() -> None:
    pass


@dg.definitions
def resources():
    folder = os.environ["HOST_NOTES"] + ".d"
    return dg.Definitions(
        assets=[notes, study], resources={"io_manager": dg.FilesystemIOManager(base_dir=folder)}
    )
'''
CLINIC_A = {
    "notes": {
        "asset": "warehouse/notes",
        "id": "note_id",
        "text": "note_text",
        "patient": "person_id",
    },
    "key_prefix": ["clinic_a", "deid"],
    "detectors": ["stencil"],
    "policy": "tag",
    "gates": {"recall_lower_bound": 0.98},
    "automation": "eager",
    "settings": {"languages": ["en"], "release": {"require": "none"}},
}


def rows_of(records):
    """The table of the host, with the columns of its own."""
    return [
        {"note_id": one["id"], "note_text": one["text"], "person_id": n}
        for n, one in enumerate(records)
    ]


class Host:
    """A project of somebody else in a sandbox, and the Dagster instance that runs it."""

    def __init__(self, sandbox, instance, table):
        self.sandbox, self.instance, self.table = sandbox, instance, table
        (sandbox.defs_folder_path / "warehouse.py").write_text(WAREHOUSE)

    def declare(self, folder="deid", **attributes):
        """Write the component's file."""
        place = self.sandbox.defs_folder_path / folder
        place.mkdir(exist_ok=True)
        document = {"type": "deid_assets.DeidPipelineComponent", "attributes": attributes}
        (place / "defs.yaml").write_text(yaml.safe_dump(document))
        return place

    def fill(self, rows):
        """Write what the host's table holds."""
        self.table.write_text(json.dumps(rows))

    @contextmanager
    def loaded(self):
        """The project's definitions, validated as a code location is."""
        with self.sandbox.build_all_defs() as defs:
            defs.get_repository_def()
            yield defs

    def make(self, defs, *keys, partition=None):
        """Make assets in one run of the project."""
        return defs.resolve_implicit_global_asset_job_def().execute_in_process(
            asset_selection=[dg.AssetKey.from_user_string(key) for key in keys],
            instance=self.instance,
            partition_key=partition,
            raise_on_error=False,
        )

    def tick(self, defs, prefix):
        """Evaluate the landing sensor as the daemon does, and run what it asks for."""
        project = defs.get_repository_def()
        sensor = project.get_sensor_def(f"{prefix}__landing_sensor")
        resources = project.get_top_level_resources()
        with dg.build_sensor_context(
            instance=self.instance,
            instance_ref=self.instance.get_ref(),
            repository_def=project,
            resources={key: resources[key] for key in sensor.required_resource_keys},
        ) as context:
            data = sensor.evaluate_tick(context)
        for request in data.dynamic_partitions_requests or ():
            self.instance.add_dynamic_partitions(
                request.partitions_def_name, request.partition_keys
            )
        return [
            defs.resolve_job_def(request.job_name).execute_in_process(
                partition_key=request.partition_key, instance=self.instance, raise_on_error=False
            )
            for request in data.run_requests
        ]


def refusal_of(host):
    """Return what is said of a project that does not load, with its causes."""
    said = []
    with (
        pytest.raises(Exception, match="rror") as caught,
        host.loaded(),
    ):  # Dagster's own around ours
        pass
    error = caught.value
    while error:
        said.append(str(error))
        error = error.__cause__
    return "\n".join(said)


def failure_of(result):
    (step,) = [event for event in result.all_events if event.is_step_failure]
    return step.step_failure_data.user_failure_data.description


def released(home):
    return [
        json.loads(line)
        for path in sorted((home / "released").glob("*/notes.jsonl"))
        for line in path.read_text().splitlines()
    ]


@pytest.fixture
def host(tmp_path, detector_site, monkeypatch):
    """A project without a component yet."""
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, os.environ.get(name, "1"))
    monkeypatch.setenv("HOST_NOTES", str(tmp_path / "notes.json"))
    with (
        create_defs_folder_sandbox() as sandbox,
        dg.DagsterInstance.local_temp(str(tmp_path)) as instance,
    ):
        yield Host(sandbox, instance, tmp_path / "notes.json")


def test_a_table_of_the_project_becomes_a_released_corpus(host, note_records):
    host.declare(**CLINIC_A)
    host.fill(rows_of(note_records(gold=False)))
    home = host.sandbox.project_root / ".deid" / "clinic_a__deid"

    with host.loaded() as defs:
        made = host.make(defs, "warehouse/notes", "clinic_a/deid/landed_notes")
        assert made.success
        (run,) = host.tick(defs, "clinic_a__deid")
        assert run.success
        assert host.tick(defs, "clinic_a__deid") == []

        assert len(released(home)) == 8
        assert SECRET not in json.dumps(released(home))
        assert (home.parent / ".gitignore").read_text().endswith("*\n")
        assert host.make(defs, "study").success

        # The same table again brings nothing, a changed and a new row two notes, and says so.
        rows = rows_of(note_records(gold=False))
        host.fill([{**rows[0], "note_text": rows[0]["note_text"] + "Later well."}, *rows[2:], NEW])
        again = host.make(defs, "warehouse/notes", "clinic_a/deid/landed_notes")
        counts = counts_of(again, "clinic_a/deid/landed_notes")
        assert counts == {"rows": 8, "new": 1, "changed": 1, "unchanged": 6, "gone": 1}
        (check,) = [
            one for one in again.get_asset_check_evaluations() if one.check_name != "ids_usable"
        ]
        assert not check.passed
        assert "deid batches withdraw" in check.metadata["reasons"].value
        (second,) = host.tick(defs, "clinic_a__deid")
        assert second.success
        assert len(released(home)) == 10

        unchanged = host.make(defs, "clinic_a/deid/landed_notes")
        assert counts_of(unchanged, "clinic_a/deid/landed_notes")["unchanged"] == 8
        assert host.tick(defs, "clinic_a__deid") == []


NEW = {"note_id": "note-99", "note_text": "Zedquill, record 4000099. Well.", "person_id": 99}


def counts_of(result, asset):
    (event,) = [
        event
        for event in result.get_asset_materialization_events()
        if event.asset_key.to_user_string() == asset
    ]
    metadata = event.materialization.metadata
    names = ("rows", "new", "changed", "unchanged", "gone")
    return {name: metadata[name].value for name in names}


def test_when_the_table_is_made_its_rows_are_asked_for_by_themselves(host, note_records):
    host.declare(**CLINIC_A)
    host.fill(rows_of(note_records(gold=False)))

    with host.loaded() as defs:
        cursor = dg.evaluate_automation_conditions(defs, instance=host.instance).cursor
        host.make(defs, "warehouse/notes")
        found = dg.evaluate_automation_conditions(defs, instance=host.instance, cursor=cursor)

        assert found.get_num_requested(dg.AssetKey(["clinic_a", "deid", "landed_notes"])) == 1
        (automation,) = [one for one in defs.sensors if one.name == "clinic_a__deid__automation"]
        assert automation.default_status is dg.DefaultSensorStatus.RUNNING


def test_a_table_that_is_older_than_the_component_is_taken_too(host, note_records):
    host.declare(**CLINIC_A)
    host.fill(rows_of(note_records(gold=False)))
    landed = dg.AssetKey(["clinic_a", "deid", "landed_notes"])

    with host.loaded() as defs:
        empty = dg.evaluate_automation_conditions(defs, instance=host.instance)
        host.make(defs, "warehouse/notes")
        first = dg.evaluate_automation_conditions(defs, instance=host.instance)
        host.make(defs, landed.to_user_string())
        taken = dg.evaluate_automation_conditions(defs, instance=host.instance)

    assert [one.get_num_requested(landed) for one in (empty, first, taken)] == [0, 1, 0]


def test_two_installations_stand_in_one_project_and_share_nothing(host, note_records):
    host.declare("first", **CLINIC_A)
    second = {**CLINIC_A, "key_prefix": "clinic_b", "policy": "blackout", "automation": "manual"}
    second.pop("notes")
    host.declare("second", **second)

    with host.loaded() as defs:
        names = [one.name for one in (*defs.jobs, *defs.sensors, *defs.schedules)]
        own = [spec for spec in defs.resolve_all_asset_specs() if len(spec.key.path) > 1]
        partitions = {spec.partitions_def.name for spec in own if spec.partitions_def}

        assert len(names) == len(set(names))
        assert partitions == {"clinic_a__deid__batches", "clinic_b__batches"}
        assert defs.executor is None
        assert {name for name in defs.resources if "__" not in name} == {"io_manager"}
        for name in ("clinic_a__deid__main_job", "clinic_b__main_job"):
            keys = defs.resolve_job_def(name).asset_layer.executable_asset_keys
            assert {key.path[0] for key in keys} == {name.partition("__")[0]}

        landing = host.sandbox.project_root / ".deid" / "clinic_b" / "landing"
        landing.mkdir(parents=True)
        lines = (json.dumps(record) + "\n" for record in note_records(20, gold=False))
        (landing / "notes.jsonl").write_text("".join(lines))
        os.utime(landing / "notes.jsonl", (0, 0))
        (run,) = host.tick(defs, "clinic_b")
        assert run.success
        assert len(released(landing.parent)) == 8
        assert host.instance.get_dynamic_partitions("clinic_a__deid__batches") == []


FAULTS = {
    "an unknown detector": (
        {"detectors": ["stencill"]},
        "detectors: no detector 'stencill' is installed",
    ),
    "an unknown policy": ({"policy": "tagg"}, "policy: there is no policy 'tagg'; did you mean"),
    "a gate out of range": ({"gates": {"recall_lower_bound": 98}}, "gates.recall_lower_bound.ALL:"),
    "a setting that an attribute says": (
        {"settings": {"ensemble": ["rules"]}},
        "settings.ensemble: is said by the attribute 'detectors'; move it there",
    ),
    "a setting that is none": ({"settings": {"langages": ["en"]}}, "langages: there is no such"),
    "a prefix that names nothing": ({"key_prefix": ["a__b"]}, "key_prefix: 'a__b' cannot begin"),
    "no prefix": ({"key_prefix": []}, "key_prefix: is empty"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_attribute_is_named_with_its_file_and_a_remedy(host, fault):
    wrong, told = FAULTS[fault]
    host.declare(**{**CLINIC_A, **wrong})

    said = refusal_of(host)

    assert told in said
    assert f"{host.sandbox.project_name}/defs/deid/defs.yaml: " in said


def test_an_attribute_that_does_not_exist_is_refused(host):
    host.declare(**CLINIC_A, detektors=["stencil"])

    assert "detektors" in refusal_of(host)


def test_two_installations_in_one_home_are_refused(host):
    host.declare("first", **CLINIC_A, home="state")
    host.declare("second", **{**CLINIC_A, "key_prefix": "clinic_b"}, home="state")

    said = refusal_of(host)

    assert "second/defs.yaml: home: " in said
    assert "is run under the key prefix clinic_a/deid, and two installations" in said


def doubled(rows):
    return [*rows, rows[0]]


def without_ids(rows):
    return [{**rows[0], "note_id": None}, *rows[1:]]


def renamed(rows):
    return [{"note_txt" if key == "note_text" else key: one[key] for key in one} for one in rows]


def numbers(rows):
    return [{**one, "note_text": 7} for one in rows]


TABLES = {
    "a missing column": (renamed, "notes.text: warehouse/notes has no column 'note_text'"),
    "duplicate ids": (doubled, "notes.id: 2 rows of warehouse/notes share their id"),
    "no id": (without_ids, "notes.id: 1 rows of warehouse/notes have no id"),
    "numbers as text": (numbers, "notes.text: column 'note_text' of warehouse/notes holds a int"),
}


def test_a_table_that_cannot_be_taken_is_named_with_a_remedy_and_lands_nothing(host, note_records):
    host.declare(**CLINIC_A)
    rows = rows_of(note_records(gold=False))
    landed = "clinic_a/deid/landed_notes"

    with host.loaded() as defs:
        early = failure_of(host.make(defs, landed))
        assert "notes.asset: warehouse/notes was never materialized; materialize it" in early
        for name, (spoil, told) in TABLES.items():
            host.fill(spoil(rows))
            assert host.make(defs, "warehouse/notes").success
            said = failure_of(host.make(defs, landed))
            assert told in said, name
            assert SECRET not in said
        assert host.tick(defs, "clinic_a__deid") == []


def test_an_asset_that_is_not_there_is_named_with_a_remedy(host):
    host.declare(**{**CLINIC_A, "notes": {**CLINIC_A["notes"], "asset": "warehouse/notez"}})

    with host.loaded() as defs:
        said = failure_of(host.make(defs, "clinic_a/deid/landed_notes"))

    assert "notes.asset: this project has no asset 'warehouse/notez'" in said


SUBCLASS = '''
import dagster as dg

from deid_assets import DeidPipelineComponent

STEPS = []


class Ours(DeidPipelineComponent):
    """With an owner, and a list of what ran."""

    def get_asset_spec(self, spec):
        return spec.replace_attributes(owners=["team:data"], group_name="privacy_office")

    def execute(self, context, events):
        STEPS.append(context.asset_key.path[-1])
        yield from super().execute(context, events)
'''


def test_a_subclass_changes_what_is_shown_and_what_runs_around_a_step(host, note_records):
    place = host.declare(**CLINIC_A)
    host.fill(rows_of(note_records(gold=False)))
    package = host.sandbox.defs_folder_path.parent
    (package / "ours.py").write_text(SUBCLASS)
    document = yaml.safe_load((place / "defs.yaml").read_text())
    document["type"] = f"{host.sandbox.project_name}.ours.Ours"
    document["post_processing"] = {
        "assets": [{"target": "*", "attributes": {"tags": {"phi": "1"}}}]
    }
    (place / "defs.yaml").write_text(yaml.safe_dump(document))

    with host.loaded() as defs:
        import sys

        specs = {spec.key.path[-1]: spec for spec in defs.resolve_all_asset_specs()}
        assert specs["released_corpus"].owners == ["team:data"]
        assert specs["released_corpus"].group_name == "privacy_office"
        assert specs["released_corpus"].tags["phi"] == "1"
        main = defs.resolve_job_def("clinic_a__deid__main_job").asset_layer.executable_asset_keys
        assert "leaderboard" not in {key.path[-1] for key in main}

        assert host.make(defs, "warehouse/notes", "clinic_a/deid/landed_notes").success
        steps = sys.modules[f"{host.sandbox.project_name}.ours"].STEPS
        assert steps == ["landed_notes"]


def test_a_subclass_may_not_move_an_asset(host):
    place = host.declare(**CLINIC_A)
    body = SUBCLASS.replace(
        'owners=["team:data"], group_name="privacy_office"', 'key=spec.key.with_prefix("x")'
    )
    (host.sandbox.defs_folder_path.parent / "ours.py").write_text(body)
    document = yaml.safe_load((place / "defs.yaml").read_text())
    document["type"] = f"{host.sandbox.project_name}.ours.Ours"
    (place / "defs.yaml").write_text(yaml.safe_dump(document))

    assert "change key_prefix instead" in refusal_of(host)


def test_what_is_scaffolded_has_three_to_six_lines_and_loads(host):
    place = host.sandbox.scaffold_component(
        component_cls=DeidPipelineComponent,
        defs_path="clinic-a",
        scaffold_params={"notes": "warehouse/notes"},
    )
    folder = host.sandbox.scaffold_component(
        component_cls=DeidPipelineComponent, defs_path="7_folder"
    )

    assert place.joinpath("defs.yaml").read_text().splitlines() == [
        "type: deid_assets.DeidPipelineComponent",
        "attributes:",
        "  notes: {asset: warehouse/notes, id: note_id, text: note_text, patient: person_id}",
        "  key_prefix: [clinic_a]",
        "  automation: eager",
    ]
    assert len(folder.joinpath("defs.yaml").read_text().splitlines()) == 4
    pytest.importorskip("deid_compact", reason="the default detector")
    with host.loaded() as defs:
        keys = {spec.key.to_user_string() for spec in defs.resolve_all_asset_specs()}
    assert {"clinic_a/landed_notes", "deid_7_folder/landing"} <= keys


def test_an_editor_is_told_what_each_attribute_and_gate_is():
    schema = DeidPipelineComponent.get_model_cls().model_json_schema()
    gates = schema["$defs"]["GatesModel"]["properties"]

    described = {**schema["properties"], **gates}
    assert [name for name, one in described.items() if not one.get("description")] == []
    assert schema["properties"]["automation"]["anyOf"][0]["enum"] == ["manual", "eager", "host"]


def test_python_says_the_same_as_yaml(tmp_path, host):
    settings = Settings(
        home=tmp_path / "home",
        ensemble=("stencil",),
        policies=("tag",),
        release_policy="tag",
        recipes=(),
        release=ReleaseSettings(require="none"),
    )

    defs = deid_assets.build_definitions(settings, key_prefix=["ward", "deid"])

    keys = {spec.key.to_user_string() for spec in defs.resolve_all_asset_specs()}
    assert {"ward/deid/landing", "ward/deid/released_corpus"} <= keys
    assert all(key.startswith("ward/deid/") for key in keys)
    assert all(name.startswith("ward__deid__") for name in defs.resources)
    assert Path(settings.home / "settings.json").exists()
