"""Annotations go over to the redacted text and back, and a replacement is never cut in two."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import OffsetError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.edits.maps import EditMap, MadeBy, Replaced, edit_map
from deid_edit_maps.carry import Meeting, carry, stretches

KEY = Key(bytes(32))
BY = MadeBy("deid-assets 0", "tag", "0" * 64)
TEXT = "Dr. Lee saw Ann at noon."
#       0         1         2
LEE, ANN = (4, 7), (12, 15)


class Fixed:
    """Writes the same for every span."""

    def __init__(self, replacement):
        self.replacement = replacement

    def __call__(self, text, span, context):
        return self.replacement if self.replacement != text else "#"


def mapped(text, ranges, replacement="[NAME]"):
    note = Note("n", text)
    spans = DisjointSpans.of(
        note, [Span(start, end, Phi.NAME, 1.0, "rules") for start, end in ranges]
    )
    redacted = redact(note, spans, Policy("p", Fixed(replacement)), key=KEY)
    return redacted.text, edit_map(note, redacted, spans, key=KEY, made_by=BY)


def go(edits, start, end, *, back=False):
    chars = edits.new_chars if back else edits.chars
    return carry(start, end, stretches(edits, to_original=back), chars=chars)


@pytest.mark.parametrize(
    ("start", "end", "expected", "meeting"),
    [
        pytest.param(8, 11, "saw", Meeting.CLEAR, id="between two replacements"),
        pytest.param(0, 4, "Dr. ", Meeting.CLEAR, id="up to a replacement"),
        pytest.param(7, 12, " saw ", Meeting.CLEAR, id="from one to the next"),
        pytest.param(4, 7, "[NAME]", Meeting.WHOLE, id="the replaced span itself"),
        pytest.param(0, 11, "Dr. [NAME] saw", Meeting.WHOLE, id="around one"),
        pytest.param(0, 24, "Dr. [NAME] saw [NAME] at noon.", Meeting.WHOLE, id="around all"),
        pytest.param(5, 6, "[NAME]", Meeting.WIDENED, id="inside one"),
        pytest.param(0, 5, "Dr. [NAME]", Meeting.WIDENED, id="ends inside one"),
        pytest.param(
            6, 13, "[NAME] saw [NAME]", Meeting.WIDENED, id="from inside one to inside the next"
        ),
    ],
)
def test_a_range_holds_whole_replacements(start, end, expected, meeting):
    text, edits = mapped(TEXT, [LEE, ANN])

    (left, right), met = go(edits, start, end)

    assert (text[left:right], met) == (expected, meeting)


@pytest.mark.parametrize(
    ("start", "end", "expected", "meeting"),
    [
        pytest.param(4, 7, None, Meeting.LOST, id="all of it was taken out"),
        pytest.param(5, 6, None, Meeting.LOST, id="inside what was taken out"),
        pytest.param(0, 7, "Dr. ", Meeting.WHOLE, id="with what was taken out at its end"),
        pytest.param(6, 11, " saw", Meeting.WIDENED, id="began in what was taken out"),
        pytest.param(0, 11, "Dr.  saw", Meeting.WHOLE, id="around it"),
    ],
)
def test_what_lay_in_text_that_was_taken_out_is_lost_and_said_so(start, end, expected, meeting):
    text, edits = mapped(TEXT, [LEE, ANN], replacement="")

    place, met = go(edits, start, end)

    assert (text[slice(*place)] if place else None, met) == (expected, meeting)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, 4, "Dr. "), (4, 8, " saw"), (0, 8, "Dr. Lee saw"), (3, 5, " Lee ")],
)
def test_back_to_the_original_what_was_taken_out_belongs_to_a_range_only_if_it_is_around_it(
    start, end, expected
):
    _, edits = mapped(TEXT, [LEE], replacement="")

    place, _ = go(edits, start, end, back=True)

    assert TEXT[slice(*place)] == expected


@pytest.mark.parametrize(("start", "end"), [(0, 0), (3, 2), (-1, 4), (0, 25)])
def test_a_range_outside_the_text_is_refused(start, end):
    _, edits = mapped(TEXT, [LEE])

    with pytest.raises(OffsetError):
        go(edits, start, end)


@st.composite
def redactions(draw):
    text = draw(st.text(alphabet=string.ascii_letters + " ñ\n😀", min_size=1, max_size=60))
    bounds = draw(st.lists(st.integers(0, len(text)), max_size=12, unique=True).map(sorted))
    ranges = [(a, b) for a, b in zip(bounds[::2], bounds[1::2], strict=False)]
    return text, *mapped(
        text, ranges, replacement=draw(st.sampled_from(["", "[X]", "a longer one", "y"]))
    )


@st.composite
def redactions_with_a_range(draw):
    text, new_text, edits = draw(redactions())
    start = draw(st.integers(0, len(text) - 1))
    return text, new_text, edits, start, draw(st.integers(start + 1, len(text)))


@given(redactions_with_a_range())
def test_a_range_that_meets_no_replacement_has_the_same_text(case):
    text, new_text, edits, start, end = case

    place, met = go(edits, start, end)

    is_clear = all(edit.end <= start or end <= edit.start for edit in edits.edits)
    assert (met is Meeting.CLEAR) is is_clear
    if is_clear:
        assert new_text[slice(*place)] == text[start:end]


@given(redactions_with_a_range())
def test_a_range_goes_over_and_comes_back_around_itself(case):
    _, _, edits, start, end = case

    place, met = go(edits, start, end)
    if place is None:
        assert any(edit.new_start == edit.new_end for edit in edits.edits)
        return
    (back_start, back_end), _ = go(edits, *place, back=True)

    if met is Meeting.CLEAR:
        assert (back_start, back_end) == (start, end)
    elif all(edit.new_start < edit.new_end for edit in edits.edits):
        assert back_start <= start
        assert back_end >= end


@given(redactions_with_a_range())
def test_no_replacement_is_cut(case):
    _, _, edits, start, end = case

    place, _ = go(edits, start, end)

    for edit in edits.edits if place else ():
        assert not edit.new_start < place[0] < edit.new_end
        assert not edit.new_start < place[1] < edit.new_end


@given(redactions_with_a_range(), st.data())
def test_order_is_kept(case, data):
    text, _, edits, start, end = case
    other = data.draw(st.integers(end, len(text)))
    if other == len(text):
        return
    place, _ = go(edits, start, end)
    after, _ = go(edits, other, len(text))

    if place and after and not any(edit.start < end and other < edit.end for edit in edits.edits):
        assert place[1] <= after[0]


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param(
            [Replaced(4, 7, 4, 10, Phi.NAME), Replaced(6, 9, 9, 12, Phi.NAME)], id="overlapping"
        ),
        pytest.param(
            [Replaced(8, 9, 8, 9, Phi.NAME), Replaced(4, 7, 4, 7, Phi.NAME)], id="out of order"
        ),
        pytest.param([Replaced(4, 7, 5, 8, Phi.NAME)], id="with a gap"),
        pytest.param([Replaced(20, 30, 20, 30, Phi.NAME)], id="out of bounds"),
    ],
)
def test_a_map_that_does_not_lead_from_one_text_to_the_other_is_refused(edits):
    with pytest.raises(OffsetError, match="note 'n'"):
        EditMap("n", "0" * 64, "0" * 64, 24, 24, tuple(edits), BY)
