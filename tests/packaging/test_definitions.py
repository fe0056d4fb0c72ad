"""The code location as a whole: valid, described, and as the golden file says."""

import json
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from deid_assets import plugins
from deid_assets.config import Settings
from deid_assets.defs.build import definitions_of_settings

GOLDEN = Path(__file__).with_name("definitions.json")
DETECTORS = ("compact", "crf", "presidio", "rules")
AUDITS = ("hips",)


@pytest.fixture(scope="module")
def defs():
    found = plugins.available() | plugins.available(plugins.AUDITS)
    if missing := [name for name in (*DETECTORS, *AUDITS) if name not in found]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    return built()


def built():
    found, audits = plugins.available(), plugins.available(plugins.AUDITS)
    return definitions_of_settings(
        Settings(),
        plugins={name: found[name] for name in DETECTORS},
        audits={name: audits[name] for name in AUDITS},
    )


def described(defs):
    """The graph without what changes with every edit, such as code versions."""
    graph = defs.resolve_asset_graph()
    return {
        "assets": {
            node.key.to_user_string(): {
                "group": node.group_name,
                "kinds": sorted(node.kinds),
                "deps": sorted(key.to_user_string() for key in node.parent_keys),
                "partitions": node.partitions_def.name if node.partitions_def else None,
                "automatic": node.automation_condition is not None,
                "checks": {
                    key.name: graph.get_check_spec(key).blocking for key in sorted(node.check_keys)
                },
            }
            for node in sorted(graph.asset_nodes, key=lambda node: node.key)
        },
        "jobs": sorted(job.name for job in defs.jobs),
        "sensors": {sensor.name: sensor.default_status.value for sensor in defs.sensors},
        "schedules": {schedule.name: schedule.default_status.value for schedule in defs.schedules},
        "resources": sorted(defs.resources),
    }


def test_the_graph_is_the_one_on_file(defs):
    """After a change on purpose.

    Python tests/packaging/test_definitions.py writes the file anew.
    """
    assert described(defs) == json.loads(GOLDEN.read_text())


def made_here(defs):
    return [spec for spec in defs.resolve_all_asset_specs() if spec.key != dg.AssetKey("landing")]


def test_every_asset_is_described(defs):
    for spec in made_here(defs):
        name = spec.key.to_user_string()
        assert spec.group_name != "default", name
        assert spec.kinds, name
        assert len(spec.kinds) <= 3, name
        assert len(spec.description or "") > 20, name
        assert spec.code_version, name
        assert spec.metadata["dagster/column_schema"].columns, name


def test_every_check_is_described_and_partitioned_like_its_asset(defs):
    graph = defs.resolve_asset_graph()
    for key in graph.asset_check_keys:
        spec = graph.get_check_spec(key)
        assert spec.description, key
        assert spec.partitions_def == graph.get(key.asset_key).partitions_def, key


def test_all_partitions_are_the_same_batches(defs):
    assert {spec.partitions_def.name for spec in made_here(defs) if spec.partitions_def} == {
        "batches"
    }


def test_a_run_per_batch_whatever_the_backfill(defs):
    assert all(
        asset.backfill_policy is None
        for asset in defs.assets
        if isinstance(asset, dg.AssetsDefinition)
    )


@pytest.mark.slow
def test_dagster_validates_the_workspace(root, tmp_path):
    dagster = Path(sys.executable).with_name("dagster")
    done = subprocess.run(
        [str(dagster), "definitions", "validate", "-w", "workspace.yaml"],
        check=False,
        capture_output=True,
        text=True,
        cwd=root,
        env={"PATH": str(dagster.parent), "DEID_HOME": str(tmp_path), "HOME": str(tmp_path)},
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert "All code locations passed validation" in done.stdout + done.stderr


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(described(built()), indent=1, sort_keys=True) + "\n")
