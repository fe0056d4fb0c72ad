"""A home of an earlier version is refused, and made ready in one step."""

import json
import shutil

import pytest
import typer

from deid_assets.cli.installation.migration import migrate
from deid_assets.config import Settings
from deid_assets.core.errors import ConfigError
from deid_assets.intake.arrivals import try_again
from deid_assets.intake.landing import take_in
from deid_assets.intake.reader import landing_folder
from deid_assets.intake.states import open_batches
from deid_assets.store.files import StoreFiles
from deid_assets.store.generation import check_store
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.releases import ReleaseList
from deid_assets.store.signing import ReleaseSigner
from deid_assets.store.withdrawals import Withdrawals

ARRIVED = {
    "b-0000000000000001/one.jsonl": True,
    "b-0000000000000002-0001/notes.drafts": False,
    "b-0000000000000002-0002/notes.drafts": False,
    ".whole/b-0000000000000002/large.jsonl": True,
    ".large/b-0000000000000003/waiting.jsonl": True,
    ".large/b-0000000000000003.part/b-0000000000000003-0001/notes.drafts": False,
    ".b-0000000000000004/moving.jsonl": True,
}
"""Files below the landing folder of the store to whether they arrived as they are."""


@pytest.fixture
def old_home(tmp_path, monkeypatch):
    """As an earlier version left it: batches under plain digests, and no mark of a generation."""
    home = tmp_path / "old"
    for batch in ("b-1", "b-2"):
        arrived = home / "store" / "restricted" / "landing" / batch
        arrived.mkdir(parents=True)
        (arrived / "notes.jsonl").write_text(batch)
    (home / "released" / "b-1").mkdir(parents=True)
    monkeypatch.setenv("DEID_HOME", str(home))
    return home


def test_a_store_of_an_earlier_version_is_refused_with_the_remedy(old_home):
    with pytest.raises(ConfigError, match="run `deid migrate`"):
        StoreFiles(old_home / "store", key=b"0123456789abcdef")


def test_what_arrived_lands_again_and_the_rest_is_set_aside(deid, old_home):
    ran = deid("migrate")

    assert ran.code == 0
    assert "2 arrivals" in ran.err
    assert "take back releases" in ran.err
    assert {path.read_text() for path in (old_home / "landing").iterdir()} == {"b-1", "b-2"}
    assert not (old_home / "store").exists()
    assert not (old_home / "released").exists()
    assert (old_home / "before-migration" / "released" / "b-1").is_dir()
    assert (old_home / "before-migration").stat().st_mode & 0o077 == 0
    StoreFiles(old_home / "store", key=b"0123456789abcdef")
    assert "nothing to migrate" in deid("migrate").err


def test_of_what_was_split_the_whole_lands_again_and_no_part(deid, tmp_path, monkeypatch):
    home = tmp_path / "second"
    for name in ARRIVED:
        file = home / "store" / "restricted" / "landing" / name
        file.parent.mkdir(parents=True)
        file.write_text(name)
    (home / "store" / "generation").write_text("2\n")
    monkeypatch.setenv("DEID_HOME", str(home))

    ran = deid("migrate")

    assert ran.code == 0
    assert "take back releases" not in ran.err
    landed = {path.read_text() for path in (home / "landing").rglob("*") if path.is_file()}
    assert landed == {name for name, has_arrived in ARRIVED.items() if has_arrived}


@pytest.fixture
def withdrawn_home(tmp_path, monkeypatch):
    """An installation with a released, a withdrawn and a brought back batch, marked as of an
    earlier generation.
    """
    home = tmp_path / "third"
    monkeypatch.setenv("DEID_HOME", str(home))
    settings = Settings.load()
    settings.landing.mkdir(parents=True)
    for name in ("stays", "goes", "returns"):
        (settings.landing / f"{name}.jsonl").write_text(f'{{"id": "{name}", "text": "{name}"}}\n')
    batch_of = {}
    for batch in take_in(settings, settle_s=0):
        (path,) = landing_folder(settings, batch).iterdir()
        batch_of[path.stem] = batch
    files = StoreFiles(settings.store, key=settings.receipt_key())
    withdrawals = Withdrawals(files)
    releases = ReleaseFolders(
        settings.released,
        record=settings.release_record,
        signer=ReleaseSigner(settings.key()),
        withdrawals=withdrawals,
    )
    for batch in batch_of.values():
        releases.publish(batch, {}, {"batch": batch, "created_at": "2026-01-01", "files": {}})
    for name in ("goes", "returns"):
        releases.withdraw(
            record=lambda name=name: withdrawals.record(batch_of[name], {"notes": 1, "withheld": 0})
        )
    returning = batch_of["returns"]
    try_again(files, returning, {}, landing=landing_folder(settings, returning))
    (settings.store / "generation").write_text("2\n")
    return settings, batch_of


def test_what_was_withdrawn_stays_withdrawn_and_the_list_of_releases_goes_on(deid, withdrawn_home):
    settings, batch_of = withdrawn_home

    ran = deid("migrate")

    assert ran.code == 0
    assert f"{batch_of['goes']} stays withdrawn" in ran.err
    assert sorted(path.name for path in settings.landing.iterdir()) == [
        "returns.jsonl",
        "stays.jsonl",
    ]
    files = StoreFiles(settings.store, key=settings.receipt_key())
    assert Withdrawals(files).batches() == [batch_of["goes"]]
    assert len(take_in(settings, settle_s=0)) == 2
    assert open_batches(settings, files) == sorted([batch_of["stays"], batch_of["returns"]])
    listed = ReleaseList.read(settings.release_record, key=ReleaseSigner(settings.key()).public)
    assert [entry.number for entry in listed.entries] == [1, 2, 3, 4, 5]
    assert listed.list_withdrawn() == {batch_of["goes"], batch_of["returns"]}


