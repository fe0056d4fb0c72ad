"""Number plans raise and lower the score of a candidate telephone number."""

from __future__ import annotations

import pytest

from deid_assets.core.note import Note
from deid_rules import RulesDetector
from deid_rules.phones import Phone, phone_in


@pytest.mark.parametrize(
    ("text", "regions", "phone"),
    [
        ("020 7946 0860", ("GB",), Phone.VALID),
        ("020\n7946 0860", ("GB",), Phone.VALID),
        ("(212) 555-0143 ext. 12", ("US",), Phone.VALID),
        ("+34 912 345 678", (), Phone.VALID),
        ("0034 912 345 678", (), Phone.VALID),
        ("912 345 678", (), Phone.IMPOSSIBLE),
        ("111-222-3333", ("US",), Phone.POSSIBLE),
        ("12", ("US",), Phone.IMPOSSIBLE),
        ("912 345 678", ("US", "ES"), Phone.VALID),
    ],
)
def test_a_number_is_judged_by_the_plans_of_its_regions(
    text: str, regions: tuple[str, ...], phone: Phone
) -> None:
    assert phone_in(*regions)(text) is phone


def test_a_valid_number_scores_more_than_a_possible_one() -> None:
    detector = RulesDetector()
    scores = [
        next(iter(next(iter(detector.detect([Note("n", text, lang="en")]))))).score
        for text in ("Kin: 020 7946 0860.", "Kin: 0999 999 9999.")
    ]
    assert scores[0] > scores[1]
