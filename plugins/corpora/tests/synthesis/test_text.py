import datetime as dt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import OffsetError
from deid_assets.core.phi import Phi
from deid_synthesis.calendars import age_on, draw_birth_date
from deid_synthesis.layout import draw_style, lay_out
from deid_synthesis.text import Piece, Text

WORDS = st.text("ab Zé\n", max_size=12)
PIECES = st.lists(st.one_of(WORDS, st.builds(Piece, WORDS, st.sampled_from(Phi))), max_size=12)


@given(PIECES)
def test_spans_cover_exactly_the_labelled_pieces(parts):
    text = Text.of(*parts)
    whole = str(text)
    labelled = [piece.text for piece in text.pieces if piece.label and piece.text]
    assert [whole[span.start : span.end] for span in text.spans()] == labelled


@given(PIECES, PIECES)
def test_addition_joins_texts(left, right):
    joined = Text.of(*left) + Text.of(*right)
    assert str(joined) == str(Text.of(*left)) + str(Text.of(*right))
    assert joined == Text.of(*left, *right)


def test_a_plain_string_can_be_added():
    assert str(Text.of(Piece("Lee", Phi.NAME)) + " came.") == "Lee came."


def test_overwriting_with_another_length_is_refused():
    with pytest.raises(OffsetError, match="another length"):
        Text.of("abc").overwrite("ab")


def test_text_is_hidden_from_repr():
    assert "Lee" not in repr(Text.of(Piece("Lee", Phi.NAME)))
    assert "Lee" not in repr(Piece("Lee", Phi.NAME))


@given(PIECES, st.integers(0, 500))
def test_layout_keeps_labels_and_letters(parts, seed):
    text = Text.of(*parts)
    shown = lay_out(text, draw_style(Random(seed)))
    assert [piece.label for piece in shown.pieces] == [piece.label for piece in text.pieces]
    before, after = ("".join(str(t).split()).lower().replace("é", "e") for t in (text, shown))
    assert before == after


@given(st.integers(1, 100), st.dates(dt.date(2012, 1, 1), dt.date(2026, 1, 1)), st.integers())
def test_a_birth_date_gives_the_age_asked_for(age, day, seed):
    assert age_on(draw_birth_date(age, day, Random(seed)), day) == age