def test_the_same_file_dropped_again_after_a_migration_stays_withdrawn(deid, withdrawn_home):
    settings, _ = withdrawn_home
    deid("migrate")

    (settings.landing / "copy.jsonl").write_text('{"id": "goes", "text": "goes"}\n')
    taken = take_in(settings, settle_s=0)

    assert len(taken) == 2
    assert not (settings.landing / "copy.jsonl").exists()


def test_releases_under_ids_without_a_key_count_as_withdrawn_in_the_list(deid, withdrawn_home):
    settings, batch_of = withdrawn_home
    (settings.store / "generation").unlink()

    deid("migrate")

    listed = ReleaseList.read(settings.release_record, key=ReleaseSigner(settings.key()).public)
    assert listed.list_withdrawn() == set(batch_of.values())


@pytest.mark.parametrize("part", ["b-0000000000000002-0001", "b-0000000000000002-0002"])
def test_of_an_arrival_with_a_withdrawn_part_nothing_lands_again(deid, tmp_path, monkeypatch, part):
    home = tmp_path / "fourth"
    for name in ARRIVED:
        file = home / "store" / "restricted" / "landing" / name
        file.parent.mkdir(parents=True)
        file.write_text(name)
    record = home / "store" / "internal" / "withdrawn" / part / "receipt.json"
    record.parent.mkdir(parents=True)
    record.write_text("{}")
    (home / "store" / "generation").write_text("2\n")
    monkeypatch.setenv("DEID_HOME", str(home))

    ran = deid("migrate")

    assert f"{part} is withdrawn, a part of a larger arrival" in ran.err
    landed = {path.name for path in (home / "landing").rglob("*") if path.is_file()}
    assert "large.jsonl" not in landed
    assert len(landed) == 3


def end_of(home, key):
    """What a migration leaves: files with their content, of receipts what no clock decides."""
    found = {}
    for path in sorted(home.rglob("*")):
        name = str(path.relative_to(home))
        if path.name.startswith(".tmp-"):
            continue  # a later run removes it
        if path.is_dir():
            found[name] = ""
        elif path.name == "receipt.json" and not name.startswith("before-migration"):
            receipt = json.loads(path.read_bytes())
            found[name] = sorted(receipt["inputs"]), receipt["counts"] | {"arrived_at": ""}
        elif path.name == "releases.json" and not name.startswith("before-migration"):
            entries = ReleaseList.read(path, key=key).entries
            found[name] = [(entry.number, entry.batch, bool(entry.manifest)) for entry in entries]
        elif path.suffix != ".parquet" or name.startswith("before-migration"):
            found[name] = path.read_bytes()
    return {name: left for name, left in found.items() if ".parquet" not in name}


def run_migration():
    with pytest.raises(typer.Exit) as ended:
        migrate()
    assert ended.value.exit_code == 0


@pytest.mark.parametrize(
    ("keyless", "share"),
    [
        (False, 9),
        (True, 14),
        pytest.param(False, 1, marks=pytest.mark.slow),
        pytest.param(True, 1, marks=pytest.mark.slow),
    ],
)
def test_a_migration_that_is_killed_goes_on_and_loses_no_withdrawal(
    withdrawn_home, tmp_path, killed_at, keyless, share
):
    settings, batch_of = withdrawn_home
    if keyless:
        (settings.store / "generation").unlink()
    home, start = settings.home, tmp_path / "start"
    key = ReleaseSigner(settings.key()).public
    (home / "dagster").mkdir()
    shutil.copytree(home, start)
    run_migration()
    wanted = end_of(home, key)
    for step in range(1, 1000, share):
        shutil.rmtree(home)
        shutil.copytree(start, home)
        died = killed_at(step, run_migration)
        if died:
            with pytest.raises(ConfigError, match="run `deid migrate`"):
                check_store(settings.store)
            run_migration()
        assert end_of(home, key) == wanted, f"killed before step {step}"
        if not died:
            break

    assert step > 40
    files = StoreFiles(settings.store, key=settings.receipt_key())
    assert Withdrawals(files).batches() == [batch_of["goes"]]


def test_a_resumed_migration_names_what_stays_withdrawn(deid, withdrawn_home, monkeypatch):
    _, batch_of = withdrawn_home
    with monkeypatch.context() as patched:
        patched.setattr("deid_assets.cli.installation.carrying._folders", lambda settings: 1 / 0)
        assert deid("migrate").code == 3

    refused = deid("batches", "list")
    ran = deid("migrate")

    assert "`deid migrate` again" in refused.err
    assert f"{batch_of['goes']} stays withdrawn" in ran.err
    assert deid("batches", "list").code == 0


def test_what_is_in_the_way_of_a_migration_is_told_before_anything_moves(deid, old_home):
    (old_home / "before-migration" / "released").mkdir(parents=True)

    ran = deid("migrate")

    assert ran.code == 2
    assert "before-migration/released is there already" in ran.err
    assert (old_home / "store" / "restricted" / "landing" / "b-1" / "notes.jsonl").exists()
    assert not (old_home / "before-migration" / "unfinished").exists()
