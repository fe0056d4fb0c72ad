"""Score cards that add up, reports, what each detector adds, and the bake-off, in real runs."""

import io
import json
import re

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from deid_assets.intake.states import batch_ids, look_at_all
from deid_assets.quickstart.overview import show_overview
from deid_assets.quickstart.steps import waiting
from deid_assets.store.files import ALL
from deid_assets.store.frames import scores_from_table

pytestmark = pytest.mark.long

NAMES_ONLY = "[detectors.shade]\nskip = 'MRN'\n"
CHAIN = ("raw_notes", "gold_annotations", "spans_stencil", "spans_shade")


def metadata_of(result, asset):
    (found,) = [
        event.materialization
        for event in result.get_asset_materialization_events()
        if event.asset_key.to_user_string() == asset
    ]
    return found.metadata


def check_of(result, asset, name):
    (found,) = [
        evaluation
        for evaluation in result.get_asset_check_evaluations()
        if evaluation.asset_key.to_user_string() == asset and evaluation.check_name == name
    ]
    return found


@pytest.fixture(scope="module")
def two_batches_once(installed, tmp_path_factory, note_records):
    with installed(tmp_path_factory.mktemp("batches")) as made:
        made.configure(made.default_settings + NAMES_ONLY)
        for first in (0, 20):
            batch = made.receive(note_records(first), name=f"notes-{first}.jsonl")
            assert made.failures(made.run(batch, *CHAIN)) == {}
    return made


@pytest.fixture(scope="module")
def scored_once(two_batches_once, copied, tmp_path_factory):
    with copied(two_batches_once, tmp_path_factory.mktemp("scored") / "copy") as made:
        result = made.run_scores()
        assert made.failures(result) == {}
    return made, result


@pytest.fixture(scope="module")
def late_once(two_batches_once, copied, tmp_path_factory, note_records):
    with copied(two_batches_once, tmp_path_factory.mktemp("late") / "copy") as made:
        batch = made.receive(note_records(40), name="late.jsonl")
        assert made.failures(made.run(batch, *CHAIN[:3])) == {}
        result = made.run_scores()
    return made, result


@pytest.fixture(scope="module")
def without_gold_once(installed, tmp_path_factory, note_records):
    with installed(tmp_path_factory.mktemp("plain")) as made:
        made.configure(made.default_settings)
        batch = made.receive(note_records(gold=False))
        assert made.failures(made.run(batch, *CHAIN)) == {}
    return made


@pytest.fixture
def late(late_once, copied, tmp_path):
    """The two batches and a third that ``shade`` did not read, after the nightly run."""
    made, result = late_once
    with copied(made, tmp_path / "copy") as copy:
        yield copy, result


@pytest.fixture
def without_gold(without_gold_once, copied, tmp_path):
    """A batch that nobody annotated."""
    with copied(without_gold_once, tmp_path / "copy") as copy:
        yield copy


@pytest.fixture
def two_batches(two_batches_once, copied, tmp_path):
    """Two batches with gold; ``shade`` finds names alone."""
    with copied(two_batches_once, tmp_path / "copy") as copy:
        yield copy


@pytest.fixture
def scored(scored_once, copied, tmp_path):
    """The two batches after the nightly run, and what Dagster says of the run."""
    made, result = scored_once
    with copied(made, tmp_path / "copy") as copy:
        yield copy, result


def test_the_counts_of_batches_add_up_to_the_score_card(scored):
    made, result = scored

    per_batch = scores_from_table(made.opened().files.read("scorecard_shade", ALL, "scores"))
    shown = metadata_of(result, "scorecard_shade")["batches"].value.splitlines()
    total = sum(per_batch.values(), type(next(iter(per_batch.values())))("safe_harbor"))

    assert len(per_batch) == 2
    assert [row.split("|")[2:4] for row in shown[2:4]] == [[" 8 ", " 16 "]] * 2
    assert shown[-1] == "| **all** | 16 | 32 | 16 | 16 | 0 | 16 |"
    assert total.notes.notes == 16


