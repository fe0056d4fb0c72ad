"""What a second run makes: nothing, or just what depends on the change."""

import shutil

import pytest

from deid_assets.defs.staleness import list_stale_assets
from deid_assets.store.files import ALL

pytestmark = pytest.mark.long

BELOW_MERGED = {
    "redacted_notes_tag",
    "redacted_notes_blackout",
    "quarantine",
    "released_corpus",
    "release_diff",
    "release_report",
}
BELOW_SPANS = {"merged_spans", *BELOW_MERGED}


def stale(installation, batch, *, instance=None):
    found = list_stale_assets(
        installation.definitions(), installation.opened(), batch, instance or installation.history
    )
    return {key.to_user_string() for key in found}


def test_nothing_is_stale_after_a_full_run(shipped):
    assert stale(shipped, shipped.batch) == set()
    assert stale(shipped, ALL) == set()


def test_everything_is_stale_for_an_instance_that_has_seen_nothing(shipped):
    assert stale(shipped, shipped.batch, instance=shipped.instance) >= {
        "raw_notes",
        "spans_shade",
        *BELOW_SPANS,
    }
    assert stale(shipped, ALL, instance=shipped.instance) == {
        "scorecard_stencil",
        "scorecard_shade",
        "evaluation_report_stencil",
        "evaluation_report_shade",
        "leaderboard",
    }


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "[gates]",
            "[detectors.shade]\nskip = 'MRN'\n[gates]",
            {"spans_shade"},
            id="option of a shadow",
        ),
        pytest.param(
            "[gates]",
            "[detectors.stencil]\nskip = 'MRN'\n[gates]",
            {"spans_stencil", *BELOW_SPANS},
            id="option of the ensemble",
        ),
        pytest.param(
            '"blackout"]',
            '"blackout", "keep_nothing"]',
            {"redacted_notes_keep_nothing"},
            id="one more policy",
        ),
        pytest.param(
            'release_policy = "tag"',
            'release_policy = "blackout"',
            {"quarantine", "released_corpus", "release_diff", "release_report"},
            id="another policy released",
        ),
        # In shadow it read a sample of the notes.
        pytest.param(
            '["stencil"]',
            '["stencil", "shade"]',
            {"spans_shade", *BELOW_SPANS},
            id="a longer ensemble",
        ),
        pytest.param(
            "[gates]", "resolve = 'majority'\n[gates]", BELOW_SPANS, id="another overlap policy"
        ),
    ],
)
def test_a_change_of_settings_makes_stale_what_depends_on_it(shipped, old, new, expected):
    shipped.configure(shipped.default_settings.replace(old, new))

    assert stale(shipped, shipped.batch) == expected


def test_an_altered_receipt_makes_its_asset_and_those_below_stale(shipped):
    (shipped.store / "internal" / "merged_spans" / shipped.batch / "receipt.json").write_text("{}")

    assert stale(shipped, shipped.batch) == BELOW_SPANS


def test_new_spans_make_the_score_card_and_the_leaderboard_stale(shipped):
    shipped.configure(shipped.default_settings + "[detectors.shade]\nskip = 'MRN'\n")
    shipped.run(shipped.batch, "spans_shade")

    assert stale(shipped, ALL) == {"scorecard_shade", "evaluation_report_shade", "leaderboard"}


def test_a_new_batch_with_gold_makes_the_score_cards_stale(shipped, note_records):
    batch = shipped.receive(note_records(20))
    shipped.run(batch, "raw_notes", "gold_annotations", "spans_stencil")

    assert stale(shipped, ALL) == {"scorecard_stencil", "evaluation_report_stencil", "leaderboard"}


def test_upstream_comes_first(shipped):
    order = [
        key.to_user_string()
        for key in list_stale_assets(
            shipped.definitions(), shipped.opened(), shipped.batch, shipped.instance
        )
    ]

    assert order.index("raw_notes") < order.index("spans_stencil") < order.index("merged_spans")
    assert (
        order.index("merged_spans")
        < order.index("redacted_notes_tag")
        < order.index("released_corpus")
    )


def spans_file(installation):
    (path,) = (installation.store / "internal" / "spans_stencil" / installation.batch).glob(
        "spans-*.parquet"
    )
    return path


@pytest.mark.parametrize(
    "harm", [lambda path: path.unlink(), lambda path: path.write_bytes(b"PAR1")]
)
def test_missing_or_damaged_spans_are_stale_with_all_that_follows(shipped, harm):
    harm(spans_file(shipped))

    assert stale(shipped, shipped.batch) == {"spans_stencil", *BELOW_SPANS}


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "notes.jsonl").write_text("{}\n"),
        lambda folder: (folder / ".91ab.part").write_text("left by a killed process"),
        lambda folder: (folder / "manifest.json").unlink(),
        shutil.rmtree,
        lambda folder: (folder.parent / "releases.json").write_text("{}"),
    ],
    ids=["altered", "leftover", "no manifest", "deleted", "list altered"],
)
def test_a_release_that_is_not_what_was_signed_is_stale(shipped, harm):
    harm(shipped.home / "released" / shipped.batch)

    assert stale(shipped, shipped.batch) == {"released_corpus", "release_diff"}


def test_an_older_release_put_back_is_stale_and_replaced(shipped, tmp_path):
    folder = shipped.home / "released" / shipped.batch
    shutil.copytree(folder, tmp_path / "older")
    shipped.configure(
        shipped.default_settings.replace('release_policy = "tag"', 'release_policy = "blackout"')
    )
    assert shipped.failures(shipped.run(shipped.batch)) == {}
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "older", folder)

    assert stale(shipped, shipped.batch, instance=shipped.instance) == {
        "released_corpus",
        "release_diff",
    }
    assert shipped.failures(shipped.run(shipped.batch, "released_corpus")) == {}
    assert "released_corpus" not in stale(shipped, shipped.batch, instance=shipped.instance)
