"""What an audited asset stores and shows, tried with bodies of a few lines."""

import asyncio
from dataclasses import replace

import dagster as dg
import pyarrow as pa
import pytest

from deid_assets.assets.declarations import AssetDeclaration, AssetOutput, Check
from deid_assets.assets.display import Link
from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.note import Note
from deid_assets.defs.audit import build_audited_asset
from deid_assets.formats import format_named
from deid_assets.intake.stops import find_stop
from deid_assets.quality import Verdict
from deid_assets.store.files import UnsignedReceipt

BATCH = "b-0"
SCHEMA = pa.schema([pa.field("rows", pa.int64())])
TABLE = pa.table({"rows": [1, 2, 3]}, schema=SCHEMA)
DECLARATION = AssetDeclaration(
    key="quarantine",
    checks=[Check("gate", "Must hold."), Check("hint", "Should hold.", blocking=False)],
    deps=[],
    code_version="1",
    group="tests",
    description="For tests.",
    kinds={"parquet"},
    schema=SCHEMA,
)


def verdicts(**passed):
    return [
        Verdict(name, ok, name == "gate", {"bad": int(not ok)}, name) for name, ok in passed.items()
    ]


@pytest.fixture
def run(installation):
    """Make the asset with a body, and return Dagster's result."""
    installation.instance.add_dynamic_partitions("batches", [BATCH])

    def make(body):
        return dg.materialize(
            [build_audited_asset(body, DECLARATION)],
            partition_key=BATCH,
            instance=installation.instance,
            resources=installation.resources(),
            raise_on_error=False,
        )

    return make


def stored(installation):
    return installation.opened().files.find("quarantine", BATCH)


def drafted(found, *, publish=None):
    return lambda _batch, _corpus: AssetOutput(
        {"rows": TABLE}, [], found, counts={"notes": 3}, publish=publish
    )


@pytest.mark.parametrize(
    ("found", "is_stored"),
    [
        (verdicts(gate=True, hint=True), True),
        (verdicts(gate=True, hint=False), True),
        (verdicts(gate=False, hint=True), False),
        (verdicts(hint=True), False),
        (verdicts(gate=True), True),
        ([], False),
    ],
    ids=[
        "all pass",
        "a warning",
        "a failure",
        "no answer from the gate",
        "no answer from the hint",
        "no answer at all",
    ],
)
def test_only_what_passes_its_blocking_checks_is_stored(installation, run, found, is_stored):
    published = []

    result = run(drafted(found, publish=published.append))

    assert result.success == is_stored
    assert (stored(installation) is not None, len(published)) == (is_stored, is_stored)
    assert len(result.get_asset_materialization_events()) == is_stored
    given = {verdict.name: verdict.passed for verdict in found}
    rows = {row.check_name: row.passed for row in result.get_asset_check_evaluations()}
    assert rows == {"gate": given.get("gate", False), "hint": given.get("hint", False)}


def test_the_receipt_keeps_verdicts_and_counts_and_is_the_data_version(installation, run):
    result = run(drafted(verdicts(gate=True, hint=False)))

    receipt = stored(installation)
    assert receipt.verdicts["hint"] == {
        "passed": False,
        "blocking": False,
        "applicable": True,
        "counts": {"bad": 1},
    }
    assert receipt.counts == {"notes": 3}
    (event,) = result.get_asset_materialization_events()
    assert (
        event.step_materialization_data.materialization.tags["dagster/data_version"]
        == receipt.digest
    )
    assert event.step_materialization_data.materialization.metadata["dagster/row_count"].value == 3


def test_a_link_to_a_report_stands_before_the_counts(run):
    shown = {"words": "said", "report": Link("http://127.0.0.1:3001/release-b-1.html")}
    result = run(
        lambda *_: replace(drafted(verdicts(gate=True, hint=True))(BATCH, None), metadata=shown)
    )

    (event,) = result.get_asset_materialization_events()
    metadata = event.step_materialization_data.materialization.metadata
    assert [*metadata][:4] == ["report", "dagster/row_count", "notes", "words"]
    assert metadata["report"] == dg.MetadataValue.url(shown["report"])


def test_a_check_with_nothing_to_judge_is_a_warning_and_stores_without_passing(installation, run):
    found = [
        verdict.unless(nothing=True, why="no annotations")
        for verdict in verdicts(gate=True, hint=True)
    ]

    result = run(drafted(found))

    assert stored(installation).verdicts["gate"] == {
        "passed": False,
        "blocking": True,
        "applicable": False,
        "counts": {"bad": 0},
    }
    shown = {row.check_name: row for row in result.get_asset_check_evaluations()}["gate"]
    assert (shown.passed, shown.severity, shown.blocking) == (
        False,
        dg.AssetCheckSeverity.WARN,
        True,
    )
    assert shown.description == "Not applicable: no annotations. gate"
    assert shown.metadata["verdict"].value == "not applicable"