def test_the_leaderboard_says_what_each_detector_adds(scored):
    made, result = scored

    rows = {
        row["detector"]: row
        for row in made.opened().files.read("leaderboard", ALL, "marginal").to_pylist()
    }
    shown = metadata_of(result, "leaderboard")

    assert rows["stencil"]["recall_gained"] == pytest.approx(0.5)
    assert rows["shade"]["recall_gained"] == 0
    assert rows["shade"]["recall_alone"] == pytest.approx(0.5)
    assert rows["stencil"]["seconds_per_1000_notes"] > 0
    assert "Best subset: stencil, which covers 1.000" in shown["marginal_value"].value
    assert "Seconds are of detection alone" in shown["marginal_value"].value
    assert "data:image/png" in shown["plot"].value


def test_the_cost_on_the_leaderboard_is_detection_time_over_all_batches(two_batches, note_records):
    from deid_assets.store import records
    from deid_assets.store.records import save_detector_version

    opened = two_batches.opened()
    plugin = opened.plugins["shade"]
    with opened.database.session() as session:
        version = save_detector_version(session, "shade", plugin.version, digest=plugin.digest)
        for batch, (notes, seconds) in zip(
            opened.files.batches("spans_shade"), [(8, 1.0), (32, 3.0)], strict=True
        ):
            records.save_detection(session, batch, version, notes=notes, seconds=seconds)
        session.commit()
    two_batches.run_scores()

    rows = {
        row["detector"]: row
        for row in two_batches.opened().files.read("leaderboard", ALL, "marginal").to_pylist()
    }
    assert rows["shade"]["seconds_per_1000_notes"] == 100.0


def test_a_detector_that_misses_a_batch_narrows_the_leaderboard_and_turns_it_amber(late):
    made, result = late

    totals = scores_from_table(made.opened().files.read("leaderboard", ALL, "scores"))
    assert {name: total.notes.notes for name, total in totals.items()} == {
        "stencil": 16,
        "shade": 16,
    }
    fair = check_of(result, "leaderboard", "same_gold")
    assert (fair.passed, fair.metadata["behind"].value) == (False, 1)


def test_every_detector_has_a_page_and_a_document(scored, note_records):
    made, result = scored

    page = (made.home / "reports" / "evaluation-shade.html").read_text("utf-8")
    document = json.loads((made.home / "reports" / "evaluation-shade.json").read_text("utf-8"))

    assert document["gold"]["notes"] == 16
    assert document["results"]["shade"]["covered"]["value"] == pytest.approx(0.5)
    assert metadata_of(result, "evaluation_report_shade")["html"].value.endswith(
        "evaluation-shade.html"
    )
    for record in note_records():
        name = record["text"].split(",")[0]
        assert name not in page + json.dumps(document)


def test_without_gold_there_is_no_page_and_no_failure(without_gold):
    result = without_gold.run_scores()

    assert without_gold.failures(result) == {}
    assert not list((without_gold.home / "reports").glob("evaluation-*"))
    assert "No annotated spans" in metadata_of(result, "leaderboard")["marginal_value"].value


def test_a_report_says_that_a_batch_is_missing(late_once):
    _, result = late_once

    assert check_of(result, "evaluation_report_stencil", "gold_covered").passed
    assert not check_of(result, "evaluation_report_shade", "gold_covered").passed


def test_the_bake_off_puts_detectors_side_by_side_with_what_they_take(two_batches, note_records):
    result = two_batches.run(None, job="bakeoff_job")
    assert two_batches.failures(result) == {}

    shown = metadata_of(result, "bakeoff")
    document = json.loads((two_batches.home / "reports" / "bakeoff.json").read_text("utf-8"))
    page = (two_batches.home / "reports" / "bakeoff.html").read_text("utf-8")

    assert list(document["detectors"]) == ["stencil", "shade"]
    assert document["detectors"]["shade"]["micro"]["covered"]["recall"] == pytest.approx(0.5)
    assert document["detectors"]["shade"]["cost"]["notes"] == 16
    assert "| stencil | 1.000" in shown["table"].value
    assert "Best subset: stencil" in shown["marginal_value"].value
    assert "data:image/png" in shown["plot"].value
    assert check_of(result, "bakeoff", "all_took_part").passed
    for record in note_records():
        assert record["text"].split(",")[0] not in page + json.dumps(document)


