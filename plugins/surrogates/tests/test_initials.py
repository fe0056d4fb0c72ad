"""The initial of a surrogate tells nothing of the original's, however many keys names are drawn
under.
"""

from __future__ import annotations

from collections import Counter

import pytest

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context
from deid_assets.core.span import Span
from deid_surrogates.surrogate import Surrogate

KEYS = 600


def draw(text: str, *, number: int, lang: str = "en") -> str:
    """A name's surrogate under one of many keys."""
    note = Note("n", text, patient_id="p", lang=lang)
    return Surrogate()(text, Span(0, len(text), Phi.NAME), Context(note, Key(b"%032d" % number)))


@pytest.mark.parametrize(
    ("lang", "names"), [("en", ("Smith", "Brown")), ("de", ("Schmidt", "Müller"))]
)
def test_the_originals_initial_is_drawn_as_often_as_for_any_other_name(lang, names):
    first, second = (
        Counter(draw(name, number=n, lang=lang)[0] for n in range(KEYS)) for name in names
    )

    assert first[names[0][0]] > 0
    for letter in first | second:
        # Two shares of 600 draws each: the difference stays within 4.5 standard deviations.
        pooled = (first[letter] + second[letter]) / (2 * KEYS)
        assert (
            abs(first[letter] - second[letter]) / KEYS
            < 4.5 * (2 * pooled * (1 - pooled) / KEYS) ** 0.5
        )


@pytest.mark.parametrize("name", ["Smith", "John", "Mary"])
def test_a_surrogate_with_the_originals_initial_is_another_name(name):
    drawn = [draw(name, number=n) for n in range(KEYS)]

    assert sum(other[0] == name[0] for other in drawn) > 5
    assert name not in drawn


def test_one_letter_alone_gets_the_tag_whatever_is_drawn_for_it():
    assert {draw(letter, number=n) for n in range(60) for letter in ("J.", "J")} == {"[NAME]"}
