"""Expected numbers, by hand, and small parts of the document."""

import pytest

from deid_assets.core.errors import InputError
from deid_assets.evaluation.counts import Counts, Evaluation, Scheme
from deid_assets.evaluation.intervals import wilson
from deid_assets.evidence.document import MeasureStanding, Statement, worst_of
from deid_assets.evidence.pdf import pdf_of
from deid_assets.evidence.rates import (
    ExpectedNumber,
    estimate_missed,
    estimate_notes,
    estimate_per_thousand,
)
from deid_assets.evidence.recall import AnnotatedGroup, DetectionRecall
from deid_assets.evidence.risk import estimate_left, search_told, why_no_number, words_left
from deid_assets.evidence.wording import list_words, many, percent


def test_what_is_left_follows_from_recall_and_precision():
    # 90 of 100 annotated identifiers found, 10 marks needless: recall and precision are 0.9 each.
    # Of 200 replaced spans 180 were real, which are nine tenths of 200: 20 are left.
    found = estimate_missed(200, Counts(90, 10, 10))

    assert found.value == pytest.approx(20)
    low, high = wilson(90, 100)
    assert found.low == pytest.approx(200 * low * (1 - high) / high)
    assert found.high == pytest.approx(200 * high * (1 - low) / low)
    assert found.low < found.value < found.high


def test_nothing_found_or_annotated_gives_no_number():
    assert estimate_missed(200, Counts()) is None
    assert estimate_missed(200, Counts(0, 3, 7)) is None
    assert estimate_notes(5, 0, 0) is None
    assert estimate_per_thousand(0, Counts(1, 0, 0)) is None
    assert estimate_per_thousand(3, Counts()) is None


def test_nothing_replaced_leaves_nothing_by_these_rates():
    assert str(estimate_missed(0, Counts(90, 10, 10))) == "0.0 [0.0, 0.0]"


def test_notes_and_thousands_are_shares_of_the_annotated():
    low, high = wilson(8, 10)
    assert estimate_notes(50, 8, 10) == ExpectedNumber(
        pytest.approx(10), pytest.approx(50 * (1 - high)), pytest.approx(50 * (1 - low))
    )
    # 20 identifiers in 10 notes, 2 of them missed: 200 a thousand notes
    assert estimate_per_thousand(10, Counts(18, 0, 2)).value == pytest.approx(200)


def recall_of(counts, *, replaced):
    """What is known of detection where five released notes are not annotated."""
    kinds = (AnnotatedGroup("direct", counts, replaced), AnnotatedGroup("indirect", Counts()))
    evaluation = Evaluation("gdpr", {"NAME": {Scheme.COVERED: counts}})
    return DetectionRecall(evaluation, kinds[:1], (), kinds, 4, 5, replaced, replaced)


def test_where_nothing_was_found_or_replaced_no_number_is_given_and_the_reason_is():
    nothing = recall_of(Counts(0, 3, 7), replaced=12)
    assert estimate_left(nothing, 12, nothing.covered) is None
    assert why_no_number(nothing).startswith("Of 7 annotated identifiers none was found, so")

    still = recall_of(Counts(9, 0, 1), replaced=0)
    assert estimate_left(still, 0, still.covered) is None
    assert why_no_number(still).startswith("In 5 notes that nobody annotated nothing was replaced")

    assert why_no_number(recall_of(Counts(), replaced=3)).startswith("Nothing was annotated")
    found = recall_of(Counts(90, 10, 10), replaced=200)
    assert estimate_left(found, 200, found.covered).value == pytest.approx(20)


def test_a_search_of_a_draw_says_nothing_of_what_was_not_searched():
    counts = {"notes": 1990, "notes_searched": 1000, "notes_with_hits": 3, "notes_withheld": 1}
    drawn = search_told({**counts, "notes_drawn": 1000, "upper_bound": 0.008})
    assert "text of 1,000 notes, drawn by key" in drawn
    assert "Of the 1,990 notes that were let through, the others were not searched" in drawn
    # the draw had too many, so that all were searched
    whole = search_told({**counts, "notes_searched": 2000, "notes_drawn": 1000})
    assert "text of all notes" in whole
    assert "text of all notes" in search_told({**counts, "notes_searched": 1991})
    assert "drawn by key" in search_told(counts)  # of a study, whose counts tell of no draw


def test_parts_of_names_that_are_left_are_told():
    counts = {"values": 12, "missed": 0, "lower_case": 0, "name_parts": 0}
    assert words_left(counts).endswith("none is left whole.")
    told = words_left({**counts, "name_parts": 3, "lower_case": 1})
    assert "Left are 3 words of longer names on their own, and 1 value of one word in lower" in told


def test_half_a_pdf_is_none(tmp_path, monkeypatch):
    program = tmp_path / "chromium"
    program.write_text(
        '#!/bin/sh\nfor one in "$@"; do case $one in --print-to-pdf=*)'
        " echo %PDF-1.4 > ${one#--print-to-pdf=};; esac; done\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="printed no whole PDF"):
        pdf_of("<p>All is well.</p>")


def test_a_number_without_an_upper_bound_says_so():
    assert str(ExpectedNumber(1234.4, 0.06, None)) == "1,234 [0.1, no upper bound]"


def test_the_worst_result_counts():
    assert (
        worst_of([MeasureStanding.PASSED, MeasureStanding.FAILED, MeasureStanding.WARNED])
        is MeasureStanding.FAILED
    )
    assert (
        worst_of([MeasureStanding.UNMEASURED, MeasureStanding.WARNED]) is MeasureStanding.UNMEASURED
    )
    assert worst_of([]) is MeasureStanding.UNMEASURED


def test_a_statement_without_a_source_is_refused():
    with pytest.raises(InputError, match="names no receipt"):
        Statement("All is well.", ())


def test_what_is_short_of_all_never_reads_as_all():
    assert percent(0.9999).replace("\N{NO-BREAK SPACE}", " ") == "99.9 %"
    assert percent(0.00001).replace("\N{NO-BREAK SPACE}", " ") == "0.1 %"
    assert (many(1, "note"), many(1200, "note")) == ("1 note", "1,200 notes")
    assert (list_words(["a"]), list_words(["a", "b", "c"]), list_words([])) == (
        "a",
        "a, b and c",
        "",
    )
