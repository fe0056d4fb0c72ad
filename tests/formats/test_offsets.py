"""Sources that count bytes or UTF-16 units give the same spans as those that count code points."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.label_maps import PHI
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span
from deid_assets.formats import Fault, ReadOptions, read_notes
from deid_assets.formats.annotated import Annotation, ParsedNote
from deid_assets.formats.assemble import assemble
from deid_assets.formats.offsets import to_code_points

texts = st.text(st.sampled_from("aé€\u0301\U0001f468\r\n"), max_size=20)
WIDTHS = {
    "codepoint": len,
    "utf8": lambda text: len(text.encode()),
    "utf16": lambda text: len(text.encode("utf-16-le")) // 2,
}


@pytest.mark.parametrize("unit", WIDTHS)
@given(text=texts)
def test_every_boundary_comes_back_and_nothing_else_does(unit, text):
    width = WIDTHS[unit]
    boundaries = {width(text[:point]): point for point in range(len(text) + 1)}
    offsets = range(-2, width(text) + 3)
    assert to_code_points(text, offsets, unit) == {
        offset: boundaries.get(offset) for offset in offsets
    }


@pytest.mark.parametrize("unit", WIDTHS)
@given(text=texts.filter(bool), place=st.data())
def test_a_span_means_the_same_in_every_unit(unit, text, place):
    start = place.draw(st.integers(0, len(text) - 1))
    end = place.draw(st.integers(start + 1, len(text)))
    width = WIDTHS[unit]
    foreign = Annotation(((width(text[:start]), width(text[:end])),), "NAME", text[start:end])
    annotated = assemble(ParsedNote("f", "n", text, (foreign,)), PHI, ReadOptions(offsets=unit))
    assert annotated.spans.spans == (Span(start, end, Phi.NAME),)


@pytest.mark.parametrize(
    ("unit", "start", "end"),
    [("utf8", 0, 2), ("utf8", 3, 4), ("utf16", 1, 2), ("utf16", 0, 9), ("codepoint", 0, 4)],
)
def test_an_offset_inside_a_character_or_outside_the_note_withholds_it(unit, start, end, tmp_path):
    path = tmp_path / "n.jsonl"
    record = {
        "id": "n1",
        "text": "\U0001f468ab",
        "spans": [{"start": start, "end": end, "label": "NAME"}],
    }
    path.write_text(json.dumps(record))
    (fault,) = read_notes(path, options=ReadOptions(offsets=unit))
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.line, fault.note_id) == ("offset", 1, "n1")