def test_a_detector_that_misses_a_batch_is_left_out_and_missed(late):
    result = late[0].run(None, job="bakeoff_job")

    assert not check_of(result, "bakeoff", "all_took_part").passed
    assert metadata_of(result, "bakeoff")["detectors"].value == 1


def test_a_detector_that_does_not_load_is_said_and_keeps_no_score(two_batches):
    two_batches.configure(two_batches.default_settings + NAMES_ONLY + "import_fails = true\n")

    result = two_batches.run(None, job="bakeoff_job")

    assert two_batches.failures(result) == {}
    assert not check_of(result, "bakeoff", "all_ran").passed
    assert "does not load \\(RuntimeError\\)" in metadata_of(result, "bakeoff")["table"].value


def test_without_gold_a_bake_off_is_refused(without_gold):
    failures = without_gold.failures(without_gold.run(None, job="bakeoff_job"))

    assert (
        "InputError: no detector has spans in every batch with annotated notes"
        in failures["bakeoff"]
    )


def test_altered_spans_stop_a_report_and_a_bake_off(two_batches):
    path, *_ = (two_batches.store / "internal" / "spans_shade").glob("*/spans-*.parquet")
    pq.write_table(pq.read_table(path).slice(1), path)

    scores = two_batches.failures(two_batches.run_scores())
    bakeoff = two_batches.failures(two_batches.run(None, job="bakeoff_job"))

    assert "the file of table 'spans' was altered" in scores["scorecard_shade"]
    assert "the file of table 'spans' was altered" in bakeoff["bakeoff"]
    assert not (two_batches.home / "reports" / "bakeoff.html").exists()


def test_notes_that_arrived_in_several_batches_are_scored_once_everywhere(scored, note_records):
    two_batches, before = scored
    again = two_batches.receive(
        [{**one, "id": f"copy-{one['id']}"} for one in note_records(20)], name="copy.jsonl"
    )
    assert two_batches.failures(two_batches.run(again, *CHAIN, "merged_spans")) == {}

    after = two_batches.run_scores()

    opened = two_batches.opened()
    for card in ("scorecard_stencil", "scorecard_shade", "evaluation_report_shade", "leaderboard"):
        counts = [metadata_of(result, card)["annotated_notes"].value for result in (before, after)]
        assert counts == [16, 16], card
    assert metadata_of(after, "scorecard_shade")["arrived_before"].value.startswith(
        "8 annotated notes of 1 batches"
    )
    repeated = waiting(opened, look_at_all(opened.settings, opened.files)).repeated
    assert repeated == {}  # the first two are not merged, so nothing is known of their notes yet
    for batch in set(batch_ids(opened.settings)) - {again}:
        two_batches.run(batch, "merged_spans")
    waits = waiting(opened, look_at_all(opened.settings, opened.files))
    assert list(waits.repeated.values()) == [8]
    assert "8 notes are in an earlier batch too, and are scored once" in " ".join(waits.lines())


def test_the_closing_table_has_every_detector_and_the_ensemble_on_the_same_notes(two_batches):
    two_batches.configure(two_batches.default_settings + NAMES_ONLY + "\n")
    for batch in batch_ids(two_batches.settings()):
        two_batches.run(batch, "merged_spans")
    two_batches.run_scores()
    opened, console = two_batches.opened(), Console(record=True, width=160, file=io.StringIO())

    show_overview(opened, look_at_all(opened.settings, opened.files), [], console)

    shown = console.export_text()
    assert "On the same 16 annotated notes" in shown
    rows = [
        re.findall(r"[\w.]+", line)
        for line in shown.splitlines()
        if re.search("stencil|shade|ensemble merged", line)
    ]
    assert {row[-6] for row in rows if row[0] in ("stencil", "shade", "ensemble")} == {"32"}
