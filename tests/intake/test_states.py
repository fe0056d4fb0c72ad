"""Each note that arrived stands once in the closing count, whatever became of its batch."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.config import Settings
from deid_assets.core.keys import Key
from deid_assets.intake.arrivals import list_files, sign_arrival, try_again
from deid_assets.intake.reader import landing_folder
from deid_assets.intake.states import BatchState, look, look_at_all, notes_line, open_batches, total
from deid_assets.intake.stops import record_stop
from deid_assets.intake.withdrawal import enforce_withdrawals, withdraw
from deid_assets.store.files import StoreFiles, UnsignedReceipt, inputs_of
from deid_assets.store.publishing import ReleaseFolders
from deid_assets.store.signing import ReleaseSigner
from deid_assets.store.withdrawals import Withdrawals

KEY = b"0123456789abcdef"
OUTCOMES = (
    "new",
    "unreadable",
    "stopped",
    "made",
    "released",
    "released and stopped since",
    "withdrawn",
    "retried",
)
BATCHES = st.lists(
    st.tuples(st.sampled_from(OUTCOMES), st.integers(0, 9), st.integers(0, 5), st.integers(0, 4)),
    max_size=6,
)


def arrive(home, files, number):
    folder = landing_folder(home, f"b-{number}")
    folder.mkdir(parents=True)
    (folder / "notes.jsonl").write_text(f"{number}")
    return sign_arrival(files, folder.name, list_files([folder / "notes.jsonl"], root=folder))


def releases_of(home, files):
    signer = ReleaseSigner(Key(KEY))
    return ReleaseFolders(
        home.released, record=home.release_record, signer=signer, withdrawals=Withdrawals(files)
    )


def make(home, files, number, drawn):
    """Write the receipts that a batch of this outcome has, and return how many of its notes were
    ever read.
    """
    arrival, batch = arrive(home, files, number), f"b-{number}"
    outcome, notes, unreadable, held = drawn
    counts = {"notes": notes, "withheld": unreadable}
    if outcome == "new":
        return 0
    if outcome in ("unreadable", "retried"):
        failed = {"readable": {"passed": False, "blocking": True, "counts": {}}}
        draft = UnsignedReceipt("1", inputs_of([arrival]), failed, counts)
        record_stop(files, "raw_notes", batch, ["why"], unsigned=draft, is_error=False)
        if outcome == "retried":
            try_again(files, batch, {}, landing=landing_folder(home, batch))
            return 0
        return notes + unreadable
    raw = files.write(
        "raw_notes", batch, {}, receipt=UnsignedReceipt("1", inputs_of([arrival]), counts=counts)
    )
    if outcome.startswith("released"):
        held = min(held, notes)
        out = {"notes": notes - held, "quarantined": held + unreadable, "unreadable": unreadable}
        (home.released / batch).mkdir(parents=True)
        (home.released / batch / "manifest.json").touch()
        files.write(
            "released_corpus", batch, {}, receipt=UnsignedReceipt("1", inputs_of([raw]), counts=out)
        )
    if outcome in ("stopped", "released and stopped since"):
        record_stop(
            files,
            "merged_spans",
            batch,
            ["why"],
            unsigned=UnsignedReceipt("2", inputs_of([raw])),
            is_error=False,
        )
    if outcome == "withdrawn":
        withdraw(home, files, releases_of(home, files), look(home, files, batch))
    return notes + unreadable


@pytest.mark.long
@given(BATCHES)
@settings(max_examples=15, deadline=None)
def test_the_closing_count_adds_up_for_any_mix_of_batches(mix):
    with tempfile.TemporaryDirectory() as folder:
        home = Settings(home=Path(folder))
        files = StoreFiles(home.store, key=KEY)
        expected = sum(make(home, files, number, drawn) for number, drawn in enumerate(mix))

        found = look_at_all(home, files)
        tally = total(found)

    assert len(found) == len(mix)
    assert tally.received == expected
    parts = (
        tally.released,
        tally.quarantined,
        tally.stopped,
        tally.withdrawn,
        tally.waiting,
        tally.unreadable,
    )
    assert sum(parts) == expected
    assert min(parts) >= 0
    assert sum(
        int(word.replace(",", ""))
        for word in notes_line(tally).split(" = ")[1].split()
        if word[0].isdigit()
    ) == (expected)
    names = {"retried": "new", "released and stopped since": "stopped"}
    assert [batch.state.value for batch in found] == [
        names.get(outcome, outcome) for outcome, *_ in mix
    ]


def test_a_batch_with_an_altered_receipt_is_shown_as_stopped_and_hides_no_other(tmp_path):
    home = Settings(home=tmp_path)
    files = StoreFiles(home.store, key=KEY)
    for number in (1, 2):
        make(home, files, number, ("made", 3, 0, 0))
    receipt = home.store / "restricted" / "arrival" / "b-1" / "receipt.json"
    receipt.write_text(receipt.read_text().replace('"files": 1', '"files": 2'))

    altered, other = look_at_all(home, files)
    assert (altered.state, "signature does not match" in altered.fault) == (
        BatchState.STOPPED,
        True,
    )
    assert (other.state, other.tally.received) == (BatchState.MADE, 3)


def test_a_withdrawn_batch_keeps_its_files_and_its_count_and_comes_back_by_a_retry(tmp_path):
    home = Settings(home=tmp_path)
    files = StoreFiles(home.store, key=KEY)
    make(home, files, 1, ("released", 5, 2, 1))
    files.write(
        "spans_rules", "b-1", {"spans": pa.table({"start": [1]})}, receipt=UnsignedReceipt("1")
    )

    withdraw(home, files, releases_of(home, files), look(home, files, "b-1"))

    found = look(home, files, "b-1")
    assert (found.state, found.tally.withdrawn, found.tally.received) == (
        BatchState.WITHDRAWN,
        7,
        7,
    )
    assert open_batches(home, files) == []
    assert files.find("raw_notes", "b-1") is files.find("spans_rules", "b-1") is None
    assert (landing_folder(home, "b-1") / "notes.jsonl").exists()

    try_again(files, "b-1", {}, landing=landing_folder(home, "b-1"))
    assert look(home, files, "b-1").state is BatchState.NEW
    assert open_batches(home, files) == ["b-1"]


@pytest.mark.parametrize(
    "asset", ["release_report", "release_approval", "released_corpus", "redacted_notes_safe_harbor"]
)
def test_a_batch_that_was_stopped_anywhere_before_its_release_is_stopped(tmp_path, asset):
    home = Settings(home=tmp_path)
    files = StoreFiles(home.store, key=KEY)
    make(home, files, 1, ("made", 3, 0, 0))
    raw = files.receipt("raw_notes", "b-1")

    for stopped, state in (("redacted_notes_tag", BatchState.MADE), (asset, BatchState.STOPPED)):
        record_stop(
            files,
            stopped,
            "b-1",
            ["why"],
            unsigned=UnsignedReceipt("1", inputs_of([raw])),
            is_error=False,
        )
        assert look(home, files, "b-1").state is state


def test_a_batch_is_open_where_the_record_of_its_withdrawal_was_altered(tmp_path):
    home = Settings(home=tmp_path)
    files = StoreFiles(home.store, key=KEY)
    for number in (1, 2):
        make(home, files, number, ("withdrawn", 3, 0, 0))
    (receipt,) = home.store.rglob("withdrawn/b-1/receipt.json")
    receipt.write_text(receipt.read_text().replace('"notes": 3', '"notes": 0'))

    assert open_batches(home, files) == ["b-1"]


def test_what_a_killed_withdrawal_left_or_a_run_made_meanwhile_is_erased_by_the_next_sweep(
    tmp_path,
):
    home = Settings(home=tmp_path)
    files = StoreFiles(home.store, key=KEY)
    for number in (1, 2):
        make(home, files, number, ("made", 3, 0, 0))
    home.reports.mkdir()
    for name in ("release-b-1", "release-b-2"):
        (home.reports / f"{name}.html").touch()
    Withdrawals(files).record("b-1", {"notes": 3, "withheld": 0})  # and killed

    enforce_withdrawals(home, files, releases_of(home, files))

    assert files.find("raw_notes", "b-1") is None
    assert files.find("raw_notes", "b-2") is not None
    assert [path.name for path in home.reports.iterdir()] == ["release-b-2.html"]
    assert look(home, files, "b-1").state is BatchState.WITHDRAWN
