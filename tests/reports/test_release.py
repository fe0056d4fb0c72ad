import datetime as dt
from dataclasses import replace

import pytest

from deid_assets.core.errors import InputError
from deid_assets.evaluation.score import Evaluation
from deid_assets.reports import (
    CheckResult,
    Component,
    ProvenanceStep,
    Quarantined,
    Received,
    ReleaseSummary,
    release_html,
)

BLOCKED = CheckResult("no_survivor", passed=False, blocking=True, counts={"missed": 3})
VOID = CheckResult(
    "recall_floor", passed=False, blocking=True, counts={"labels": 0}, applicable=False
)
WARNED = CheckResult("near_duplicates", passed=False, blocking=False, counts={"share": 0.31})


@pytest.fixture
def measured(passing, good):
    """Arguments of a release that passes, with gold."""
    return {**passing, "evaluation": good}


@pytest.mark.parametrize(
    ("change", "verdict", "reason"),
    [
        ({}, "Passed", "No check failed: 2 passed, 0 failed, 0 not applicable."),
        ({"more": VOID}, "Passed", "2 passed, 0 failed, 1 not applicable."),
        ({"evaluation": None}, "Not measured", "No note of this batch is annotated."),
        (
            {"not_measured": "None of the 9 notes is annotated."},
            "Not measured",
            "None of the 9 notes is annotated.",
        ),
        (
            {"evaluation": None, "more": BLOCKED},
            "Failed: do not release",
            "Blocking check no_survivor failed.",
        ),
        ({"checks": (VOID,)}, "Failed: do not release", "No blocking check had anything to judge."),
        ({"more": WARNED}, "Passed with warnings", "Check near_duplicates failed."),
        ({"more": BLOCKED}, "Failed: do not release", "Blocking check no_survivor failed."),
        ({"checks": ()}, "Failed: do not release", "No blocking check had anything to judge."),
        (
            {"checks": (replace(WARNED, passed=True),)},
            "Failed: do not release",
            "No blocking check had anything to judge.",
        ),
        (
            {"released": 1_197},
            "Failed: do not release",
            "1,204 received, 1,197 released, 6 in quarantine.",
        ),
        ({"released": 1_199}, "Failed: do not release", "Notes do not add up"),
        ({"quarantined": ()}, "Failed: do not release", "1,198 released, 0 in quarantine."),
    ],
)
def test_the_verdict_stands_first(measured, page_of, change, verdict, reason):
    if "more" in change:
        change = {**change, "checks": (*measured["checks"], change["more"])}
        del change["more"]
    page = page_of(release_html(ReleaseSummary(**{**measured, **change})))

    assert page.strong[0] == verdict
    assert reason in page.text
    leaves = not verdict.startswith("Failed")
    tile = "Notes to release" if leaves else "Notes redacted"
    assert page.text.index(verdict) < page.text.index(tile)
    assert ("none is released" in page.text) is not leaves


def test_failed_checks_are_listed_before_those_that_passed(passing, page_of):
    page = page_of(
        release_html(ReleaseSummary(**{**passing, "checks": (*passing["checks"], WARNED, BLOCKED)}))
    )

    assert [row[0] for row in page.table("A blocking check that fails stops")] == [
        "✗ failed",
        "! warning",
    ]
    everything = page.table("Those that did not pass come first")
    assert [row[0] for row in everything] == ["✗ failed", "! warning", "✓ passed", "✓ passed"]
    assert everything[0][-1] == "missed 3"
    assert everything[2][1].startswith("Nothing was altered.")


def test_what_was_not_applicable_is_neither_listed_as_failed_nor_as_passed(passing, page_of):
    page = page_of(
        release_html(ReleaseSummary(**{**passing, "checks": (*passing["checks"], VOID)}))
    )

    assert "What did not pass" not in page.headings
    assert [row[0] for row in page.table("Those that did not pass come first")] == [
        "– not applicable",
        "✓ passed",
        "✓ passed",
    ]


