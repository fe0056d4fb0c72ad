"""Two redactions side by side.

Every difference is found once, and put down to what changed nearest to it.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.phi import Phi
from deid_assets.edits.diff import compare
from deid_assets.edits.maps import EditMap, MadeBy, Replaced

BY = MadeBy("deid-assets 1", "tag", "a" * 64, (), "key1", {"rules": "1", "crf": "1"})


def note(*edits, note_id="n", made_by=BY, digest="d" * 64):
    """A note of 100 characters in which each edit writes as much as it takes."""
    made = tuple(
        sorted(Replaced(s, e, s, e, label, source, mark) for s, e, label, source, mark in edits)
    )
    return EditMap(note_id, digest, "e" * 64, 100, 100, made, made_by)


def edit(start, end, label=Phi.NAME, source="rules", mark="m"):
    return (start, end, label, source, mark)


def told(old, new):
    return [
        (each.change, each.start, each.cause, each.why)
        for each in compare([old], [new]).differences
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([], [edit(1, 5)], ("gained", 1, "NAME", "NAME"), id="gained"),
        pytest.param([edit(1, 5)], [], ("lost", 1, "NAME", ""), id="lost"),
        pytest.param(
            [edit(1, 5)], [edit(1, 5, Phi.CITY)], ("relabelled", 1, "NAME", "CITY"), id="relabelled"
        ),
        pytest.param([edit(1, 5)], [edit(2, 7)], ("moved", 2, "NAME", "NAME"), id="moved"),
        pytest.param(
            [edit(1, 5)], [edit(1, 5, mark="x")], ("rewritten", 1, "NAME", "NAME"), id="rewritten"
        ),
    ],
)
def test_each_kind_of_difference(before, after, expected):
    (each,) = compare([note(*before)], [note(*after)]).differences

    assert (each.change, each.start, each.label, each.new_label) == expected


def test_what_a_longer_replacement_took_in_is_not_lost():
    found = compare([note(edit(1, 5), edit(6, 9))], [note(edit(1, 9))])

    assert [each.change for each in found.differences] == ["moved", "moved"]


@pytest.mark.parametrize(
    ("change", "before", "after", "cause", "why"),
    [
        ({"detectors": {"rules": "2", "crf": "1"}}, [], [edit(1, 5)], "detector", "rules 1 → 2"),
        (
            {"detectors": {"rules": "1", "crf": "1", "new": "1"}},
            [],
            [edit(1, 5, source="new")],
            "detector",
            "new 1 is new",
        ),
        ({"detectors": {"crf": "1"}}, [edit(1, 5)], [], "detector", "rules 1 is gone"),
        (
            {"detectors": {"rules": "1", "crf": "2"}},
            [edit(1, 5)],
            [edit(1, 6)],
            "detector",
            "crf 1 → 2",
        ),
        (
            {"keep": ("NAME",), "policy_digest": "b" * 64},
            [edit(1, 5)],
            [],
            "policy",
            "NAME is kept",
        ),
        (
            {"policy_digest": "b" * 64, "policy": "surrogate"},
            [edit(1, 5)],
            [edit(1, 5, mark="x")],
            "policy",
            "surrogate",
        ),
        ({"policy_digest": "b" * 64}, [edit(1, 5)], [edit(0, 9)], "policy", "policy tag"),
        ({"key_id": "key2"}, [edit(1, 5)], [edit(1, 5, mark="x")], "key", "key key1 → key2"),
        (
            {"software": "deid-assets 2"},
            [edit(1, 5)],
            [],
            "software",
            "deid-assets 1 → deid-assets 2",
        ),
        ({"detectors": {}}, [edit(1, 5)], [], "unknown", "does not say"),
        ({}, [edit(1, 5)], [], "unknown", "settings"),
    ],
)
def test_the_nearest_change_is_responsible(change, before, after, cause, why):
    ((_, _, found, words),) = told(note(*before), note(*after, made_by=replace(BY, **change)))

    assert (found, why in words) == (cause, True), words


def test_the_detector_of_the_span_comes_before_a_policy_that_changed_too():
    made_by = replace(BY, detectors={"rules": "2", "crf": "1"}, policy_digest="b" * 64)

    ((_, _, cause, why),) = told(note(edit(1, 5)), note(made_by=made_by))

    assert (cause, why) == ("detector", "rules 1 → 2")


def test_notes_that_cannot_be_compared_are_listed():
    found = compare(
        [note(note_id="a"), note(note_id="b", digest="f" * 64), note(note_id="c")],
        [note(note_id="c"), note(note_id="b"), note(note_id="d")],
    )

    assert (found.only_old, found.other_text, found.only_new, found.same) == (
        ["a"],
        ["b"],
        ["d"],
        1,
    )


RANGES = st.lists(st.integers(0, 100), unique=True, max_size=12).map(sorted)
EDITS = RANGES.flatmap(
    lambda bounds: st.tuples(
        *(
            st.builds(
                edit,
                st.just(start),
                st.just(end),
                st.sampled_from([Phi.NAME, Phi.CITY]),
                mark=st.sampled_from("xy"),
            )
            for start, end in zip(bounds[::2], bounds[1::2], strict=False)
        )
    )
)


@given(EDITS, EDITS)
def test_every_replacement_is_accounted_for_once(before, after):
    found = compare([note(*before)], [note(*after)])
    counts = found.to_json()["replacements"]

    assert counts["unchanged"] + len(found.differences) >= max(len(before), len(after))
    in_both = counts["unchanged"] + counts["relabelled"] + counts["rewritten"]
    assert counts["gained"] <= len(after) - in_both
    assert counts["lost"] <= len(before) - in_both
    covered = {at for start, end, *_ in after for at in range(start, end)}
    was = {at for start, end, *_ in before for at in range(start, end)}
    assert sum(each.uncovered for each in found.differences) == len(was - covered)
    for each in found.differences:
        if each.change == "lost":
            assert not covered & set(range(each.start, each.end))


@given(EDITS)
def test_nothing_differs_from_itself(edits):
    assert compare([note(*edits)], [note(*edits)]).is_empty
