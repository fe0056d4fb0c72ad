"""The index of words finds a value wherever a search of every note does."""

from __future__ import annotations

import random
import re

from deid_assets import Note
from deid_review.places import WordIndex

LETTERS = "aAbBßSs\u017f\u1e9e\u0130\u0131iIée\u0301Σσς_ -.'1²Kk\u212a\u00b5\u03bc\n"


def test_a_value_is_found_as_by_a_search_that_ignores_case():
    chance = random.Random(3)
    texts = ["".join(chance.choices(LETTERS, k=40)) for _ in range(60)]
    notes = {f"n{at}": Note(f"n{at}", text, f"p{at % 7}") for at, text in enumerate(texts)}
    index = WordIndex(notes)
    values = [text[at : at + chance.randrange(1, 6)] for text in texts for at in (3, 17, 30)]
    for value in filter(str.strip, values):
        words = r"\s+".join(map(re.escape, value.split()))
        pattern = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
        found = [
            (one.note_id, *place.span())
            for one in notes.values()
            for place in pattern.finditer(one.text)
        ]
        places = index.places(value)
        assert [(one.note_id, one.start, one.end) for one in places] == found, value
