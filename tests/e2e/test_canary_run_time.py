"""Canaries while something fails at run time.

Each installed plugin, a replacer, a model, under an open umask too.
"""

from __future__ import annotations

import json
import os
import stat

import dagster as dg
import pytest
from canaries import META, NAME, PATIENT, SETTINGS, WORD, Replacer, drop, leaks, search
from tiny_models import options_of

from deid_assets import plugins
from deid_assets.core.errors import PluginError
from deid_assets.core.redact import Policy
from deid_assets.defs.vaulting import build_redacted_notes

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]

INSTALLED = sorted(name for name, plugin in plugins.available().items() if not plugin.fault)
ERRORS = [
    "KeyboardInterrupt",
    "SystemExit",
    "GeneratorExit",
    "CancelledError",
    "Panic",
    "Panic",
    "DagsterExecutionInterruptedError",
    "WorkerDied",
]


@pytest.mark.parametrize("plugin", INSTALLED)
def test_a_plugin_that_talks_and_fails_after_its_work_leaks_nothing(
    nest, note_records, plugin, capfd, tmp_path
):
    """The plugin itself reads every note with all logging on, then what it read is told, and one of
    eight errors raised.
    """
    (tmp_path / "model").mkdir()
    options = options_of(plugin, tmp_path / "model")
    try:
        plugins.load(plugin, options=options)
    except PluginError:
        pytest.skip("its model, which is no folder, is not here")
    settings = (
        f'[detectors.leaky]\nmode = "talk_and_each"\non = "record 400000"\nasked = "{plugin}"\n'
    )
    settings += "".join(
        f"options.{name} = {json.dumps(value)}\n" for name, value in options.items()
    )
    nest.configure(SETTINGS.replace("quarantined = 0.5", "quarantined = 1.0") + settings)
    batch = drop(nest, note_records)
    capfd.readouterr()

    result = nest.run(batch, "raw_notes", "gold_annotations", "spans_leaky")

    out, err = capfd.readouterr()
    shown = "\n".join(nest.failures(result).values())
    assert leaks(nest, stdout=out, stderr=err, failures=shown) == set()
    assert (
        nest.opened().files.read("spans_leaky", batch, "failed").column("error").to_pylist()
        == ERRORS
    )


HOW = ("quote", "chain", "named", "panic", "exit", "close", "cancel", "alarm", "tell")


def test_a_replacer_that_raises_or_talks_with_text_leaks_nothing(nest, note_records, capfd):
    batch = drop(nest, note_records)
    nest.run(batch, "raw_notes", "gold_annotations", "spans_leaky", "merged_spans")
    for how in HOW:
        policy = Policy("tag", default=Replacer(how), actions={})
        capfd.readouterr()

        result = dg.materialize(
            [build_redacted_notes(nest.settings(), policy, released=policy)],
            partition_key=batch,
            instance=nest.instance,
            resources=nest.definitions().resources,
            raise_on_error=False,
        )

        out, err = capfd.readouterr()
        shown = "\n".join(nest.failures(result).values())
        assert leaks(nest, stdout=out, stderr=err, failures=shown) == set(), how
        assert result.success == (how == "tell"), (how, shown)
        if how not in ("tell", "alarm"):  # that interrupts the run
            assert "quarantine_share" in shown, how


def test_a_replacer_that_aborts_stops_its_batch_alone(nest, note_records, capfd):
    batch = drop(nest, note_records)
    nest.run(batch, "raw_notes", "gold_annotations", "spans_leaky", "merged_spans")
    policies = [Policy(name, default=Replacer("abort"), actions={}) for name in ("tag", "other")]

    result = dg.materialize(
        [build_redacted_notes(nest.settings(), policies[0], released=policies[1])],
        partition_key=batch,
        instance=nest.instance,
        resources=nest.definitions().resources,
        raise_on_error=False,
    )

    out, err = capfd.readouterr()
    shown = "\n".join(nest.failures(result).values())
    assert "a worker process ended early" in shown
    assert leaks(nest, stdout=out, stderr=err, failures=shown) == set()


def test_no_file_that_holds_note_text_is_open_to_others_under_umask_000(
    nest, note_records, monkeypatch
):
    before = os.umask(0)
    try:
        monkeypatch.setenv("DEID_VAULT_KEY", "6c" * 32)
        vault = (
            f'[vault]\nurl = "sqlite:///{nest.root / "vault" / "vault.db"}"\nrequire_patient ='
            " false\n"
        )
        nest.configure(SETTINGS + vault)
        batch = drop(nest, note_records)
        assert nest.failures(nest.run(batch)) == {}
        nest.run_scores()
    finally:
        os.umask(before)
    found = {
        where
        for _, where in search((NAME, META, PATIENT), [nest.root.parent])
        if not where.startswith("name of")
    }
    redacted = {
        where for _, where in search((WORD,), [nest.root.parent]) if not where.startswith("name of")
    }
    public = (str(nest.home / "released"), str(nest.store / "published"))
    holding = found | {where for where in redacted if not where.startswith(public)}

    assert len(holding) > 3
    assert not {where for where in found if where.startswith(public)}
    assert [where for where in holding if stat.S_IMODE(os.lstat(where).st_mode) & 0o077] == []
