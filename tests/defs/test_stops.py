"""A batch that cannot be read says why, is not tried again for nothing, and can be brought back or
taken out.
"""

import json
from importlib.metadata import EntryPoints, entry_points
from io import StringIO

import pytest
from rich.console import Console

from deid_assets import plugins
from deid_assets.core.errors import ProvenanceError
from deid_assets.defs.jobs import MAIN_JOB
from deid_assets.defs.runs import Graph, Pass
from deid_assets.defs.staleness import list_stale_assets
from deid_assets.defs.stopping import drop_known_stops
from deid_assets.formats.catalogue import load_installed
from deid_assets.intake.arrivals import check_arrival, find_arrival
from deid_assets.intake.landing import take_in
from deid_assets.intake.reader import landing_folder, read_batch
from deid_assets.intake.states import BatchState, look
from deid_assets.intake.stops import find_stop, record_stop
from deid_assets.plugins import installed as installed_plugins
from deid_assets.store.files import UnsignedReceipt
from deid_assets.store.withdrawals import ARRIVAL

pytestmark = pytest.mark.long


def jsonl(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


SPAN = {"start": 0, "end": 9, "label": "PATIENT"}
FAULTS = {
    "bad UTF-8": (
        "Zedname.jsonl",
        b'{"id":"Zedquill","text":"Jos\xe9 Zedmarlow"}\n',
        "undecodable at file-1-line-1: byte",
    ),
    "duplicate id": (
        "Zedname.jsonl",
        jsonl({"id": "Zedquill", "text": "Zedmarlow"}, {"id": "Zedquill", "text": "other"}),
        "duplicate-id at file-1-line-2: the note id or name came before; give every note its own",
    ),
    "empty file": (
        "Zedname.jsonl",
        b"",
        "empty-file at file-1: holds no note; remove the file or export it again",
    ),
    "CSV without header": (
        "Zedname.csv",
        b"7,Seen by Zedmarlow\n",
        "name it with --read column.id=NAME",
    ),
    "unmapped gold label": (
        "Zedname.jsonl",
        jsonl({"id": "a", "text": "Zedmarlow", "spans": [SPAN]}),
        "label 'PATIENT' is not in label map 'phi'; name one that has it with --labels: i2b2",
    ),
    "a label that is a name": (
        "Zedname.jsonl",
        jsonl({"id": "a", "text": "Zedmarlow", "spans": [{**SPAN, "label": "Zedmarlow"}]}),
        (
            "a label is not in label map 'phi' nor in any other; name the map that has it with"
            " --labels"
        ),
    ),
    "unknown format": (
        "Zedname.odt",
        b"Zedmarlow",
        "unknown-format at file-1: the format is unknown",
    ),
}


def drop(installation, name, content):
    landing = installation.home / "landing"
    path = landing / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def receive(installation, name, content):
    drop(installation, name, content)
    (batch,) = take_in(installation.settings(), settle_s=0)
    return batch


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_place_and_remedy_are_shown_in_dagster_and_kept_and_hold_no_text(fault, installation):
    name, content, expected = FAULTS[fault]
    batch = receive(installation, name, content)

    result = installation.run(batch, "raw_notes")

    said = installation.failures(result)["raw_notes"]
    shown = (
        next(
            event.event_specific_data
            for event in result.all_events
            if event.event_type_value == "ASSET_CHECK_EVALUATION"
            and event.event_specific_data.check_name == "readable"
        )
        .metadata["reasons"]
        .value
    )
    opened = installation.opened()
    kept = find_stop(opened.files, "raw_notes", batch).reasons
    for where in (said, shown, "\n".join(kept)):
        assert expected in where
        assert "Zed" not in where
    assert look(opened.settings, opened.files, batch).state is BatchState.UNREADABLE


def test_notes_whose_plugin_of_formats_is_missing_are_withheld_and_the_plugin_is_named(
    installation, monkeypatch
):
    batch = receive(installation, "Zedname.docx", b"PK")
    opened, every = installation.opened(), entry_points()
    others = [
        one for group in every.groups - {plugins.FORMATS} for one in every.select(group=group)
    ]
    monkeypatch.setattr(installed_plugins, "entry_points", lambda: EntryPoints(others))
    load_installed.cache_clear()
    try:  # in this process: what a worker has installed cannot be taken from it
        (withheld,) = read_batch(opened.settings, opened.files, batch)
    finally:
        load_installed.cache_clear()

    expected = (
        "the format is docx: its plugin document_formats is not installed; run `make add"
        " PLUGIN=document_formats` in the checkout"
    )
    assert (withheld.place, withheld.what.kind, withheld.reason) == (
        "file-1",
        "unknown-format",
        expected,
    )


def tried(installation, batch):
    opened, definitions = installation.opened(), installation.definitions()
    specs = {spec.key: spec for spec in definitions.resolve_all_asset_specs()}
    stale = list_stale_assets(definitions, opened, batch, installation.instance)
    return [key.to_user_string() for key in drop_known_stops(specs, opened, batch, stale)]


def test_a_failure_is_not_tried_again_until_settings_or_input_change(installation, note_records):
    batch = receive(installation, "notes.jsonl", FAULTS["unmapped gold label"][1])
    installation.run(batch, "raw_notes")
    assert tried(installation, batch) == []

    installation.configure(
        installation.default_settings.replace("[gates]", "[gates]\nquarantined = 0.5")
    )
    assert tried(installation, batch)[0] == "raw_notes"


def test_what_raised_is_tried_again(installation, note_records, monkeypatch):
    batch = installation.receive(note_records())
    next(landing_folder(installation.settings(), batch).iterdir()).write_text("other")
    assert (
        "1 were altered" in installation.failures(installation.run(batch, "raw_notes"))["raw_notes"]
    )

    assert tried(installation, batch)[0] == "raw_notes"
    stop = find_stop(installation.opened().files, "raw_notes", batch)
    assert stop.is_error


def test_a_retry_with_options_reads_the_batch(installation):
    from deid_assets.intake.arrivals import try_again

    batch = receive(
        installation, "notes.csv", b"nr;body\n7;Seen in the ward\n8;Seen at home today\n"
    )
    installation.run(batch, "raw_notes")
    opened = installation.opened()
    told = {
        "read": {"column.id": "nr", "column.text": "body", "delimiter": ";"},
        "lang": "de",
        "sender": "ward-3",
    }
    try_again(opened.files, batch, told, landing=landing_folder(opened.settings, batch))

    assert installation.failures(installation.run(batch, "raw_notes")) == {}
    counts = installation.opened().files.receipt("raw_notes", batch).counts
    assert (counts["notes"], counts["languages"], counts["sender"]) == (2, "de:2", "ward-3")


def test_a_folder_says_in_batch_toml_how_it_is_read(installation):
    drop(
        installation,
        "monday/batch.toml",
        b'format = "txt"\nlang = "fi"\nsender = "ward-3"\n[read]\nencoding = "latin-1"\n',
    )
    batch = receive(installation, "monday/a.txt", "Hyvä".encode("latin-1"))

    assert installation.failures(installation.run(batch, "raw_notes")) == {}
    files = installation.opened().files
    assert files.receipt("raw_notes", batch).counts["sender"] == "ward-3"
    (note,) = files.read("raw_notes", batch, "notes").to_pylist()
    assert (note["text"], note["lang"]) == ("Hyvä", "fi")
    assert files.read("raw_notes", batch, "ignored").to_pylist() == [
        {"file": "batch.toml", "rule": "batch.toml"}
    ]


def test_a_wrong_batch_toml_names_the_nearest_key_and_counts_every_file(installation):
    drop(installation, "monday/batch.toml", b'fromat = "txt"\n')
    batch = receive(installation, "monday/a.txt", b"text")

    said = installation.failures(installation.run(batch, "raw_notes"))["raw_notes"]
    assert "wrong-setting, 2 times" in said
    assert "batch.toml: a key is not known; write format" in said


def test_the_settings_say_it_for_all(installation):
    installation.configure(installation.default_settings + '[intake]\nlang = "sv"\n')
    batch = receive(installation, "notes.jsonl", jsonl({"id": "a", "text": "ok"}))
    installation.run(batch, "raw_notes")
    assert installation.opened().files.receipt("raw_notes", batch).counts["languages"] == "sv:1"


def test_two_files_with_a_fault_in_the_same_line_count_as_two(installation):
    drop(installation, "monday/a.jsonl", jsonl({"id": "a", "text": "one"}) + b"broken\n")
    batch = receive(installation, "monday/b.jsonl", jsonl({"id": "b", "text": "two"}) + b"broken\n")
    installation.configure(
        installation.default_settings.replace("[gates]", "[gates]\nquarantined = 1")
    )

    assert installation.failures(installation.run(batch, "raw_notes")) == {}
    files = installation.opened().files
    assert files.receipt("raw_notes", batch).counts["withheld"] == 2
    assert [row["place"] for row in files.read("raw_notes", batch, "reasons").to_pylist()] == [
        "file-1-line-2",
        "file-2-line-2",
    ]


TAMPER = {
    "deleted": lambda folder: (folder / "monday" / "a.txt").unlink(),
    "exchanged": lambda folder: (folder / "monday" / "a.txt").write_text("A foreign note."),
    "added": lambda folder: (folder / "monday" / "c.txt").write_text("A foreign note."),
    "replaced by a link": lambda folder: (
        (folder / "monday" / "a.txt").unlink(),
        (folder / "monday" / "a.txt").symlink_to("b.txt"),
    ),
}


@pytest.mark.parametrize("how", TAMPER)
def test_landing_files_that_are_not_those_that_arrived_are_refused(how, installation):
    drop(installation, "monday/b.txt", b"The second note.")
    batch = receive(installation, "monday/a.txt", b"The first note.")
    opened = installation.opened()
    assert (
        len(
            check_arrival(opened.files, batch, landing=landing_folder(opened.settings, batch)).files
        )
        == 2
    )

    TAMPER[how](landing_folder(opened.settings, batch))

    said = installation.failures(installation.run(batch, "raw_notes"))["raw_notes"]
    assert "of 2 files that arrived" in said
    assert "deid batches withdraw" in said
    assert opened.files.find("raw_notes", batch) is None


def test_a_batch_without_its_receipt_and_one_with_another_batchs_are_refused(installation):
    first = receive(installation, "a.txt", b"The first note.")
    other = receive(installation, "b.txt", b"The second note.")
    opened = installation.opened()
    stored = opened.settings.store / "restricted" / ARRIVAL
    for path in (stored / first).iterdir():
        path.unlink()
    assert find_arrival(opened.files, first) is None
    assert (
        "no receipt of what arrived"
        in installation.failures(installation.run(first, "raw_notes"))["raw_notes"]
    )

    for path in (stored / other).iterdir():
        (stored / first / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ProvenanceError, match="belongs to"):
        find_arrival(opened.files, first)


def test_arrival_time_and_size_are_shown_with_the_partition(installation):
    batch = receive(installation, "a.txt", b"The first note.")
    result = installation.run(batch, "raw_notes")

    (made,) = result.get_asset_materialization_events()
    metadata = made.materialization.metadata
    assert (metadata["files"].value, metadata["bytes"].value) == (1, 15)
    assert metadata["arrived"].value > 1.7e9


def test_a_stop_that_another_process_left_is_cleared_by_the_next_good_run(shipped):
    opened = shipped.opened()
    receipt = opened.files.receipt("released_corpus", shipped.batch)
    unsigned = UnsignedReceipt("code of other settings", receipt.inputs)
    record_stop(
        opened.files,
        "released_corpus",
        shipped.batch,
        ["made by others"],
        unsigned=unsigned,
        is_error=True,
    )
    assert look(opened.settings, opened.files, shipped.batch).state is BatchState.STOPPED

    graph = Graph(shipped.definitions(), opened, shipped.history)
    outcome = graph.make([Pass(MAIN_JOB, shipped.batch)], Console(file=StringIO()))

    assert (outcome.made, outcome.faults) == (0, [])
    assert look(opened.settings, opened.files, shipped.batch).state is BatchState.RELEASED
    assert opened.files.receipt("released_corpus", shipped.batch) == receipt


def test_a_release_that_failed_is_released_by_the_next_good_run(shipped):
    opened = shipped.opened()
    graph = Graph(shipped.definitions(), opened, shipped.history)
    wanted = [Pass(MAIN_JOB, shipped.batch)]
    kept = opened.settings.home / "kept"
    opened.settings.released.rename(kept)
    opened.settings.released.write_text("no folder")
    failed = graph.make(wanted, Console(file=StringIO()))
    after_failure = look(opened.settings, opened.files, shipped.batch).state
    opened.settings.released.unlink()
    kept.rename(opened.settings.released)

    outcome = graph.make(wanted, Console(file=StringIO()))

    assert (failed.made, len(failed.faults)) == (0, 1)
    assert after_failure is not BatchState.RELEASED
    assert outcome.faults == []
    assert look(opened.settings, opened.files, shipped.batch).state is BatchState.RELEASED
