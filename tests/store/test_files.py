"""Files are written whole or not at all, and nobody alters them unseen."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from deid_assets.core.errors import ConfigError, InputError, ProvenanceError
from deid_assets.core.note import Note
from deid_assets.store.files import (
    ALL,
    Receipt,
    StoreFiles,
    UnsignedReceipt,
    Zone,
    inputs_of,
    zone_of,
)
from deid_assets.store.frames import notes_from_table, notes_to_table

KEY = b"a test key that is not a secret"
DRAFT = UnsignedReceipt("1")
OK = {"in_bounds": {"passed": True, "blocking": True, "counts": {"bad": 0}}}
BAD = {"in_bounds": {"passed": False, "blocking": True, "counts": {"bad": 3}}}
SHADOW = {"duplicates": {"passed": False, "blocking": False, "counts": {"share": 0.5}}}


@pytest.fixture
def files(tmp_path: Path) -> StoreFiles:
    return StoreFiles(tmp_path / "store", key=KEY)


def rows(*values: int) -> pa.Table:
    return pa.table({"start": values})


def folder(files: StoreFiles, asset: str, batch: str) -> Path:
    return files.root / zone_of(asset) / asset / batch


def test_what_is_written_is_read_back(files: StoreFiles) -> None:
    notes = [Note("a", "Jane Lee", meta={"ward": "3"}), Note("b", "")]

    receipt = files.write("raw_notes", "b-1", {"notes": notes_to_table(notes)}, receipt=DRAFT)

    assert notes_from_table(files.read("raw_notes", "b-1", "notes")) == notes
    assert receipt.outputs["notes"]["rows"] == 2
    assert files.receipt("raw_notes", "b-1") == receipt == files.find("raw_notes", "b-1")


def test_a_partition_never_written_is_none_to_find_and_an_error_to_receipt(
    files: StoreFiles,
) -> None:
    assert files.find("raw_notes", "b-1") is None
    assert files.batches("raw_notes") == []
    with pytest.raises(
        ProvenanceError, match="raw_notes, batch b-1: never written; materialize raw_notes"
    ):
        files.receipt("raw_notes", "b-1")


def test_batches_are_sorted_and_not_mixed_with_longer_paths(files: StoreFiles) -> None:
    for asset, batch in [
        ("spans", "z"),
        ("spans", "b"),
        ("spans_rules", "c"),
        ("spans_rules", ALL),
    ]:
        files.write(asset, batch, {"spans": rows(1)}, receipt=DRAFT)

    assert files.batches("spans") == ["b", "z"]
    assert files.batches("spans_rules") == ["all", "c"]


def test_a_rewrite_replaces_and_leaves_no_old_file(files: StoreFiles) -> None:
    first = files.write("spans_rules", "b-1", {"spans": rows(1), "notes": rows(0)}, receipt=DRAFT)
    second = files.write("spans_rules", "b-1", {"spans": rows(2)}, receipt=DRAFT)

    assert files.read("spans_rules", "b-1", "spans").column("start").to_pylist() == [2]
    assert first.digest != second.digest
    assert len(list(folder(files, "spans_rules", "b-1").iterdir())) == 2


def test_the_same_work_has_the_same_digest(files: StoreFiles) -> None:
    first = files.write("spans_rules", "b-1", {"spans": rows(1)}, receipt=DRAFT)
    second = files.write("spans_rules", "b-1", {"spans": rows(1)}, receipt=DRAFT)

    assert first.digest == second.digest


@pytest.mark.parametrize(
    ("asset", "zone"),
    [
        ("raw_notes", Zone.RESTRICTED),
        ("landing", Zone.RESTRICTED),
        ("redacted_notes_tag", Zone.RESTRICTED),
        ("released_corpus", Zone.PUBLISHED),
        ("spans_rules", Zone.INTERNAL),
        ("gold_annotations", Zone.INTERNAL),
        ("raw_notes_statistics", Zone.INTERNAL),
    ],
)
def test_the_first_segment_decides_the_zone(asset: str, zone: Zone) -> None:
    assert zone_of(asset) is zone


@pytest.mark.parametrize("column", ["text", "value", "meta", "patient_id"])
def test_the_internal_zone_refuses_text(files: StoreFiles, column: str) -> None:
    with pytest.raises(InputError, match="internal zone"):
        files.write("spans_rules", "b-1", {"spans": pa.table({column: ["Canary"]})}, receipt=DRAFT)
    assert files.find("spans_rules", "b-1") is None


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_restricted_files_are_for_their_owner_alone(files: StoreFiles) -> None:
    files.write("redacted_notes_tag", "b-1", {"notes": rows(1)}, receipt=DRAFT)
    restricted = files.root / "restricted"

    modes = {path: path.stat().st_mode & 0o777 for path in [restricted, *restricted.rglob("*")]}

    assert len(modes) == 5
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


@pytest.mark.parametrize("batch", ["", "..", "Müller", "B-1", "a/b", "a b", "-a", "a" * 65, "a\n"])
def test_batch_ids_outside_the_grammar_are_refused(files: StoreFiles, batch: str) -> None:
    with pytest.raises(InputError, match="batch id"):
        files.write("spans_rules", batch, {"spans": rows(1)}, receipt=DRAFT)


@pytest.mark.parametrize("asset", ["", "/", "../raw", "spans/", "spans/rules", "Spans", "a" * 101])
def test_asset_paths_outside_the_grammar_are_refused(files: StoreFiles, asset: str) -> None:
    with pytest.raises(InputError, match="an asset must match"):
        files.write(asset, "b-1", {"spans": rows(1)}, receipt=DRAFT)


def test_table_names_outside_the_grammar_are_refused(files: StoreFiles) -> None:
    with pytest.raises(InputError, match="table name"):
        files.write("spans_rules", "b-1", {"../x": rows(1)}, receipt=DRAFT)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ConfigError, match="3 bytes"):
        StoreFiles(Path("unused"), key=b"abc")


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), None, [1], "two words", "Jane\nLee", "x" * 101]
)
def test_counts_hold_numbers_and_words_only(files: StoreFiles, value: object) -> None:
    with pytest.raises(InputError, match="count 'found'"):
        files.write("spans_rules", "b-1", {}, receipt=UnsignedReceipt("1", counts={"found": value}))


def test_numpy_counts_become_plain_numbers(files: StoreFiles) -> None:
    draft = UnsignedReceipt(
        "1", counts={"n": np.int64(3), "share": np.float32(0.5), "policy": "tag"}
    )

    files.write("spans_rules", "b-1", {}, receipt=draft)

    assert files.receipt("spans_rules", "b-1").counts == {"n": 3, "share": 0.5, "policy": "tag"}


# Alterations


def alter_file(place: Path) -> None:
    path = next(place.glob("*.parquet"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def alter_receipt(place: Path) -> None:
    document = json.loads((place / "receipt.json").read_text())
    document["verdicts"]["in_bounds"]["passed"] = True
    (place / "receipt.json").write_text(json.dumps(document))


def unsign(place: Path) -> None:
    document = json.loads((place / "receipt.json").read_text())
    del document["signature"]
    (place / "receipt.json").write_text(json.dumps(document))


def resign_with_another_key(place: Path) -> None:
    other = StoreFiles(place.parents[3] / "other", key=b"another key of some length")
    other.write("spans_rules", "b-1", {"spans": rows(1)}, receipt=DRAFT)
    shutil.copy(folder(other, "spans_rules", "b-1") / "receipt.json", place)


def truncate_receipt(place: Path) -> None:
    (place / "receipt.json").write_text('{"asset": "spans')


def replace_receipt_by_a_list(place: Path) -> None:
    (place / "receipt.json").write_text("[]")


def empty_receipt(place: Path) -> None:
    (place / "receipt.json").write_bytes(b"")


@pytest.mark.parametrize(
    "alter",
    [
        alter_receipt,
        unsign,
        resign_with_another_key,
        truncate_receipt,
        replace_receipt_by_a_list,
        empty_receipt,
    ],
)
def test_an_altered_receipt_is_refused(files: StoreFiles, alter) -> None:
    files.write(
        "spans_rules", "b-1", {"spans": rows(1)}, receipt=UnsignedReceipt("1", verdicts=BAD)
    )
    alter(folder(files, "spans_rules", "b-1"))

    for reader in (files.receipt, files.find, files.verify_chain):
        with pytest.raises(
            ProvenanceError,
            match=r"spans_rules, batch b-1: .*re-materialize spans_rules for batch b-1",
        ):
            reader("spans_rules", "b-1")
    with pytest.raises(ProvenanceError):
        files.read("spans_rules", "b-1", "spans")


def test_a_receipt_moved_from_another_batch_is_refused(files: StoreFiles) -> None:
    for batch in ("b-1", "b-2"):
        files.write("spans_rules", batch, {"spans": rows(1)}, receipt=DRAFT)
    shutil.copy(
        folder(files, "spans_rules", "b-2") / "receipt.json", folder(files, "spans_rules", "b-1")
    )

    with pytest.raises(ProvenanceError, match="belongs to spans_rules@b-2"):
        files.receipt("spans_rules", "b-1")


def test_an_altered_file_is_refused(files: StoreFiles) -> None:
    files.write("spans_rules", "b-1", {"spans": rows(1)}, receipt=DRAFT)
    alter_file(folder(files, "spans_rules", "b-1"))

    with pytest.raises(
        ProvenanceError, match="table 'spans' was altered; re-materialize spans_rules for batch b-1"
    ):
        files.read("spans_rules", "b-1", "spans")


def test_a_missing_file_or_table_is_an_error(files: StoreFiles) -> None:
    files.write("spans_rules", "b-1", {"spans": rows(1)}, receipt=DRAFT)

    with pytest.raises(ProvenanceError, match="no table 'notes'; it has spans"):
        files.read("spans_rules", "b-1", "notes")
    next(folder(files, "spans_rules", "b-1").glob("*.parquet")).unlink()
    with pytest.raises(ProvenanceError, match="the file of table 'spans' is missing"):
        files.read("spans_rules", "b-1", "spans")


# Crashes


CRASHING = """
    import os, sys
    from pathlib import Path
    import pyarrow as pa
    from deid_assets.store.files import StoreFiles, UnsignedReceipt

    class Dying(dict):
        def items(self):
            yield "spans", pa.table({"start": [2]})
            os.kill(os.getpid(), 9)

    class DyingOnSecondPass(dict):
        passes = 0
        def items(self):
            self.passes += 1
            yield "spans", pa.table({"start": [2]})
            if self.passes == 2:
                os.kill(os.getpid(), 9)

    tables = {"check": Dying, "write": DyingOnSecondPass}[sys.argv[2]]()
    StoreFiles(Path(sys.argv[1]), key=sys.argv[3].encode()).write(
        "spans_rules", "b-1", tables, receipt=UnsignedReceipt("2"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("moment", ["check", "write"])
def test_a_writer_killed_halfway_leaves_the_old_state(files: StoreFiles, moment: str) -> None:
    files.write("spans_rules", "b-1", {"spans": rows(1)}, receipt=DRAFT)

    command = [
        sys.executable,
        "-c",
        textwrap.dedent(CRASHING),
        str(files.root),
        moment,
        KEY.decode(),
    ]
    dead = subprocess.run(
        command, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )

    assert dead.returncode == -signal.SIGKILL
    files.verify_chain("spans_rules", "b-1")
    assert files.read("spans_rules", "b-1", "spans").column("start").to_pylist() == [1]
    files.write("spans_rules", "b-1", {"spans": rows(3)}, receipt=DRAFT)
    assert len(list(folder(files, "spans_rules", "b-1").iterdir())) == 2


def test_leftovers_before_the_first_receipt_read_as_never_written(files: StoreFiles) -> None:
    place = folder(files, "spans_rules", "b-1")
    place.mkdir(parents=True)
    (place / ".tmp-1234").write_bytes(b"half a file")
    (place / "spans-0123456789ab.parquet").write_bytes(b"PAR1")

    assert files.find("spans_rules", "b-1") is None
    assert files.batches("spans_rules") == []


def test_old_files_beside_a_new_receipt_do_no_harm(files: StoreFiles, tmp_path: Path) -> None:
    place = folder(files, "spans_rules", "b-1")
    files.write("spans_rules", "b-1", {"spans": rows(1)}, receipt=DRAFT)
    old = tmp_path / next(place.glob("*.parquet")).name
    shutil.copy(place / old.name, old)
    files.write("spans_rules", "b-1", {"spans": rows(2)}, receipt=DRAFT)
    shutil.copy(old, place)

    assert files.read("spans_rules", "b-1", "spans").column("start").to_pylist() == [2]


def test_a_failing_write_leaves_no_temporary_file(files: StoreFiles) -> None:
    unwritable = pa.table({"gap": pa.array([None], pa.month_day_nano_interval())})

    with pytest.raises((pa.ArrowException, NotImplementedError)):
        files.write("spans_rules", "b-1", {"spans": unwritable}, receipt=DRAFT)

    assert list(folder(files, "spans_rules", "b-1").iterdir()) == []


# Chains and erasure


def chain(files: StoreFiles, *, merged_verdicts: dict | None = None) -> dict[str, Receipt]:
    made: dict[str, Receipt] = {}

    def write(asset: str, *sources: str, batch: str = "b-1", **draft) -> None:
        draft = UnsignedReceipt("1", inputs=inputs_of(made[source] for source in sources), **draft)
        made[asset] = files.write(asset, batch, {"rows": rows(len(asset))}, receipt=draft)

    write("raw_notes")
    write("spans_rules", "raw_notes", verdicts=OK)
    write("spans_tagger", "raw_notes", verdicts=OK | SHADOW)
    write(
        "merged_spans",
        "spans_rules",
        "spans_tagger",
        verdicts=OK if merged_verdicts is None else merged_verdicts,
    )
    write("released_corpus", "merged_spans", "raw_notes", verdicts=OK)
    write("scorecard", "spans_rules", batch=ALL)
    write("leaderboard", "scorecard", batch=ALL)
    return made


def test_an_untouched_chain_holds_and_a_failed_warning_does_not_break_it(files: StoreFiles) -> None:
    made = chain(files)

    files.verify_chain("released_corpus", "b-1")
    assert made["spans_tagger"].passed


def test_a_chain_survives_a_rewrite_with_the_same_content(files: StoreFiles) -> None:
    chain(files)
    files.write("raw_notes", "b-1", {"rows": rows(len("raw_notes"))}, receipt=DRAFT)

    files.verify_chain("released_corpus", "b-1")


def test_a_failed_blocking_check_deep_in_the_chain_is_found(files: StoreFiles) -> None:
    made = chain(files, merged_verdicts=BAD)

    assert not made["merged_spans"].passed
    with pytest.raises(
        ProvenanceError, match=r"merged_spans, batch b-1: blocking checks failed: in_bounds"
    ):
        files.verify_chain("released_corpus", "b-1")


@pytest.mark.parametrize(
    "asset", ["raw_notes", "spans_rules", "spans_tagger", "merged_spans", "released_corpus"]
)
def test_an_altered_file_anywhere_in_the_chain_is_found(files: StoreFiles, asset: str) -> None:
    chain(files)
    alter_file(folder(files, asset, "b-1"))

    with pytest.raises(
        ProvenanceError,
        match=rf"{asset}, batch b-1: .*altered; re-materialize {asset} for batch b-1",
    ):
        files.verify_chain("released_corpus", "b-1")


def test_a_replaced_input_makes_its_users_stale(files: StoreFiles) -> None:
    chain(files)
    files.write("spans_rules", "b-1", {"rows": rows(7)}, receipt=DRAFT)

    with pytest.raises(
        ProvenanceError, match=r"merged_spans, batch b-1: made from an earlier spans_rules@b-1"
    ):
        files.verify_chain("released_corpus", "b-1")


def test_an_erased_input_breaks_the_chain(files: StoreFiles) -> None:
    chain(files)
    shutil.rmtree(folder(files, "raw_notes", "b-1"))

    with pytest.raises(ProvenanceError, match="raw_notes, batch b-1: never written"):
        files.verify_chain("released_corpus", "b-1")


def test_erasing_a_batch_removes_every_file_of_it_and_no_other(files: StoreFiles) -> None:
    chain(files)
    files.write("spans_rules", "b-2", {"rows": rows(1)}, receipt=DRAFT)
    crashed = folder(files, "redacted_notes_tag", "b-1")
    crashed.mkdir(parents=True)
    (crashed / ".tmp-99").write_bytes(b"Canary")
    arrived = folder(files, "landing", "b-1") / "monday"
    arrived.mkdir(parents=True)
    (arrived / "notes.txt").write_bytes(b"Canary")
    assert files.dependents("b-1") == ["leaderboard@all", "scorecard@all"]

    erased = files.erase("b-1")

    assert erased == sorted(
        [
            "landing",
            "raw_notes",
            "spans_rules",
            "spans_tagger",
            "merged_spans",
            "released_corpus",
            "redacted_notes_tag",
        ]
    )
    assert [
        path for path in files.root.rglob("*") if path.is_file() and path.parent.name == "b-1"
    ] == []
    assert not arrived.exists()
    assert files.batches("spans_rules") == ["b-2"]
    assert files.erase("b-1") == []
    with pytest.raises(ProvenanceError, match="spans_rules, batch b-1: never written"):
        files.verify_chain("leaderboard", ALL)


def test_writers_of_one_partition_wait_for_each_other(files: StoreFiles) -> None:
    def write(value: int) -> None:
        files.write(
            "spans_rules", "b-1", {"spans": rows(value), "notes": rows(value)}, receipt=DRAFT
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(40)))

    files.verify_chain("spans_rules", "b-1")
    left = {
        files.read("spans_rules", "b-1", table).column("start")[0].as_py()
        for table in ("spans", "notes")
    }
    assert len(left) == 1
    assert len(list(folder(files, "spans_rules", "b-1").iterdir())) == 3


def a_nested_folder(path: Path) -> None:
    (path / "a").mkdir(parents=True)


IN_PLACE = {
    "an empty folder": Path.mkdir,
    "nested folders": a_nested_folder,
    "a pipe": os.mkfifo,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a folder": lambda path: path.symlink_to(path.parent),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "nested JSON": lambda path: path.write_text('{"a": ' + "[" * 100_000),
}


@pytest.fixture
def seconds() -> Iterator[None]:
    """Ten, after which the test is ended: what reads a pipe waits for ever."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("waits for ever"))
    signal.alarm(10)
    yield
    signal.alarm(0)


@pytest.mark.usefixtures("seconds")
@pytest.mark.parametrize("harm", IN_PLACE.values(), ids=IN_PLACE)
@pytest.mark.parametrize("name", ["receipt.json", "notes-*.parquet"])
def test_what_stands_in_the_place_of_a_file_is_refused_and_not_waited_for(
    files: StoreFiles, name: str, harm: Callable[[Path], None]
) -> None:
    files.write("spans_rules", "b-1", {"notes": rows(1)}, receipt=DRAFT)
    (path,) = folder(files, "spans_rules", "b-1").glob(name)
    path.unlink()
    harm(path)

    with pytest.raises(ProvenanceError, match="re-materialize spans_rules for batch b-1"):
        files.read("spans_rules", "b-1", "notes")
