"""Pools: who shares a slot, and what Dagster does where there is none."""

import threading

import dagster as dg
import pytest

from deid_assets import plugins
from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.defs.build import definitions_of_settings
from deid_assets.defs.instance import write_instance


def pools_of(defs):
    return {
        key.to_user_string(): asset.op.pool
        for asset in defs.assets
        if isinstance(asset, dg.AssetsDefinition)
        for key in asset.keys
        if asset.op.pool
    }


def test_a_detector_takes_the_pool_that_the_settings_name(installation):
    assert pools_of(installation.definitions()) == {}
    installation.configure(installation.default_settings + '[pools]\nstencil = "gpu"\n')
    assert pools_of(installation.definitions()) == {"spans_stencil": "gpu"}


def test_a_plugin_that_needs_an_accelerator_takes_the_gpu_unless_the_settings_say_otherwise(
    installation, write_detector, tmp_path, monkeypatch
):
    site = tmp_path / "more"
    write_detector(site, "heavy")
    with (site / "deid_heavy-1.0.dist-info" / "METADATA").open("a") as file:
        file.write("Keywords: network,needs-accelerator\n")
    monkeypatch.syspath_prepend(site)
    found = plugins.available()
    chosen = {name: found[name] for name in ("stencil", "heavy")}

    def pools():
        return pools_of(definitions_of_settings(installation.settings(), plugins=chosen))

    assert pools() == {"spans_heavy": "gpu"}
    installation.configure(installation.default_settings + '[pools]\nheavy = ""\n')
    assert pools() == {}


def test_a_name_that_is_no_pool_is_refused():
    with pytest.raises(ConfigError, match=r"pools\.rules"):
        Settings.of({"pools": {"rules": "My GPU"}}, str)


@pytest.mark.long
def test_a_step_waits_for_the_slot_of_its_pool_and_goes_on_when_it_is_free(
    installation, note_records
):
    """Dagster's own behaviour, under the ``dagster.yaml`` that is written."""
    installation.configure(installation.default_settings + '[pools]\nstencil = "gpu"\n')
    batch = installation.receive(note_records())
    home = write_instance(installation.dagster_home)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        installation.instance = instance
        assert installation.failures(installation.run(batch, "raw_notes")) == {}
        slots = instance.event_log_storage
        slots.initialize_concurrency_limit_to_default("gpu")
        slots.claim_concurrency_slot("gpu", "another-run", "another-step")
        ended = threading.Event()

        def detect():
            installation.run(batch, "spans_stencil", job="detector__stencil")
            ended.set()

        threading.Thread(target=detect, daemon=True).start()
        while not slots.get_concurrency_info("gpu").pending_step_count:
            assert not ended.wait(0.1)
        assert installation.opened().files.find("spans_stencil", batch) is None
        slots.free_concurrency_slots_for_run("another-run")
        ended.wait()
        assert installation.opened().files.find("spans_stencil", batch) is not None
