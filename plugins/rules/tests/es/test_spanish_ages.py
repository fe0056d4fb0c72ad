"""Ages over 89 carry their kind, whichever rule sees them first: a policy decides by it."""

from __future__ import annotations

import pytest

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_rules import RulesDetector


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Edad: 92 años. Sexo: M.", "over_89"),
        ("Varón de 92 años de edad.", "over_89"),
        ("PACIENTE DE 101 AÑOS.", "over_89"),
        ("Mujer de noventa y tres años.", "over_89"),
        ("Edad: 89 años.", ""),
        ("Niño de 9 años.", ""),
    ],
)
def test_an_age_tells_whether_it_is_over_89(text: str, kind: str) -> None:
    (spans,) = RulesDetector(langs=("es",)).detect([Note("age", text, lang="es")])
    assert [(span.label, span.native_label) for span in spans] == [(Phi.AGE, kind)]
