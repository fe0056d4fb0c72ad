"""Ages over 89 carry their kind, whichever rule sees them first: a policy decides by it."""

from __future__ import annotations

import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_rules import RulesDetector


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Leeftijd: 92 jaar. Geslacht: V.", "over_89"),
        ("Een 94-jarige vrouw.", "over_89"),
        ("MAN, 101 JR, GEVALLEN.", "over_89"),
        ("Een drieënnegentigjarige weduwe.", "over_89"),
        ("Deze vitale negentiger valt.", "over_89"),
        ("Hij werd 93.", "over_89"),
        ("Leeftijd: 89 jaar.", ""),
        ("Een tachtigjarige man.", ""),
        ("Jongen van 9 jaar.", ""),
    ],
)
def test_an_age_tells_whether_it_is_over_89(text: str, kind: str) -> None:
    (spans,) = RulesDetector(langs=("nl",)).detect([Note("age", text, lang="nl")])
    assert [(span.label, span.native_label) for span in spans] == [(Phi.AGE, kind)]
