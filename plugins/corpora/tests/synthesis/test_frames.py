"""Composed notes as frames: other people, places and days, the same throughout a note."""

from __future__ import annotations

from collections import Counter

import pytest

from deid_assets import Note, Phi
from deid_assets.extending import DisjointSpans, InputError
from deid_synthesis.frames import frames, make_frame_corpus


@pytest.fixture(scope="module")
def made() -> list[tuple[Note, DisjointSpans]]:
    return list(make_frame_corpus(lang="sv", notes=40, seed=3))


def test_marks_stay_where_they_are_and_the_same_call_gives_the_same_notes(
    made: list[tuple[Note, DisjointSpans]],
) -> None:
    known = {frame.note_id: frame for frame in frames("sv")}
    for note, spans in made:
        frame = known[note.meta["frame"]]
        assert Counter(one.label for one in spans) == Counter(one.label for one in frame.marks)
        assert not any(note.text[one.start : one.end].startswith("[") for one in spans)
    again = [note.text for note, _ in make_frame_corpus(lang="sv", notes=4, seed=3)]
    assert again == [note.text for note, _ in made[:4]]


def test_hardly_a_name_of_a_frame_is_left_in_the_note_that_it_became(
    made: list[tuple[Note, DisjointSpans]],
) -> None:
    known = {frame.note_id: frame for frame in frames("sv")}
    left, names = 0, 0
    for note, spans in made:
        frame = known[note.meta["frame"]]
        own = [one for one in spans if one.label is Phi.NAME]
        marks = [one for one in frame.marks if one.label is Phi.NAME]
        for span, mark in zip(own, marks, strict=True):
            names += 1
            before = frame.text[mark.start : mark.end].casefold()
            left += note.text[span.start : span.end].casefold() == before and len(before) > 3
    assert names > 150
    assert left / names < 0.03


def test_a_name_is_exchanged_for_the_same_one_throughout_a_note() -> None:
    known = {frame.note_id: frame for frame in frames("en")}
    same = pairs = 0
    for note, spans in make_frame_corpus(lang="en", notes=15, seed=1):
        frame = known[note.meta["frame"]]
        became: dict[str, set[str]] = {}
        for span, mark in zip(spans, frame.marks, strict=True):
            if mark.label is Phi.NAME:
                before = frame.text[mark.start : mark.end].casefold()
                became.setdefault(before, set()).add(note.text[span.start : span.end].casefold())
        said_again = [own for before, own in became.items() if len(before) > 3]
        pairs += len(said_again)
        same += sum(len(own) == 1 for own in said_again)
    assert same / pairs > 0.9


def test_a_language_without_composed_notes_is_named() -> None:
    with pytest.raises(InputError, match="no composed notes in 'cs'; choose one of da, de"):
        frames("cs")