def test_what_failed_leaves_the_former_version_in_place(installation, run):
    run(drafted(verdicts(gate=True, hint=True)))
    before = stored(installation)

    run(drafted(verdicts(gate=False, hint=True)))

    assert stored(installation) == before


def chained(text):
    try:
        raise LookupError(text)  # noqa: TRY301 - the chain is what this is about
    except LookupError as error:
        raise RuntimeError(text) from error


class Panic(BaseException):
    """As that of a library written in Rust."""


def raising(error):
    def body(text):
        raise error(text)

    return body


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (raising(LookupError), "LookupError; nothing was stored"),
        (raising(MemoryError), "MemoryError; nothing was stored"),
        (chained, "RuntimeError; nothing was stored"),
        # pytest's loader gives no source that spells it out
        (raising(Panic), "BaseException; nothing was stored"),
        (raising(GeneratorExit), "GeneratorExit; nothing was stored"),
        (raising(InputError), "InputError; nothing was stored"),
        (raising(type("Zedmarlow", (ProvenanceError,), {})), "ProvenanceError; nothing was stored"),
        (raising(asyncio.CancelledError), "CancelledError; nothing was stored"),
        (raising(type("Zedmarlow", (Panic,), {})), "BaseException; nothing was stored"),
    ],
)
def test_of_a_foreign_error_only_the_class_is_shown_and_kept(installation, run, body, shown):
    """As a reader of a format, a trainer or a replacer may raise it."""
    result = run(lambda _batch, _corpus: body("Zedmarlow"))

    assert f"quarantine, batch {BATCH}: {shown}" in installation.failures(result)["quarantine"]
    stop = find_stop(installation.opened().files, "quarantine", BATCH)
    assert (stop.is_error, stop.reasons) == (True, (shown.partition(";")[0],))
    records = installation.instance.get_records_for_run(result.run_id).records
    assert not [record for record in records if "Zedmarlow" in record.event_log_entry.to_json()]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (lambda: Note("n-1", "a\ud800"), "NoteError: note 'n-1': "),
        (lambda: format_named("none"), "InputError: unknown format 'none'; choose one of"),
    ],
)
def test_what_our_own_code_raises_is_shown_as_it_is_for_it_holds_no_text(
    installation, run, body, shown
):
    result = run(lambda _batch, _corpus: body())

    assert installation.failures(result)["quarantine"].startswith(
        f"quarantine, batch {BATCH}: {shown}"
    )


@pytest.mark.parametrize("body", [chained, raising(Panic)], ids=["error", "panic"])
def test_an_error_while_publishing_fails_the_run_and_reports_no_materialization(
    installation, run, body
):
    result = run(drafted(verdicts(gate=True, hint=True), publish=lambda _: body("Zedmarlow")))

    assert not result.success
    assert result.get_asset_materialization_events() == []
    told = installation.failures(result)["quarantine"]
    assert "UnfinishedError: " in told
    assert "the tables are stored and not all was recorded; run it again" in told
    assert "Zedmarlow" not in told


def test_an_input_that_another_run_replaces_meanwhile_stops_the_asset(installation):
    """Else the receipt would name an input that was not read."""

    def write_input(opened, rows):
        table = pa.table({"rows": rows}, schema=SCHEMA)
        return opened.files.write(
            "gold_annotations", BATCH, {"rows": table}, receipt=UnsignedReceipt("1")
        )

    def body(batch, opened):
        opened.files.read("gold_annotations", batch, "rows")
        write_input(opened, [2])
        return AssetOutput(
            {"rows": TABLE},
            [opened.files.receipt("gold_annotations", batch)],
            verdicts(gate=True, hint=True),
        )

    write_input(installation.opened(), [1])
    installation.instance.add_dynamic_partitions("batches", [BATCH])
    result = dg.materialize(
        [build_audited_asset(body, replace(DECLARATION, deps=["gold_annotations"]))],
        partition_key=BATCH,
        instance=installation.instance,
        resources=installation.resources(),
        raise_on_error=False,
    )

    (message,) = installation.failures(result).values()
    assert f"gold_annotations@{BATCH} was made again while it was being read" in message
    assert stored(installation) is None


@pytest.mark.parametrize(
    "found",
    [
        [*verdicts(gate=True, hint=True), Verdict("stray", passed=False, blocking=True)],
        [*verdicts(gate=False, hint=True), *verdicts(gate=True)],
    ],
    ids=["no check asks for it", "two answers"],
)
def test_a_failed_verdict_is_never_passed_over(run, installation, found):
    (message,) = installation.failures(run(drafted(found))).values()

    assert "declare each as a check, and answer it once" in message
    assert stored(installation) is None
