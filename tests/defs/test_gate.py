"""Nothing leaves past a failed check, a missing answer or an altered file."""

import json

import dagster as dg
import pyarrow.parquet as pq
import pytest
from sqlmodel import select

from deid_assets.store.tables import ReleaseRow

RELEASE = (
    "raw_notes",
    "gold_annotations",
    "spans_stencil",
    "merged_spans",
    "redacted_notes_tag",
    "quarantine",
    "release_report",
    "released_corpus",
)


def published(installation):
    """Everything by which a release could be seen: files, receipts and rows."""
    roots = (installation.home / "released", installation.store / "published")
    files = [path for root in roots for path in sorted(root.rglob("*")) if path.is_file()]
    with installation.opened().database.session() as session:
        return [*files, *session.exec(select(ReleaseRow)).all()]


def forge_checks(installation, batch):
    """Report every check of every asset as passed, as anyone who reaches the web server can."""
    for spec in installation.definitions().resolve_asset_graph().asset_check_keys:
        installation.instance.report_runless_asset_event(
            dg.AssetCheckEvaluation(
                asset_key=spec.asset_key, check_name=spec.name, passed=True, partition=batch
            )
        )


def good(make):
    return make()


def repeated(make):
    """Eight notes with one text but for the identifiers."""
    story = " ".join(record["text"].split(". ", 1)[1] for record in make())
    for record in make():
        yield {**record, "text": f"{record['text'].split('. ', 1)[0]}. {story}"}


def half_unreadable(make):
    for number, record in enumerate(make()):
        yield record if number % 2 else {**record, "text": None}


def overlapping_ids(make):
    for record in make():
        yield {**record, "id": "note-1"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("records", "settings", "stopped_by"),
    [
        pytest.param(
            good,
            '[detectors.stencil]\nskip = "MRN"\n',
            ("merged_spans", "recall_floor"),
            id="a detector that misses",
        ),
        pytest.param(
            good,
            '[detectors.stencil]\nraise_on = "the"\n',
            ("spans_stencil", "answered"),
            id="a detector that raises",
        ),
        pytest.param(repeated, "", ("raw_notes", "near_duplicates"), id="copies"),
        pytest.param(half_unreadable, "", ("raw_notes", "readable"), id="half of it unreadable"),
        pytest.param(overlapping_ids, "", ("raw_notes", "readable"), id="one id for all notes"),
    ],
)
def test_a_stopped_batch_is_not_published_by_its_run_nor_later_nor_with_forged_checks(
    installation, note_records, records, settings, stopped_by
):
    installation.configure(installation.default_settings + settings)
    batch = installation.receive(list(records(note_records)))

    asset, check = stopped_by
    ((step, message),) = installation.failures(installation.run(batch, *RELEASE)).items()
    assert step == asset.replace("/", "__")
    assert "not stored" in message
    assert check in message
    assert installation.opened().files.find(asset, batch) is None
    assert published(installation) == []

    for arrange in (lambda *_: None, forge_checks):
        arrange(installation, batch)
        alone = installation.failures(installation.run(batch, "released_corpus"))
        assert "ProvenanceError" in alone["released_corpus"]
        assert "materialize" in alone["released_corpus"]
        assert published(installation) == []


def test_a_batch_that_passes_is_seen_in_all_these_places(shipped):
    """The control: what the tests above find empty is filled otherwise."""
    kinds = {
        found.name.partition("-")[0] if hasattr(found, "name") else type(found).__name__
        for found in published(shipped)
    }

    assert kinds == {
        "notes.jsonl",
        "manifest.json",
        "notes",
        "receipt.json",
        "releases.json",
        "releases.lock",
        "ReleaseRow",
    }


@pytest.mark.long
def test_a_detector_that_does_not_load_stops_the_batch_and_says_why(installation, note_records):
    installation.configure(
        installation.default_settings + "[detectors.stencil]\nimport_fails = true\n"
    )
    batch = installation.receive(note_records())

    failures = installation.failures(installation.run(batch, *RELEASE))

    assert (
        "PluginError: detector 'stencil' does not load (RuntimeError)" in failures["spans_stencil"]
    )
    assert "no model file" not in str(failures)
    assert published(installation) == []


def alter_table(asset, table):
    def tamper(installation):
        (path,) = (installation.store / zone(asset) / asset / installation.batch).glob(
            f"{table}-*.parquet"
        )
        found = pq.read_table(path)
        pq.write_table(found.slice(1), path)

    return tamper


def alter_receipt(asset):
    def tamper(installation):
        path = installation.store / zone(asset) / asset / installation.batch / "receipt.json"
        receipt = json.loads(path.read_text())
        receipt["counts"]["forged"] = 1
        path.chmod(0o600)
        path.write_text(json.dumps(receipt))

    return tamper


def remove_receipt(asset):
    def tamper(installation):
        (installation.store / zone(asset) / asset / installation.batch / "receipt.json").unlink()

    return tamper


def swap_receipt(installation):
    """Put a genuine receipt of another asset in place of one."""
    folder = installation.store / "internal"
    genuine = folder / "gold_annotations" / installation.batch / "receipt.json"
    (folder / "merged_spans" / installation.batch / "receipt.json").write_bytes(
        genuine.read_bytes()
    )


def take_in_anew(asset):
    """Materialize one asset again under other settings, and nothing below it."""

    def tamper(installation):
        installation.configure(
            installation.default_settings.replace('["en"]', '["en", "fi"]')
            + "near_duplicates = 0.4\n[detectors.stencil]\nraise_on = 'nowhere'\n"
        )
        assert installation.failures(installation.run(installation.batch, asset)) == {}

    return tamper


