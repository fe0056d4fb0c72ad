"""What is left and damaged is counted, and the published estimate comes out with an interval around
it.
"""

from dataclasses import replace

import pytest

from deid_assets.core.span import DisjointSpans
from deid_assets.extending import ConfigError, Note, Phi, Span
from deid_assets.extending.audits import Case, Key, Material, Outcome
from deid_assets.privacy.running import run_audit
from deid_audits.meanings import meaning_of
from deid_audits.running import write_page
from deid_reidentification import Residue
from deid_reidentification.residue import DAMAGED, LEFT, LEFT_AT_LEAST, count

KEY = Key(bytes(range(32)))
TEXT = "Dr Quillon knows Alzheimer and fractures well."


def case(number, *, missed=False, wrong=False):
    note = Note(f"n{number}", TEXT, f"p{number}", "en")
    name = Span(3, 10, Phi.NAME)
    eponym = Span(TEXT.index("Alzheimer"), TEXT.index("Alzheimer") + 9, Phi.NAME)
    found = [*([] if missed else [name]), *([eponym] if wrong else [])]
    return Case(note, DisjointSpans.of(note, [name]), DisjointSpans.of(note, found))


def run(cases, **options):
    return run_audit(Residue(**options), Material(key=KEY, cases=cases))


def test_what_was_found_missed_and_damaged_is_counted():
    cases = [case(number, missed=number < 3, wrong=number % 2 == 0) for number in range(100)]
    counts = count(cases).by_category["NAME"]

    assert (counts.found, counts.missed, counts.right, counts.wrong) == (97, 3, 97, 50)
    result = run(cases)
    assert [row for row in result.tables[1].rows if row[1] == "alzheimer"] == [
        ("eponyms", "alzheimer", 50)
    ]
    assert result.outcome is Outcome.PASSED


def test_annotations_are_not_measured_on_themselves():
    cases = [case(number) for number in range(100)]
    result = run_audit(Residue(), Material(key=KEY, cases=cases, predictions=False))

    assert result.outcome is Outcome.NOT_ASSESSED
    assert "spans of a detector, which annotations are not (--spans)" in result.reason


def test_the_page_says_what_a_figure_means_once(tmp_path):
    cases = [case(number, missed=number < 3) for number in range(100)]
    figures = [
        replace(figure, group=group)
        for group in ("CITY", "NAME")
        for figure in run(cases).figures
        if figure.name in (LEFT, DAMAGED)
    ]
    write_page(tmp_path / "page.html", [replace(run(cases), figures=tuple(figures))])
    page = (tmp_path / "page.html").read_text()

    assert len(figures) == 4
    assert page.count(f"{LEFT[0].upper()}{LEFT[1:]}") == 1
    assert page.count(meaning_of(LEFT)) == 1
    assert [page.count(f">{group}</th>") for group in ("CITY", "NAME")] == [2, 2]


def test_clinical_terms_and_eponyms_inside_a_wrong_span_are_listed_with_counts():
    text = "Left tibia, Alzheimer's and so on."
    note = Note("n", text, "p", "en")
    wrong = [Span(0, 10, Phi.NAME), Span(12, 23, Phi.NAME)]
    counted = count([Case(note, DisjointSpans.of(note, []), DisjointSpans.of(note, wrong))] * 3)

    assert counted.terms["common_words", "tibia"] == 3
    assert counted.terms["eponyms", "alzheimer"] == 3


def test_half_a_name_that_is_left_is_missed():
    whole = case(1)
    half = Case(whole.note, whole.gold, DisjointSpans.of(whole.note, [Span(3, 6, Phi.NAME)]))

    assert count([half]).by_category["ALL"].missed == 1


def test_the_published_estimate_lies_in_the_interval():
    """Vakili (2025): 12,525,688 first names predicted at precision .98 and recall .97 leave 0.38
    million.
    """
    cases = [case(number, missed=number < 30, wrong=number >= 980) for number in range(1_000)]
    figures = {
        figure.name.split(",")[0]: figure
        for figure in run(cases, predicted={"NAME": 12_525_688}).figures
    }

    left = figures["identifiers left"]
    assert left.value == pytest.approx(0.38e6, rel=0.02)
    assert left.low < 0.38e6 < left.high


