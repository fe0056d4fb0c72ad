"""What ran, what is late and what drifts, on a real graph."""

import re
from datetime import UTC, datetime

import dagster as dg
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from deid_assets.assets.metering import metrics_of
from deid_assets.assets.operating import read_profiles
from deid_assets.cli import app
from deid_assets.config.operation import WatchSettings
from deid_assets.core.errors import DeidError
from deid_assets.defs.jobs import step_job
from deid_assets.defs.operating import retraining_schedule
from deid_assets.intake.states import BatchState, BatchStatus, NoteTally
from deid_assets.operation.drift import BatchProfile, deviations
from deid_assets.operation.freshness import late_batches
from deid_assets.operation.layouts import layout_of
from deid_assets.operation.metrics import Metric, exposition
from deid_assets.store.files import UnsignedReceipt

pytestmark = pytest.mark.long
LINE = re.compile(r"# (HELP|TYPE) deid_.*|deid_[a-z0-9_]+(\{[a-z]+=\"[^\"]*\"\})? [0-9.e+-]+")
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


def checks_of(result):
    """Name of each check to what it said."""
    return {one.check_name: one for one in result.get_asset_check_evaluations()}


def status(batch, state, arrived_at):
    return BatchStatus(batch, state, NoteTally(), arrived_at=arrived_at)


def test_a_batch_is_late_where_it_arrived_long_ago_and_is_neither_released_nor_withdrawn():
    found = [
        status("b-1", BatchState.RELEASED, "2026-11-20T12:00:00+00:00"),
        status("b-2", BatchState.WAITING, "2026-11-24T12:00:00+00:00"),
        status("b-3", BatchState.STOPPED, "2026-11-25T11:00:00+00:00"),
        status("b-4", BatchState.NEW, "2026-11-26T11:00:00+00:00"),
        status("b-5", BatchState.WITHDRAWN, "2026-11-20T12:00:00+00:00"),
    ]
    late = late_batches(found, within_hours=24, now=NOW)
    assert [(one.batch, one.state) for one in late] == [
        ("b-2", BatchState.WAITING),
        ("b-3", BatchState.STOPPED),
    ]
    assert "deid batches show b-2" in late[0].line


def test_one_release_makes_no_other_batch_fresh_and_the_check_names_those_that_are_late(
    installation, note_records
):
    installation.configure(
        installation.default_settings
        + "[watch]\nrelease_within_hours = 0.00001\nprice_per_hour = 3.6\n"
    )
    batch = installation.receive(note_records())
    assert installation.failures(installation.run(batch)) == {}
    late = installation.receive(note_records(8), name="more.jsonl")

    result = installation.run(None, job="watch_operation")

    assert result.success
    (check,) = result.get_asset_check_evaluations()
    assert (check.check_name, check.passed, check.severity) == (
        "releases_fresh",
        False,
        dg.AssetCheckSeverity.WARN,
    )
    said = check.metadata["reasons"].value
    assert late in said
    assert batch not in said
    page = (installation.home / "reports" / "operation.html").read_text()
    assert late in page
    assert "EUR" in page
    runs = installation.opened().files.read("operation", "all", "runs").to_pylist()
    (run,) = [one for one in runs if one["batches"] == 1]
    assert (run["notes"], run["spans"]) == (8, 16)
    assert run["notes_per_second"] == pytest.approx(8 / run["seconds"], rel=0.01)
    assert run["cost"] == pytest.approx(run["seconds"] / 1000, rel=0.01)
    assert "Zed" not in page

    opened = installation.opened()
    text = exposition(metrics_of(opened.settings, opened.files))
    assert 'deid_batches{state="released"} 1\n' in text
    assert 'deid_batches{state="new"} 1\n' in text
    assert 'deid_notes{state="released"} 8\n' in text
    assert "deid_batches_late 1\n" in text
    assert 'deid_asset_notes_total{asset="spans_stencil"} 8\n' in text
    assert re.search(r"^deid_last_release_timestamp_seconds 1[0-9]{9}$", text, re.MULTILINE)
    assert batch not in text
    assert "Zed" not in text
    assert all(map(LINE.fullmatch, text.splitlines()))
    out = installation.root / "deid.prom"
    assert CliRunner().invoke(app, ["metrics", "--out", str(out)]).exit_code == 0
    assert out.read_text().splitlines()[0] == text.splitlines()[0]
    assert out.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (Metric("Batches", "gauge", "x"), "small letters"),
        (Metric("batches", "gauge", "x", "state", {'Jane "Lee"': 1}), "is not shown"),
        (Metric("batches", "gauge", "x", "state", {"a\nb": 1}), "is not shown"),
    ],
)
def test_what_could_be_text_is_no_label(metric, said):
    with pytest.raises(DeidError, match=said):
        exposition([metric])


