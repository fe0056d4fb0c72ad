"""A run that stops while it publishes leaves the old release or the new one, and says which."""

import shutil
import sqlite3

import pytest

from deid_assets.store import database
from deid_assets.store.manifests import verify_release
from deid_assets.store.withdrawals import Withdrawals

pytestmark = pytest.mark.long


def release_another(installation):
    """Settings under which the shipped batch is released anew, all of it made but the release."""
    installation.configure(
        installation.default_settings.replace(
            'release_policy = "tag"', 'release_policy = "blackout"'
        )
    )
    chain = (
        "raw_notes",
        "gold_annotations",
        "spans_stencil",
        "merged_spans",
        "redacted_notes_blackout",
        "quarantine",
    )
    assert (
        installation.failures(installation.run(installation.batch, *chain, "release_report")) == {}
    )


def released(installation):
    folder = installation.home / "released" / installation.batch
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def policy_of(installation):
    """Policy of what is released, checked."""
    return installation.opened().releases.check(installation.batch)["policy"]["name"]


def run_release(installation):
    return installation.failures(installation.run(installation.batch, "released_corpus"))


def test_a_locked_database_stops_before_anything_is_released_and_says_so(shipped, monkeypatch):
    release_another(shipped)
    before = released(shipped)
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0)
    holder = sqlite3.connect(shipped.home / "deid.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")

    failures = run_release(shipped)

    assert "the tables are stored and nothing was released" in failures["released_corpus"]
    assert released(shipped) == before
    holder.close()
    assert run_release(shipped) == {}
    assert policy_of(shipped) == "blackout"


def test_a_database_that_is_gone_stops_before_anything_is_released_and_says_so(
    shipped, monkeypatch
):
    pytest.importorskip("psycopg")
    release_another(shipped)
    before = released(shipped)
    with monkeypatch.context() as patch:
        patch.setenv("DEID_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
        failures = run_release(shipped)

    assert "nothing was released" in failures["released_corpus"]
    assert "nothing was stored" not in failures["released_corpus"]
    assert released(shipped) == before
    assert run_release(shipped) == {}
    assert policy_of(shipped) == "blackout"


def test_another_asset_that_cannot_be_recorded_does_not_say_that_nothing_was_stored(
    shipped, monkeypatch
):
    monkeypatch.setenv("DEID_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")

    failures = shipped.failures(shipped.run(shipped.batch, "raw_notes"))

    assert "the tables are stored and not all was recorded" in failures["raw_notes"]


@pytest.mark.slow
def test_a_kill_before_every_file_operation_of_a_release_is_mended_by_the_next_run(
    shipped, killed_at, tmp_path
):
    release_another(shipped)
    shutil.copytree(shipped.root, tmp_path / "start")
    seen, step, died = set(), 0, True
    while died:
        step += 1
        shutil.rmtree(shipped.root)
        shutil.copytree(tmp_path / "start", shipped.root)
        died = killed_at(step, lambda: run_release(shipped))

        shipped.opened().releases.sweep()
        verify_release(
            shipped.home / "released" / shipped.batch, key=shipped.opened().release_signer.public
        )
        seen.add(policy_of(shipped))
        assert run_release(shipped) == {}, f"killed before operation {step}"
        assert policy_of(shipped) == "blackout"
        assert not [*(shipped.home / "released").rglob(".*")]

    assert step > 20
    assert seen == {"tag", "blackout"}


def test_nothing_is_stored_of_a_batch_that_is_withdrawn_while_it_is_made(shipped):
    files = shipped.opened().files
    before = files.receipt("quarantine", shipped.batch).created_at
    Withdrawals(files).record(shipped.batch, {"notes": 8, "withheld": 0})

    failures = shipped.failures(shipped.run(shipped.batch, "quarantine"))

    assert "was withdrawn meanwhile" in failures["quarantine"]
    assert files.receipt("quarantine", shipped.batch).created_at == before
