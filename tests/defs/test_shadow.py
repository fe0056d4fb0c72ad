"""A detector in shadow runs on a sample, is scored on that sample, and its score card says so."""

import pytest

from deid_assets.assets.detection import read_outcomes
from deid_assets.assets.shadow import draw_notes
from deid_assets.core.assets import Family
from deid_assets.store.files import ALL
from deid_assets.store.frames import scores_from_table

pytestmark = pytest.mark.long

CHAIN = ("raw_notes", "gold_annotations", "spans_stencil", "spans_shade", "merged_spans")


@pytest.fixture(scope="module")
def sampled_once(installed, tmp_path_factory, note_records):
    with installed(tmp_path_factory.mktemp("sampled")) as made:
        made.configure("shadow_sample = 3\n" + made.default_settings)
        made.batch = made.receive(note_records())
        assert made.failures(made.run(made.batch, *CHAIN)) == {}
    return made


@pytest.fixture
def sampled(sampled_once, copied, tmp_path):
    """A batch of eight notes with gold, of which a detector in shadow runs on three."""
    with copied(sampled_once, tmp_path / "copy") as copy:
        yield copy


def test_a_shadow_detector_is_scored_on_its_sample_and_says_so(sampled):
    result = sampled.run_scores()
    assert sampled.failures(result) == {}
    files = sampled.opened().files
    of = {
        name: scores_from_table(files.read(Family.SCORECARD.of(name), ALL, "scores"))
        for name in ("shade", "stencil")
    }
    (shade,), (stencil,) = of["shade"].values(), of["stencil"].values()
    said = {
        event.asset_key.to_user_string(): event.materialization.metadata["scored_on"].value
        for event in result.get_asset_materialization_events()
        if Family.SCORECARD.name_in(event.asset_key.to_user_string())
    }

    assert (shade.notes.notes, stencil.notes.notes) == (3, 8)
    assert (
        "on 3 of 8 notes, drawn at random by key; shadow_sample = 0 takes all"
        in said["scorecard_shade"]
    )
    assert said["scorecard_stencil"] == "every annotated note"
    totals = scores_from_table(files.read("leaderboard", ALL, "scores"))
    assert {name: total.notes.notes for name, total in totals.items()} == {"shade": 3, "stencil": 3}
    (fair,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "same_gold"]
    assert fair.passed  # the table is of the three notes that both ran on
    rows = {row["detector"]: row for row in files.read("leaderboard", ALL, "marginal").to_pylist()}
    # what was not drawn is not missed
    assert rows["shade"]["recall_alone"] == rows["stencil"]["recall_alone"] == 1.0


def test_the_receipt_names_the_sample_and_the_ensemble_has_none(sampled):
    files = sampled.opened().files
    shade, stencil = (
        files.receipt(Family.SPANS.of(name), sampled.batch).counts for name in ("shade", "stencil")
    )

    assert (shade["sampled_notes"], shade["received_notes"], shade["notes"]) == (3, 8, 3)
    assert "sampled_notes" not in stencil
    assert len(read_outcomes("spans_stencil", sampled.batch, sampled.opened())) == 8


def test_a_sample_never_stands_for_a_detector_of_the_ensemble(sampled):
    """Its spans are of another code version, and until they are made again the notes not drawn
    count as missed.
    """
    before = sampled.definitions()
    sampled.configure(
        "shadow_sample = 3\n"
        + sampled.default_settings.replace('["stencil"]', '["stencil", "shade"]')
    )
    after = sampled.definitions()
    versions = [
        {spec.key.to_user_string(): spec.code_version for spec in defs.resolve_all_asset_specs()}
        for defs in (before, after)
    ]
    result = sampled.run(sampled.batch, "merged_spans")

    assert versions[0]["spans_shade"] != versions[1]["spans_shade"]
    assert versions[0]["spans_stencil"] == versions[1]["spans_stencil"]
    assert (
        "not stored, because a check failed: check recall_floor"
        in sampled.failures(result)["merged_spans"]
    )


@pytest.mark.parametrize(("size", "taken"), [(0, 8), (3, 3), (8, 8), (100, 8)])
def test_the_option_takes_all(installation, note_records, size, taken):
    from deid_assets.core.note import Note

    installation.configure(f"shadow_sample = {size}\n" + installation.default_settings)
    opened = installation.opened()
    notes = [Note(str(record["id"]), str(record["text"])) for record in note_records()]

    found = draw_notes(notes, "shade", opened)
    assert len(found) == taken
    assert found == draw_notes(notes, "other", opened) == [note for note in notes if note in found]
    assert draw_notes(notes, "stencil", opened) == notes
