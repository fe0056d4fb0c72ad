"""A release made again is compared with the one that it replaced, and the cause is named."""

import json

import pytest

pytestmark = pytest.mark.long

TRUNK = (
    "raw_notes",
    "gold_annotations",
    "spans_stencil",
    "merged_spans",
    "redacted_notes_tag",
    "quarantine",
    "release_report",
    "released_corpus",
    "release_diff",
)


def runs(installation):
    opened = installation.opened()
    rows = opened.files.read("release_diff", installation.batch, "runs").to_pylist()
    return {(row["release"], row["is_current"]) for row in rows}


def counts(installation):
    return installation.opened().files.receipt("release_diff", installation.batch).counts


def page(installation):
    return (installation.home / "reports" / f"release-diff-{installation.batch}.html").read_text()


def settings_of(made, more=""):
    return (
        made.default_settings.replace(
            "[gates]\n", "redact_gold = false\n[gates]\nrecall = { ALL = 0.0 }\n"
        )
        + more
    )


@pytest.fixture(scope="module")
def lenient_once(installed, tmp_path_factory, note_records):
    with installed(tmp_path_factory.mktemp("lenient")) as made:
        made.configure(settings_of(made))
        records = [
            {name: record[name] for name in record if name != "spans"} for record in note_records()
        ]
        made.batch = made.receive(records)
        assert made.failures(made.run(made.batch, *TRUNK)) == {}
    return made


@pytest.fixture
def lenient(lenient_once, copied, tmp_path):
    """A first release of which the gates let a second one leave record numbers in."""
    with copied(lenient_once, tmp_path / "copy") as copy:
        copy.settings_of = lambda more="": settings_of(copy, more)
        yield copy


def test_a_first_release_has_nothing_to_be_compared_with(lenient):
    assert counts(lenient)["compared"] == 0
    assert [is_current for _, is_current in runs(lenient)] == [True]
    html = page(lenient)
    assert "It has 16 replacements in 8 notes. There is no release before it" in html
    assert "Nothing differs" not in html
    assert "no replacements" not in html
    (verdict,) = lenient.opened().files.receipt("release_diff", lenient.batch).verdicts.values()
    assert (verdict["passed"], verdict["applicable"]) == (False, False)


def test_a_release_made_again_is_compared_with_the_one_before(lenient):
    lenient.configure(lenient.settings_of('[detectors.stencil]\nskip = "MRN"\n'))
    result = lenient.run(lenient.batch, *TRUNK[2:])

    assert lenient.failures(result) == {}
    assert (counts(lenient)["compared"], counts(lenient)["lost"], counts(lenient)["unchanged"]) == (
        8,
        8,
        8,
    )
    html = page(lenient)
    assert "56 characters that were replaced before are not replaced now" in html
    assert "stencil 1.0+" in html
    verdicts = lenient.opened().files.receipt("release_diff", lenient.batch).verdicts
    assert (verdicts["nothing_uncovered"]["passed"], verdicts["nothing_uncovered"]["blocking"]) == (
        False,
        False,
    )


def test_made_again_for_the_same_release_it_says_the_same(lenient):
    lenient.configure(lenient.settings_of('[detectors.stencil]\nskip = "MRN"\n'))
    lenient.run(lenient.batch, *TRUNK[2:])
    before, kept = page(lenient), runs(lenient)
    assert lenient.failures(lenient.run(lenient.batch, "release_diff")) == {}

    assert (page(lenient), runs(lenient)) == (before, kept)


def test_what_is_kept_aside_holds_no_text(lenient, note_records):
    rows = lenient.opened().files.read("release_diff", lenient.batch, "runs").to_pylist()
    kept = json.dumps(rows)

    assert not [
        record["text"].split(",")[0]
        for record in note_records()
        if record["text"].split(",")[0] in kept
    ]
    assert len(rows) == 8