def zone(asset):
    return "restricted" if asset.startswith(("raw_notes", "redacted_notes")) else "internal"


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (
            alter_table("redacted_notes_tag", "notes"),
            "redacted_notes_tag, batch {batch}: the file of table 'notes' was altered",
        ),
        (
            alter_table("spans_stencil", "spans"),
            "spans_stencil, batch {batch}: the file of table 'spans' was altered",
        ),
        (
            alter_table("raw_notes", "notes"),
            "raw_notes, batch {batch}: the file of table 'notes' was altered",
        ),
        (
            alter_table("quarantine", "failed"),
            "quarantine, batch {batch}: the file of table 'failed' was altered",
        ),
        (
            alter_receipt("merged_spans"),
            "merged_spans, batch {batch}: the receipt's signature does not match",
        ),
        (remove_receipt("gold_annotations"), "gold_annotations, batch {batch}: never written"),
        (
            swap_receipt,
            "merged_spans, batch {batch}: the receipt belongs to gold_annotations@{batch}",
        ),
        (take_in_anew("raw_notes"), "made from an earlier raw_notes@{batch}; re-materialize"),
        (
            take_in_anew("spans_stencil"),
            "merged_spans, batch {batch}: made from an earlier spans_stencil@{batch}",
        ),
    ],
)
def test_a_release_is_refused_when_anything_behind_it_was_changed(shipped, tamper, message):
    tamper(shipped)
    before = {path: path.read_bytes() for path in (shipped.home / "released").rglob("*.json*")}

    failures = shipped.failures(shipped.run(shipped.batch, "released_corpus"))

    assert message.format(batch=shipped.batch) in failures["released_corpus"]
    assert {
        path: path.read_bytes() for path in (shipped.home / "released").rglob("*.json*")
    } == before


def test_receipts_of_another_key_are_refused(shipped, monkeypatch):
    monkeypatch.setenv("DEID_KEY", "3c" * 32)

    failures = shipped.failures(shipped.run(shipped.batch, "released_corpus"))

    assert "signed with another key" in failures["released_corpus"]


@pytest.mark.long
def test_a_note_without_an_answer_is_quarantined_and_the_rest_is_released(
    installation, note_records
):
    installation.configure(
        installation.default_settings
        + "[gates.recall]\nALL = 0.5\n[detectors.stencil]\nraise_on = 'cataract'\n"
    )
    batch = installation.receive(note_records())
    assert installation.failures(installation.run(batch, *RELEASE)) == {}

    files = installation.opened().files
    held = files.read("quarantine", batch, "failed").to_pylist()
    lines = (installation.home / "released" / batch / "notes.jsonl").read_text().splitlines()

    assert [(one["note_id"], one["stage"], one["error"]) for one in held] == [
        ("note-3", "spans_stencil", "LookupError")
    ]
    assert (
        len(lines) + len(held)
        == files.receipt("quarantine", batch).counts["received"]
        == len(note_records())
    )
    assert not any("cataract" in line for line in lines)


@pytest.mark.long
def test_unreadable_notes_are_quarantined_with_the_kind_of_fault(installation, note_records):
    batch = installation.receive(
        [*note_records(), {"id": "note-8", "text": 5}, {"id": "note-9", "text": " \n"}]
    )
    assert installation.failures(installation.run(batch, *RELEASE)) == {}

    held = installation.opened().files.read("quarantine", batch, "failed").to_pylist()

    assert {(row["note_id"], row["stage"]) for row in held} == {
        ("note-8", "raw_notes"),
        ("note-9", "raw_notes"),
    }


def test_a_released_corpus_carries_new_ids_and_no_identifier(shipped, note_records):
    text = (shipped.home / "released" / shipped.batch / "notes.jsonl").read_text()

    for record in note_records():
        name, number = record["text"].split(",")[0], record["text"].split("record ")[1][:7]
        assert not any(
            value in text for value in (name, number, record["id"], record["patient_id"])
        )


@pytest.mark.long
def test_a_detector_outside_the_ensemble_changes_no_output_byte(shipped):
    released = shipped.home / "released" / shipped.batch / "notes.jsonl"
    opened = shipped.opened()
    before = (
        released.read_bytes(),
        opened.files.receipt("redacted_notes_tag", shipped.batch).outputs,
    )
    spans = opened.files.receipt("spans_shade", shipped.batch).outputs

    shipped.configure(shipped.default_settings + '[detectors.shade]\nskip = "NAME"\n')
    assert shipped.failures(shipped.run(shipped.batch)) == {}

    assert opened.files.receipt("spans_shade", shipped.batch).outputs != spans
    assert (
        released.read_bytes(),
        opened.files.receipt("redacted_notes_tag", shipped.batch).outputs,
    ) == before


def test_the_manifest_names_all_that_the_release_rests_on(shipped):
    folder = shipped.home / "released" / shipped.batch
    manifest = json.loads((folder / "manifest.json").read_text())

    assert manifest["receipts"].keys() == {
        f"{asset}@{shipped.batch}" for asset in ("arrival", *RELEASE)
    }
    rows = [row for rows in manifest["verdicts"].values() for row in rows.values()]
    assert all(row["passed"] or not row["applicable"] for row in rows)
    assert manifest["ensemble"].keys() == {"stencil"}