def test_a_batch_that_was_not_measured_is_amber_and_says_what_follows(release, page_of):
    html = release_html(replace(release, consequence="It may leave all the same."))

    assert 'class="verdict warned"' in html
    assert "It may leave all the same." in page_of(html).text


def test_counts_carry_thousands_separators(release, page_of):
    page = page_of(release_html(release))

    assert page.tiles["Notes to release"] == ["1,198", "of 1,204 received"]
    assert page.tiles["Notes in quarantine"] == ["6", "2 reasons"]
    assert page.tiles["Spans redacted"] == ["3,132", "in 2 categories"]
    assert page.tiles["Blocking checks passed"] == [
        "1",
        "0 failed, 0 not applicable; 1 more can only warn",
    ]


def test_quarantine_is_told_by_stage_and_reason(release, page_of):
    assert page_of(release_html(release)).table("6 of 1,204 notes") == [
        ["landing", "NoteError", "2"],
        ["spans_crf", "TimeoutError", "4"],
    ]


def test_every_category_has_its_action_and_its_spans_by_detector(release, page_of):
    assert page_of(release_html(release)).table("What policy safe_harbor does") == [
        ["NAME", "surrogate", "3,120", "", "2,990", "2,810"],
        ["DATE", "tag (default)", "12", "", "0", "12"],
        ["URL", "tag (default)", "0", "", "7", "0"],
        ["PROFESSION", "keep", "0", "", "0", "0"],
        ["Any other category", "tag (default)", "", "", "", ""],
    ]


def test_ensemble_and_chain_show_full_digests(release, page_of):
    page = page_of(release_html(release))

    assert page.table("Spans of the ensemble")[0] == ["rules", "0.4.1", "ensemble", "a" * 64]
    assert page.table("Receipts from")[0] == [
        "raw_notes",
        "2026-11-05 22:00:10",
        "b" * 64 + "0.1.0",
    ]


def test_a_reader_learns_what_arrived_from_whom_and_whether_somebody_must_approve(release, page_of):
    at = dt.datetime(2026, 11, 5, 21, 0, tzinfo=dt.UTC)
    arrival = Received(at, files=3, sender="ward-7", languages={"de": 900, "en": 304})

    page = page_of(release_html(replace(release, arrival=arrival, needs_approval=True)))
    assert (
        "Arrived 5 November 2026, 21:00 UTC, 3 files from ward-7 · Notes by language: de 900,"
        " en 304" in page.text
    )
    assert "deid approve release-b-2026-11-20.03.html --by NAME" in page.text

    page = page_of(release_html(replace(release, arrival=replace(arrival, files=1, sender=""))))
    assert "1 file from a sender not recorded" in page.text
    assert "Approval: not asked for" in page.text


def test_passed_above_notes_not_fully_covered_says_what_annotations_hid(
    passing, weak, good, page_of
):
    release = ReleaseSummary(**passing, evaluation=weak)
    said = "something would be left in 10 of the 10 annotated notes that hold identifiers"

    page = page_of(release_html(release))
    assert page.strong[0] == "Passed"
    assert page.text.index(said) < page.text.index("Notes to release")
    assert "It is hidden all the same, because people had annotated it." in page.text

    page = page_of(release_html(replace(release, redacts_annotated=False)))
    assert "These notes are in quarantine" in page.text
    assert "would be left" not in page_of(release_html(replace(release, evaluation=good))).text


def test_a_release_without_a_chain_says_so(passing, page_of):
    page = page_of(release_html(ReleaseSummary(**{**passing, "chain": (), "ensemble": ()})))

    assert "this page cannot show how the release was made" in page.text


def test_without_gold_the_page_says_that_recall_is_unknown(release, page_of):
    page = page_of(release_html(release))

    assert page.strong[0] == "Not measured"
    assert page.text.index("No note of this batch is annotated.") < page.text.index(
        "Notes to release"
    )
    assert "This batch has no annotated notes, so recall was not measured." in page.text
    assert page.tiles["Identifiers that detectors covered"] == ["n/a", "no annotated notes"]


def test_gold_without_a_span_does_not_read_as_a_score(passing, page_of):
    page = page_of(release_html(ReleaseSummary(**passing, evaluation=Evaluation("harmonised"))))

    assert "hold no identifier under profile harmonised, so recall was not measured" in page.text
    assert "1.000" not in page.text