def test_annotations_are_learnt_from_once(installation, note_records):
    schedule = retraining_schedule(
        step_job("train", "step", id, description="", step_description="")
    )

    def asked():
        context = dg.build_schedule_context(
            instance=installation.instance,
            resources=installation.resources(),
            scheduled_execution_time=NOW,
        )
        with context:
            return schedule.evaluate_tick(context)

    assert "no recipe" in asked().skip_message
    recipe = installation.root / "own.toml"
    recipe.write_text('name = "own"\nplugin = "crf"\ncorpora = ["gold"]\n')
    settings = installation.default_settings.replace("recipes = []", f'recipes = ["{recipe}"]')
    installation.configure(settings)
    assert "nothing is annotated" in asked().skip_message
    made(installation, installation.receive(note_records()))
    (first,), (again,) = asked().run_requests, asked().run_requests
    assert first.run_key == again.run_key
    made(installation, installation.receive(note_records(8), name="more.jsonl"))
    (later,) = asked().run_requests
    assert later.run_key != first.run_key


def made(installation, batch):
    """Write the receipt of a batch's annotations, as the graph does."""
    table = pa.table({"note_id": pa.array([batch], pa.string())})
    counts = {"annotated_notes": 8}
    installation.opened().files.write(
        "gold_annotations", batch, {"notes": table}, receipt=UnsignedReceipt("1", counts=counts)
    )


def test_a_batch_is_counted_once_and_again_when_it_is_made_again(installation, note_records):
    batch = installation.receive(note_records())
    read = ("raw_notes", "gold_annotations", "spans_stencil", "merged_spans")
    assert installation.failures(installation.run(batch, *read)) == {}
    result = installation.run(None, job="watch_drift")
    assert {one.metadata["verdict"].value for one in checks_of(result).values()} == {
        "not applicable"
    }
    (profile,) = read_profiles(installation.opened().files)
    assert (profile.batch, profile.notes, profile.labels) == (batch, 8, {"MRN": 8, "NAME": 8})
    assert profile.languages == {"en": 8}
    assert 0 < profile.unknown < profile.words
    assert sum(row[0] for row in profile.layouts) == 8
    assert counted(installation.run(None, job="watch_drift")) == 0
    page = (installation.home / "reports" / "drift.html").read_text()
    assert batch in page
    assert "Zed" not in page


def counted(result):
    (made,) = result.get_asset_materialization_events()
    return made.materialization.metadata["counted_now"].value


PROSE = "The patient was seen on the ward today and was well. She went home with her daughter.\n"
TABLE = "LABORATORY\n\nHb     7.2   mmol/l\nNa     140   mmol/l\nK      4.2   mmol/l\n"


def profile(
    at, *, spans=100, words=10_000, unknown=1_000, labels=None, languages=None, layouts=None
):
    labels = labels or {"NAME": spans // 2, "DATE": spans - spans // 2}
    return BatchProfile(
        f"b-{at}",
        f"2026-11-{at + 1:02}",
        "",
        100,
        words,
        unknown,
        labels,
        languages or {"en": 100},
        layouts or [[100, *layout_of(PROSE)]],
    )


@pytest.mark.parametrize(
    ("other", "measure"),
    [
        ({"spans": 40}, "spans_per_1000_words"),
        ({"unknown": 2_000}, "unknown_words"),
        ({"labels": {"NAME": 90, "DATE": 10}}, "label_mix"),
        ({"languages": {"en": 40, "de": 60}}, "language_mix"),
        ({"layouts": [[60, *layout_of(PROSE)], [40, *layout_of(TABLE)]]}, "new_layouts"),
    ],
)
def test_a_batch_that_differs_is_off_in_what_differs_and_no_other_is(other, measure):
    usual = [profile(at, spans=100 + at % 3, unknown=1_000 + 10 * at) for at in range(7)]
    assert not any(one.is_off for one in deviations(usual, WatchSettings()))
    found = deviations([*usual, profile(7, **other)], WatchSettings())
    assert [(one.batch, one.measure) for one in found if one.is_off] == [("b-7", measure)]
    (off,) = (one for one in found if one.is_off)
    assert off.batch in off.line


def test_batches_that_always_differed_are_usual():
    rates = [50, 150, 60, 140, 55, 145, 50, 150]
    usual = [profile(at, spans=rate) for at, rate in enumerate(rates)]
    found = deviations([*usual, profile(8, spans=150)], WatchSettings(drift_after=8))
    assert not [one for one in found if one.is_off and one.measure == "spans_per_1000_words"]


def test_a_small_batch_is_not_off_by_chance():
    usual = [profile(at, spans=1_000) for at in range(6)]
    small = profile(6, words=100, unknown=10, labels={"NAME": 1})
    found = deviations([*usual, small], WatchSettings())
    assert [one.measure for one in found if one.is_off and one.measure == "label_mix"] == []


def test_a_batch_without_notes_is_not_judged_and_one_before_does_not_count():
    empty = BatchProfile("b-0", "2026-11-01", "", 0, 0, 0, {}, {})
    usual = [empty, *(profile(at) for at in range(1, 7))]
    assert not any(one.is_off for one in deviations(usual, WatchSettings()))
    after = BatchProfile("b-9", "2026-11-09", "", 0, 0, 0, {}, {})
    assert not any(one.batch == "b-9" for one in deviations([*usual, after], WatchSettings()))
