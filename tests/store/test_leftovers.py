"""What a killed writer left is removed, and nothing else."""

import shutil

import pyarrow as pa
import pytest

from deid_assets.store.files import StoreFiles, UnsignedReceipt
from deid_assets.store.leftovers import sweep_store

KEY = b"a test key that is not a secret"


def write(files, asset, value):
    files.write(asset, "b-1", {"notes": pa.table({"start": [value]})}, receipt=UnsignedReceipt("1"))


@pytest.mark.parametrize("asset", ["raw_notes", "spans_rules"])
def test_a_kill_before_every_file_operation_of_a_write_leaves_nothing_after_the_sweep(
    tmp_path, killed_at, asset
):
    write(StoreFiles(tmp_path / "start", key=KEY), asset, 1)
    seen, step, died = set(), 0, True
    while died:
        step += 1
        root = tmp_path / str(step)
        shutil.copytree(tmp_path / "start", root)
        files = StoreFiles(root, key=KEY)
        died = killed_at(step, lambda files=files: write(files, asset, 2))

        sweep_store(files)

        seen.add(files.read(asset, "b-1", "notes").column("start").to_pylist()[0])
        left = {path.name.partition("-")[0] for path in root.rglob("*") if path.is_file()}
        assert left == {"notes", "receipt.json", "generation"}
        assert len([*root.rglob("*.parquet")]) == 1

    assert seen == {1, 2}


def test_what_arrived_is_not_touched(tmp_path):
    files = StoreFiles(tmp_path / "store", key=KEY)
    write(files, "raw_notes", 1)
    arrived = files.root / "restricted" / "landing" / "b-1"
    arrived.mkdir(parents=True)
    (arrived / "notes-0123456789ab.parquet").write_text("as it came")

    assert sweep_store(files) == 0
    assert (arrived / "notes-0123456789ab.parquet").exists()
