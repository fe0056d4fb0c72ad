"""A release is the one before or the new one, whatever happens to the process that publishes it."""

import hashlib
import json
import os
import shutil

import pytest

from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.store.files import StoreFiles, UnsignedReceipt
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.releases import ReleaseList
from deid_assets.store.signing import ReleaseSigner
from deid_assets.store.withdrawals import Withdrawals

SIGNER = ReleaseSigner(Key(b"0123456789abcdef"))


@pytest.fixture
def folders(tmp_path):
    return open_folders(tmp_path)


def open_folders(root, signer=SIGNER):
    store = root / "store"
    withdrawals = Withdrawals(StoreFiles(store, key=b"0123456789abcdef"))
    return ReleaseFolders(
        root / "released",
        record=store / "published" / "releases.json",
        signer=signer,
        withdrawals=withdrawals,
    )


def withdraw(folders, batch="b-1"):
    folders.withdraw(record=lambda: folders._withdrawals.record(batch, {}))


def bring_back(folders, batch="b-1"):
    """As a retry does: what arrived is signed anew, so that the record names another arrival."""
    files = folders._withdrawals._files
    files.write("arrival", batch, {}, receipt=UnsignedReceipt("1"))


def publish(folders, text, batch="b-1", at="2026-01-01"):
    content = json.dumps({"id": "n-1", "text": text}).encode() + b"\n"
    manifest = {
        "batch": batch,
        "created_at": at,
        "files": {"notes.jsonl": hashlib.sha256(content).hexdigest()},
    }
    folders.publish(batch, {"notes.jsonl": content}, manifest)


def text_of(folders, batch="b-1"):
    """What is released, checked."""
    folders.check(batch)
    return json.loads((folders.root / batch / "notes.jsonl").read_text())["text"]


def leftovers(folders):
    return {path.name for path in folders.root.rglob(".*")} | {
        path.name for path in folders.root.rglob("*.part")
    }


def test_a_release_is_published_once_and_replaced_by_the_next(folders):
    publish(folders, "first")
    publish(folders, "second", batch="b-2")
    publish(folders, "third")

    assert (text_of(folders), text_of(folders, "b-2")) == ("third", "second")
    assert [entry.batch for entry in folders.releases().entries] == ["b-1", "b-2", "b-1"]


def test_publishing_the_same_again_changes_nothing(folders):
    publish(folders, "first")
    before = {path: path.read_bytes() for path in folders.root.rglob("*.json*")}

    publish(folders, "first", at="2026-01-02")

    assert {path: path.read_bytes() for path in folders.root.rglob("*.json*")} == before


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("with_earlier", [False, True])
def test_a_kill_before_every_file_operation_leaves_the_old_or_the_new_release(
    tmp_path, killed_at, with_earlier
):
    start = open_folders(tmp_path / "start")
    publish(start, "other", batch="b-2")
    if with_earlier:
        publish(start, "old")
    seen, step, died = set(), 0, True
    while died:
        step += 1
        root = tmp_path / str(step)
        shutil.copytree(tmp_path / "start", root)
        folders = open_folders(root)
        died = killed_at(step, lambda folders=folders: publish(folders, "new"))

        folders.sweep()

        assert leftovers(folders) == set(), f"killed before operation {step}"
        assert text_of(folders, "b-2") == "other"
        is_there = (folders.root / "b-1").exists()
        seen.add(text_of(folders) if is_there else None)
        publish(folders, "new")
        assert text_of(folders) == "new"
        assert [entry.batch for entry in folders.releases().entries] == [
            "b-2",
            *["b-1"] * (2 if with_earlier else 1),
        ]

    assert step > 10
    assert seen == {"old" if with_earlier else None, "new"}


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "notes.jsonl").write_text("other"),
        lambda folder: (folder / ".1234.part").write_text("left by a killed process"),
        lambda folder: (folder / "manifest.json").unlink(),
        shutil.rmtree,
    ],
    ids=["altered", "leftover", "no manifest", "deleted"],
)
def test_a_damaged_folder_is_seen_and_made_whole(folders, harm):
    publish(folders, "first")
    harm(folders.root / "b-1")

    with pytest.raises((InputError, ProvenanceError)):
        folders.check("b-1")
    publish(folders, "first")
    assert text_of(folders) == "first"


def test_an_older_release_put_back_is_seen(folders, tmp_path):
    publish(folders, "old")
    shutil.copytree(folders.root / "b-1", tmp_path / "kept")
    publish(folders, "new")
    shutil.rmtree(folders.root / "b-1")
    shutil.copytree(tmp_path / "kept", folders.root / "b-1")

    with pytest.raises(ProvenanceError, match="release 1; release 2 took its place"):
        folders.check("b-1")


def test_an_older_release_put_back_with_its_list_is_seen(folders, tmp_path):
    publish(folders, "old")
    shutil.copytree(folders.root, tmp_path / "kept")
    publish(folders, "new")
    shutil.rmtree(folders.root)
    shutil.copytree(tmp_path / "kept", folders.root)

    with pytest.raises(ProvenanceError, match="release 2 took its place"):
        folders.check("b-1")


def test_the_release_of_another_batch_is_seen(folders):
    publish(folders, "first")
    publish(folders, "second", batch="b-2")
    shutil.rmtree(folders.root / "b-1")
    shutil.copytree(folders.root / "b-2", folders.root / "b-1")

    with pytest.raises(ProvenanceError, match="another batch"):
        folders.check("b-1")