def test_what_is_left_is_multiplied_by_an_exposure_that_is_said_to_be_assumed():
    """Vakili et al. (2022).

    3 % of the names remain, fewer than 10 % of those are exposed: below 0.3 %.
    """
    cases = [case(number, missed=number < 30) for number in range(1_000)]
    result = run(cases, exposure=0.1)

    risk = next(one for one in result.figures if "exposed" in one.name and one.group == "NAME")
    assert risk.value == pytest.approx(0.003)
    assert (risk.low, risk.high) == pytest.approx((0.0021, 0.0043), abs=1e-4)
    assert "assumption" in result.blind_spots[-1]
    assert not any("exposed" in one.name for one in run(cases).figures)
    with pytest.raises(ConfigError, match=r"exposure is 2"):
        Residue(exposure=2)


def test_too_many_misses_fail():
    result = run([case(number, missed=number % 4 == 0) for number in range(100)])

    assert (result.outcome, "lower end" in result.reason) == (Outcome.FAILED, True)


def found_of_mrn(found, marked, *, names=1_000, label=Phi.MRN):
    """Notes whose names are all found, with a second identifier in some, found in some."""
    cases = []
    for number in range(names):
        one = case(number)
        number_span = Span(17, 26, Phi.MRN)
        gold = [*one.gold, *([number_span] if number < marked else [])]
        seen = [*one.found, *([replace(number_span, label=label)] if number < found else [])]
        cases.append(
            Case(one.note, DisjointSpans.of(one.note, gold), DisjointSpans.of(one.note, seen))
        )
    return run(cases)


@pytest.mark.parametrize(
    ("found", "marked", "said"),
    [
        (0, 30, "MRN: 0 of 30 found"),
        (0, 1, "MRN: 0 of 1 found"),
        (1, 30, "MRN: 1 of 30 found"),
        (9, 30, "MRN: 9 of 30 found"),
        (0, 2, "MRN: 0 of 2 found"),
    ],
)
def test_a_category_that_was_lost_fails_whatever_else_was_found(found, marked, said):
    result = found_of_mrn(found, marked)

    assert result.outcome is Outcome.FAILED
    assert said in result.reason


@pytest.mark.parametrize(("found", "marked"), [(30, 30), (1, 1), (1, 2), (20, 30), (0, 0)])
def test_a_category_of_which_half_may_be_found_does_not(found, marked):
    assert found_of_mrn(found, marked).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("found", "label", "left"), [(0, Phi.MRN, 30), (10, Phi.PHONE, 20), (0, Phi.PHONE, 30)]
)
def test_what_no_rate_tells_of_is_bounded_by_what_was_missed(found, label, left):
    figures = found_of_mrn(found, 30, label=label).figures
    (row,) = [one for one in figures if one.name.startswith("identifiers left, at least")]

    assert row.name == LEFT_AT_LEAST
    assert (row.group, row.value, row.low, row.units) == ("MRN", left, left, 30)
    assert meaning_of(row.name) == meaning_of(LEFT)
    assert {one.group for one in figures if one.name.startswith("identifiers left")} == {
        "MRN",
        "NAME",
    }


@pytest.mark.parametrize("marked", [0, 1])
def test_notes_without_marked_identifiers_are_not_assessed(marked):
    cases = [
        replace(one, gold=DisjointSpans.of(one.note, [])) if number >= marked else one
        for number, one in enumerate(case(at) for at in range(30))
    ]
    result = run(cases)

    assert result.outcome is Outcome.NOT_ASSESSED
    assert "fewer than two identifiers are marked" in result.reason


@pytest.mark.parametrize(
    "options", [{"least_found": 2.0}, {"predicted": {"PERSON": 3}}, {"predicted": {"NAME": -1}}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ConfigError):
        Residue(**options)
