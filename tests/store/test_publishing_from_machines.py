"""Machines that share a folder publish at once: a lock on a folder holds on one machine alone."""

import hashlib
import json
import os
from collections import Counter
from contextlib import nullcontext

import pytest

from deid_assets.core.keys import Key
from deid_assets.store import publishing
from deid_assets.store.files import StoreFiles
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.signing import ReleaseSigner
from deid_assets.store.withdrawals import Withdrawals

KEY = b"0123456789abcdef"
MACHINES, BATCHES = 4, 8


def publish_some(root, machine):
    store = root / "store"
    folders = ReleaseFolders(
        root / "released",
        record=store / "published" / "releases.json",
        signer=ReleaseSigner(Key(KEY)),
        withdrawals=Withdrawals(StoreFiles(store, key=KEY)),
    )
    for number in range(BATCHES if machine else 0):
        batch = f"b-{machine}-{number}"
        content = json.dumps({"id": batch}).encode() + b"\n"
        digest = hashlib.sha256(content).hexdigest()
        manifest = {
            "batch": batch,
            "created_at": "2026-01-01",
            "files": {"notes.jsonl": digest},
        }
        folders.publish(batch, {"notes.jsonl": content}, manifest)
    return folders


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_no_release_is_lost_where_a_lock_on_a_folder_holds_for_one_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(publishing, "lock_folder", nullcontext)  # as on NFS between machines
    children = []
    for machine in range(1, MACHINES + 1):
        child = os.fork()
        if not child:
            code = 1
            try:
                publish_some(tmp_path, machine)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

    folders = publish_some(tmp_path, 0)
    batches = [f"b-{m}-{n}" for m in range(1, MACHINES + 1) for n in range(BATCHES)]
    assert ended == [0] * MACHINES
    assert Counter(entry.batch for entry in folders.releases().entries) == Counter(batches)
    assert all(folders.check(batch)["batch"] == batch for batch in batches)