def test_a_list_of_another_key_is_refused(folders, tmp_path):
    publish(folders, "first")
    other = ReleaseSigner(Key(b"fedcba9876543210"))

    with pytest.raises(ProvenanceError, match="another key"):
        ReleaseList.read(folders.root / "releases.json", key=other.public)


def test_two_lists_that_contradict_each_other_are_refused(folders, tmp_path):
    publish(folders, "first")
    rival = open_folders(tmp_path / "rival")
    publish(rival, "another")
    shutil.copy(rival.root / "releases.json", folders.root / "releases.json")

    with pytest.raises(ProvenanceError, match="contradict"):
        publish(folders, "second")


def test_a_withdrawn_release_that_is_put_back_is_refused_and_removed(folders, tmp_path):
    publish(folders, "first")
    shutil.copytree(folders.root / "b-1", tmp_path / "kept")
    withdraw(folders)
    assert not (folders.root / "b-1").exists()

    shutil.copytree(tmp_path / "kept", folders.root / "b-1")
    with pytest.raises(ProvenanceError, match="was withdrawn on"):
        folders.check("b-1")
    folders.sweep()
    assert not (folders.root / "b-1").exists()

    with pytest.raises(InputError, match="b-1 was withdrawn; `deid batches retry b-1`"):
        publish(folders, "again", at="2026-02-02")
    bring_back(folders)
    publish(folders, "again", at="2026-02-02")
    assert text_of(folders) == "again"
    shutil.rmtree(folders.root / "b-1")
    shutil.copytree(tmp_path / "kept", folders.root / "b-1")
    with pytest.raises(ProvenanceError, match="release 1; release 3 took its place"):
        folders.check("b-1")


def a_link_to_a_copy(path, kept):
    path.symlink_to(kept)


def a_link_to_nowhere(path, kept):
    path.symlink_to(kept / "nowhere")


def a_file(path, kept):
    path.write_bytes((kept / "notes.jsonl").read_bytes())


FOREIGN = [a_link_to_a_copy, a_link_to_nowhere, a_file]


@pytest.mark.parametrize("put_back", FOREIGN)
@pytest.mark.parametrize("name", ["b-1", ".b-1.new", ".b-1.old", ".tmp-0123456789abcdef"])
def test_a_withdrawn_release_that_is_put_back_as_another_thing_is_removed(
    folders, tmp_path, put_back, name
):
    publish(folders, "first")
    shutil.copytree(folders.root / "b-1", tmp_path / "kept")
    withdraw(folders)
    put_back(folders.root / name, tmp_path / "kept")

    folders.sweep()

    assert [path.name for path in folders.root.iterdir()] == ["releases.json"]
    assert (tmp_path / "kept" / "notes.jsonl").is_file()


@pytest.mark.parametrize("put_there", FOREIGN)
@pytest.mark.parametrize("name", ["b-1", ".b-1.new", ".b-1.old", ".tmp-0123456789abcdef"])
def test_a_release_takes_the_place_of_whatever_stands_there(folders, tmp_path, put_there, name):
    publish(folders, "first")
    shutil.copytree(folders.root / "b-1", tmp_path / "kept")
    if name == "b-1":
        shutil.rmtree(folders.root / name)
    put_there(folders.root / name, tmp_path / "kept")

    for text, at in (("second", "2026-02-02"), ("third", "2026-03-03")):
        publish(folders, text, at=at)
        assert text_of(folders) == text

    assert sorted(path.name for path in folders.root.iterdir()) == ["b-1", "releases.json"]
    assert not (folders.root / "b-1").is_symlink()
    assert (tmp_path / "kept" / "notes.jsonl").is_file()


def test_a_withdrawal_whose_record_is_deleted_still_holds(folders):
    """The list of releases has it too: who can delete a file brings no batch back."""
    publish(folders, "first")
    withdraw(folders)
    shutil.rmtree(next(folders._withdrawals._files.root.glob("*/withdrawn")))
    with pytest.raises(ProvenanceError, match="the record of that is gone"):
        publish(folders, "again", at="2026-02-02")
    assert not (folders.root / "b-1").exists()

    withdraw(folders)
    bring_back(folders)
    publish(folders, "again", at="2026-02-02")
    assert text_of(folders) == "again"


def test_a_kill_before_every_file_operation_of_a_withdrawal_is_mended_by_the_next_sweep(
    tmp_path, killed_at
):
    died, step, seen = True, 0, set()
    while died:
        step += 1
        folders = open_folders(tmp_path / str(step))
        publish(folders, "first")
        died = killed_at(step, lambda folders=folders: withdraw(folders))
        folders.sweep()
        is_there = (folders.root / "b-1").exists()
        assert bool(folders.releases().latest("b-1").manifest) is is_there
        assert folders._withdrawals.is_withdrawn("b-1") is not is_there
        assert leftovers(folders) <= {".lock"}
        seen.add(is_there)
    assert seen == {True, False}


def test_a_batch_that_is_withdrawn_while_it_is_published_is_not_released(folders):
    publish(folders, "first")
    folders._withdrawals.record("b-1", {})  # and killed, so that nothing else is done

    with pytest.raises(InputError, match="was withdrawn"):
        publish(folders, "second")

    assert not (folders.root / "b-1").exists()
    assert folders.releases().list_withdrawn() == {"b-1"}


def test_publishing_another_batch_takes_back_what_a_killed_withdrawal_left(folders):
    publish(folders, "first")
    publish(folders, "second", batch="b-2")
    folders._withdrawals.record("b-1", {})

    publish(folders, "third", batch="b-3")

    assert sorted(path.name for path in folders.root.glob("b-*")) == ["b-2", "b-3"]
    assert folders.releases().list_withdrawn() == {"b-1"}
