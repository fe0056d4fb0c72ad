import pytest

from deid_assets.core.errors import InputError
from deid_assets.core.phi import HARMONISED
from deid_assets.evaluation.comparison import COLUMNS, Boundary, Ratio
from deid_assets.evaluation.intervals import wilson
from deid_assets.evaluation.resampling import compare
from deid_assets.evaluation.score import Counts, Scheme, evaluate, evaluate_by_note
from deid_assets.testing import parse_marked
from deid_evaluation.subgroups import UNKNOWN, by_label, subgroups, worst_group


def rows(**counts):
    return {note: tuple(triple) * len(COLUMNS) for note, triple in counts.items()}


LANGUAGES = {"a": "en", "b": "en", "c": "sv", "d": "sv"}
ROWS = rows(a=(9, 1, 1), b=(10, 0, 0), c=(6, 0, 4), d=(8, 0, 2), e=(0, 3, 0))


def test_groups_come_worst_first_with_unknown_shown():
    found = subgroups(ROWS, LANGUAGES, resamples=200)

    assert [(group.name, group.notes, group.counts) for group in found] == [
        ("sv", 2, Counts(14, 0, 6)),
        ("en", 2, Counts(19, 1, 1)),
        (UNKNOWN, 1, Counts(0, 3, 0)),
    ]
    assert found[-1].interval is None
    assert worst_group(found).name == "sv"
    assert found[0].interval.low <= found[0].interval.value == 0.7 <= found[0].interval.high


def test_the_interval_is_that_of_the_notes_of_the_group():
    found = subgroups(
        ROWS,
        LANGUAGES,
        measure=(Boundary.EXACT, Ratio.F1),
        patients={"c": "p", "d": "q"},
        resamples=200,
    )
    only = {note: ROWS[note] for note in "cd"}
    expected = compare({"x": only}, patients={"c": "p", "d": "q"}, resamples=200).interval(
        "x", Boundary.EXACT, Ratio.F1
    )

    assert next(group for group in found if group.name == "sv").interval == expected


def test_groups_add_up_to_the_whole():
    notes = {"n0": "by <NAME>Lee</NAME>, <AGE>93</AGE>", "n1": "in <CITY>York</CITY>"}
    pairs, lengths = [], {}
    for note_id, text in notes.items():
        note, gold = parse_marked(text, note_id=note_id)
        pairs.append((gold, parse_marked(text.replace("AGE", "DATE"), note_id=note_id)[1]))
        lengths[note_id] = len(note)
    total, by_note = evaluate_by_note(pairs, profile=HARMONISED, lengths=lengths)
    found = subgroups(by_note, {"n0": "en"}, measure=(Scheme.STRICT, Ratio.RECALL), resamples=100)

    assert sum((group.counts for group in found), Counts()) == total.micro(Scheme.STRICT)


def test_labels_are_groups_with_wilson_intervals():
    note, gold = parse_marked("<NAME>Ann</NAME> <NAME>Lee</NAME>, <AGE>93</AGE>")
    pred = parse_marked("<NAME>Ann</NAME> Lee, 93")[1]
    found = by_label(evaluate(gold, pred, profile=HARMONISED, length=len(note)))

    assert [(group.name, group.interval.value) for group in found] == [("AGE", 0), ("NAME", 0.5)]
    assert (found[1].interval.low, found[1].interval.high) == wilson(1, 2)


def test_nothing_to_find_in_any_group_is_no_worst_group():
    with pytest.raises(InputError, match="defined in no group"):
        worst_group(subgroups(rows(a=(0, 1, 0)), {}, resamples=100))
    with pytest.raises(InputError, match="not scored, the first is 'z'"):
        subgroups(ROWS, {"z": "en"})
    with pytest.raises(InputError, match="nothing was scored"):
        subgroups({}, {})