def test_scores_come_with_their_interval(passing, weak, page_of):
    page = page_of(
        release_html(ReleaseSummary(**passing, evaluation=weak, gold="10 notes, annotated twice"))
    )

    assert "What detectors found without the annotations: 10 notes, annotated twice." in page.text
    # 10 of 30 spans covered: Wilson's limits are 0.192 and 0.512.
    assert page.tiles["Identifiers that detectors covered"][:2] == [
        "0.333",
        "[0.192, 0.512] 10 of 30",
    ]
    # Per note of 22 characters, 3 are predicted outside gold.
    assert page.tiles["Characters covered needlessly"] == ["30", "1,363.6 per 10,000 characters"]
    assert page.tiles["Strict F1"] == ["0.000", "precision 0.000 recall 0.000"]
    assert page.table("Merged spans by label") == [
        ["DATE", "10", "0.000 [0.000, 0.278]", "", *["0.000"] * 3, *["1.000"] * 3, "0.800"],
        [
            "LOCATION",
            "10",
            "0.000 [0.000, 0.278]",
            "",
            "n/a",
            "0.000",
            "0.000",
            "n/a",
            "0.000",
            "0.000",
            "0.000",
        ],
        ["NAME", "10", "1.000 [0.722, 1.000]", "", *["0.000"] * 3, *["1.000"] * 3, "1.000"],
        ["ID", "0", "n/a", "", "0.000", "n/a", "0.000", "0.000", "n/a", "0.000", "n/a"],
        ["All (micro)", "30", "0.333 [0.192, 0.512]", "", *["0.000"] * 3, *["0.667"] * 3, "0.583"],
        ["Mean (macro)", "", "", "", "0.000", "0.000", "0.000", "0.667", "0.667", "0.500", ""],
    ]


def test_what_is_out_of_scope_is_told_apart(passing, weak, page_of):
    evaluation = replace(weak, out_of_scope={"PROFESSION": 1_204, "SEX": 3})

    page = page_of(release_html(ReleaseSummary(**passing, evaluation=evaluation)))

    assert "because nobody annotated them: PROFESSION 1,204, SEX 3." in page.text


def test_the_date_is_written_in_utc(passing, page_of):
    zone = dt.timezone(dt.timedelta(hours=2))
    moved = {**passing, "created_at": dt.datetime(2026, 11, 6, 0, 4, tzinfo=zone)}

    assert "5 November 2026, 22:04 UTC" in page_of(release_html(ReleaseSummary(**moved))).text


def test_every_word_given_is_escaped(passing, weak, probe, page_of):
    release = ReleaseSummary(
        **{
            **passing,
            "batch": probe,
            "policy": probe,
            "checks": (CheckResult(probe, False, True, {probe: 1}, probe, probe),),
            "actions": {probe: probe},
            "default_action": probe,
            "redacted": {probe: 1},
            "found": {probe: {probe: 1}},
            "quarantined": (Quarantined(probe, probe, 6),),
            "ensemble": (Component(probe, probe, probe, probe),),
            "chain": (ProvenanceStep(probe, probe, probe, probe, probe),),
            "evaluation": replace(weak, profile=probe, out_of_scope={probe: 2}),
            "gold": probe,
            "limits": (probe,),
            "code_version": probe,
        }
    )
    page = page_of(release_html(release))

    assert page.tags.isdisjoint({"script", "img"})
    assert page.text.count(probe) >= 25


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"created_at": dt.datetime(2026, 11, 5)},  # noqa: DTZ001 - the fault under test
            "no time zone",
        ),
        ({"received": -1}, "negative"),
        ({"redacted": {"NAME": -1}}, "negative"),
        ({"quarantined": (Quarantined("landing", "NoteError", -2),)}, "negative"),
    ],
)
def test_a_summary_that_cannot_be_true_is_refused(passing, change, fault):
    with pytest.raises(InputError, match=fault):
        ReleaseSummary(**{**passing, **change})
