"""The template's rule in marked text, its options, and the contract every detector keeps."""

from __future__ import annotations

import pytest

from deid_assets.core.detector import Failed, detect
from deid_assets.testing import check_detector, mark, parse_marked
from deid_template import RecordNumberDetector

CASES = [
    "Admitted, MRN <MRN>123-45-67</MRN>.",
    "mrn: <MRN>123-45-67</MRN>\r\nMRN #<MRN>765-43-21</MRN>",
    # Near misses: no prefix, a longer number, another word that ends in the prefix.
    "Call 123-45-67.",
    "MRN 123-45-678",
    "XMRN 123-45-67",
]


@pytest.mark.parametrize("text", CASES)
def test_record_numbers_after_the_prefix_are_found(text: str) -> None:
    note, _ = parse_marked(text)

    (found,) = RecordNumberDetector().detect([note])

    assert mark(note, found) == text


def test_the_prefix_is_an_option() -> None:
    note, expected = parse_marked("Hosp. No. <MRN>123-45-67</MRN>, MRN 765-43-21")

    (found,) = RecordNumberDetector(prefix="Hosp. No.").detect([note])

    assert [(span.start, span.end) for span in found] == [
        (span.start, span.end) for span in expected
    ]


def test_an_impossible_score_fails_the_note_instead_of_clearing_it() -> None:
    note, _ = parse_marked("MRN <MRN>123-45-67</MRN>")

    assert detect(RecordNumberDetector(score=2.0), [note]) == [
        Failed("marked", "spans_template", "OffsetError")
    ]


def test_the_contract_holds() -> None:
    check_detector(RecordNumberDetector())
