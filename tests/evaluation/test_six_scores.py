"""The six scores: hand cases, seqeval where it defines the same, and what must be refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_assets.core.errors import ConfigError, DigestError, InputError, OffsetError, OverlapError
from deid_assets.core.note import Note
from deid_assets.core.phi import HARMONISED, I2B2_2014, I2B2_2014_FINE, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.score import Counts
from deid_assets.evaluation.six_scores import (
    HIPAA_CATEGORIES,
    I2B2_HIPAA_VIEWS,
    I2B2_VIEWS,
    Granularity,
    Level,
    SixScores,
    Views,
    restrict_profile,
    six_scores,
)
from deid_assets.testing import parse_marked
from deid_evaluation.averages import macro_average, note_average, weighted_average

ENTITY, RELAXED, TOKEN = Level
FINE, COARSE, BINARY = Granularity


def scored(gold, pred, **options):
    note, golds = parse_marked(gold)
    return six_scores([(note, golds, parse_marked(pred)[1])], **options)


def micro(gold, pred, **options):
    """(tp, fp, fn) of the six scores, entities before tokens, fine before coarse."""
    scores = scored(gold, pred, **options)
    found = [scores.micro(level, by) for level in (ENTITY, TOKEN) for by in Granularity]
    return [(counts.tp, counts.fp, counts.fn) for counts in found]


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        pytest.param(
            "<NAME>Ann Lee</NAME> came",
            "<NAME>Ann Lee</NAME> came",
            [(1, 0, 0)] * 3 + [(2, 0, 0)] * 3,
            id="found",
        ),
        pytest.param(
            "<NAME>Ann Lee</NAME> came",
            "Ann Lee came",
            [(0, 0, 1)] * 3 + [(0, 0, 2)] * 3,
            id="missed",
        ),
        pytest.param("Ann Lee came", "Ann Lee <NAME>came</NAME>", [(0, 1, 0)] * 6, id="spurious"),
        pytest.param(
            "<NAME>Ann Lee</NAME> came",
            "Ann <NAME>Lee</NAME> came",
            [(0, 1, 1)] * 3 + [(1, 0, 1)] * 3,
            id="part of a name earns its token",
        ),
        pytest.param(
            "in <CITY>New York</CITY>",
            "in <REGION>New York</REGION>",
            [(0, 1, 1), (1, 0, 0), (1, 0, 0), (0, 2, 2), (2, 0, 0), (2, 0, 0)],
            id="another sub-category of the category",
        ),
        pytest.param(
            "in <CITY>York</CITY>",
            "in <NAME>York</NAME>",
            [(0, 1, 1), (0, 1, 1), (1, 0, 0)] * 2,
            id="another category is still PHI",
        ),
        pytest.param(
            "on <DATE>3/4/2021</DATE>",
            "on <DATE>3/4</DATE>/2021",
            [(0, 1, 1)] * 3 + [(2, 0, 1)] * 3,
            id="tokens are cut at punctuation",
        ),
        pytest.param(
            "by <NAME>Leeds</NAME>",
            "by <NAME>Lee</NAME>ds",
            [(0, 1, 1)] * 6,
            id="half a word is another token",
        ),
        pytest.param(
            "<NAME>***</NAME> came",
            "*** came",
            [(0, 0, 1)] * 6,
            id="punctuation alone is missed, not forgotten",
        ),
    ],
)
def test_six_scores_of_one_note(gold, pred, expected):
    assert micro(gold, pred) == expected


@pytest.mark.parametrize(
    ("pred", "found"),
    [
        ("<DATE>3 May 20</DATE>21 at noon", True),
        ("<DATE>3 May 2</DATE>021 at noon", False),
        ("<DATE>3 May 2021 a</DATE>t noon", True),
        ("3 <DATE>May 2021</DATE> at noon", False),
        ("<AGE>3 May 20</AGE>21 at noon", False),
    ],
)
def test_a_relaxed_entity_begins_right_and_ends_within_two_characters(pred, found):
    counts = scored("<DATE>3 May 2021</DATE> at noon", pred).micro(RELAXED, COARSE)

    assert counts == (Counts(1, 0, 0) if found else Counts(0, 1, 1))


def test_two_predictions_do_not_share_a_relaxed_entity():
    note, gold = parse_marked("<DATE>3 May 2021</DATE> at noon")
    pred = SpanSet.of(note, [Span(0, 9, Phi.DATE), Span(0, 11, Phi.DATE)])

    assert six_scores([(note, gold, pred)]).micro(RELAXED, COARSE) == Counts(1, 1, 0)


def test_the_view_of_hipaa_leaves_out_professions_and_hospitals():
    text = (
        "<NAME>Lee</NAME>, <PROFESSION>baker</PROFESSION>, at <HOSPITAL>Mercy</HOSPITAL>,"
        " <AGE>93</AGE>"
    )
    nothing = "Lee, baker, at Mercy, 93"

    assert scored(text, nothing).micro(ENTITY, BINARY) == Counts(0, 0, 4)
    assert scored(text, nothing, views=I2B2_HIPAA_VIEWS).micro(ENTITY, BINARY) == Counts(0, 0, 2)
    assert scored(nothing, text, views=I2B2_HIPAA_VIEWS).micro(ENTITY, BINARY) == Counts(0, 2, 0)


def test_predictions_outside_the_scope_are_neither_right_nor_wrong():
    gold, pred = "<NAME>Lee</NAME>, 93", "<NAME>Lee</NAME>, <AGE>93</AGE>"

    assert scored(gold, pred).micro(ENTITY, BINARY) == Counts(1, 1, 0)
    assert scored(gold, pred, scope=frozenset({Phi.NAME})).micro(ENTITY, BINARY) == Counts(1, 0, 0)
    with pytest.raises(InputError, match="outside the scope: AGE"):
        scored(pred, gold, scope=frozenset({Phi.NAME}))


def test_two_labels_on_one_range_of_gold_are_refused():
    note, pred = parse_marked("by Ann Lee")
    gold = SpanSet.of(note, [Span(3, 10, Phi.NAME), Span(3, 10, Phi.CITY)])

    with pytest.raises(OverlapError, match=r"\[3, 10\) and \[3, 10\) overlap"):
        six_scores([(note, gold, pred)])


def test_the_same_gold_of_two_annotators_counts_once():
    note, pred = parse_marked("by Ann Lee")
    gold = SpanSet.of(note, [Span(3, 10, Phi.NAME, source=who) for who in "ab"])

    assert six_scores([(note, gold, pred)]).micro(ENTITY, FINE) == Counts(0, 0, 1)


def test_overlapping_gold_is_refused():
    note, pred = parse_marked("by Ann Lee")
    gold = SpanSet.of(note, [Span(3, 10, Phi.NAME), Span(7, 10, Phi.CITY)])

    with pytest.raises(OverlapError, match=r"\[3, 10\) and \[7, 10\) overlap"):
        six_scores([(note, gold, pred)])


def test_what_does_not_belong_together_is_refused():
    note, spans = parse_marked("by <NAME>Lee</NAME>")
    other = SpanSet.of(Note("marked", "by Kim, on"), [])
    outside = SpanSet(note.note_id, note.digest, (Span(3, 99, Phi.NAME),))

    with pytest.raises(DigestError):
        six_scores([(note, spans, other)])
    with pytest.raises(OffsetError):
        six_scores([(note, spans, outside)])
    with pytest.raises(InputError, match="twice"):
        six_scores([(note, spans, spans)] * 2)


def test_views_that_do_not_nest_are_refused():
    with pytest.raises(ConfigError, match="do not count the same"):
        Views(I2B2_2014_FINE, HARMONISED)
    with pytest.raises(ConfigError, match="lies in two"):
        Views(I2B2_2014, I2B2_2014_FINE)
    with pytest.raises(ConfigError, match="counts none"):
        restrict_profile(I2B2_2014, frozenset({Phi.SEX}), name="none")


def test_every_category_of_hipaa_is_one_of_i2b2():
    assert I2B2_VIEWS.fine.labels.keys() >= HIPAA_CATEGORIES


def test_nothing_to_find_has_no_score_and_no_average():
    scores = scored("nothing here", "nothing here")

    assert scores.micro(ENTITY, FINE).recall is None
    with pytest.raises(InputError, match="no label is annotated"):
        macro_average(scores.by_label(ENTITY, FINE))


def test_averages_by_hand():
    by_label = {
        "NAME": Counts(8, 2, 0),
        "DATE": Counts(1, 0, 3),
        "AGE": Counts(0, 0, 2),
        "ID": Counts(0, 5, 0),
    }
    macro, weighted = macro_average(by_label), weighted_average(by_label)

    assert macro.precision == pytest.approx((0.8 + 1 + 0) / 3)
    assert macro.recall == pytest.approx((1 + 0.25 + 0) / 3)
    assert macro.f1 == pytest.approx(2 * 0.6 * (1.25 / 3) / (0.6 + 1.25 / 3))
    assert macro.mean_f1 == pytest.approx((16 / 18 + 2 / 5 + 0) / 3)
    assert macro.precision_sd == pytest.approx((((0.2**2) + 0.4**2 + 0.6**2) / 3) ** 0.5)
    assert weighted.recall == pytest.approx(9 / 14)
    assert weighted.precision == pytest.approx((8 * 0.8 + 4 * 1) / 14)


def test_averages_over_notes_leave_out_what_is_not_defined():
    found = note_average([Counts(1, 1, 0), Counts(0, 0, 2), Counts(0, 3, 0), Counts(3, 0, 1)])

    assert found.precision == pytest.approx((0.5 + 0 + 1) / 3)
    assert found.recall == pytest.approx((1 + 0 + 0.75) / 3)
    assert found.f1 == pytest.approx(2 * 0.5 * (1.75 / 3) / (0.5 + 1.75 / 3))
    assert found.precision_sd == pytest.approx((1 / 6) ** 0.5)
    assert note_average([Counts(0, 0, 2)]).precision is None
    with pytest.raises(InputError, match="no note is annotated"):
        note_average([Counts(0, 3, 0)])


LABELS = [Phi.NAME, Phi.CITY, Phi.REGION, Phi.DATE]
TAGS = st.lists(st.sampled_from([*LABELS, None]), min_size=12, max_size=12)


def spans_of(note, tags):
    """Each tag marks one word of the note, which is ``ab`` twelve times; neighbours stay apart."""
    return SpanSet.of(
        note, [Span(3 * at, 3 * at + 2, tag) for at, tag in enumerate(tags) if tag is not None]
    )


def note_of_words(number):
    return Note(f"n{number}", "ab " * 12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=4))
def test_entities_agree_with_seqeval(sides):
    seqeval = pytest.importorskip("seqeval.metrics.v1")
    scheme = pytest.importorskip("seqeval.scheme").IOB2
    notes = [note_of_words(number) for number in range(len(sides))]
    scores = six_scores(
        (note, spans_of(note, gold), spans_of(note, pred))
        for note, (gold, pred) in zip(notes, sides, strict=True)
    )
    by_label = scores.by_label(ENTITY, FINE)
    if any(not counts.gold for counts in by_label.values()) or not by_label:
        return  # seqeval counts a label without gold as recall 0
    names = I2B2_2014_FINE.labels
    truth, guess = (
        [["O" if tag is None else f"B-{names[tag]}" for tag in pair[at]] for pair in sides]
        for at in range(2)
    )

    for average, ours in (
        ("macro", macro_average(by_label)),
        ("weighted", weighted_average(by_label)),
    ):
        precision, recall, f1, _ = seqeval.precision_recall_fscore_support(
            truth, guess, average=average, mode="strict", scheme=scheme, zero_division=0
        )
        assert (ours.precision, ours.recall, ours.mean_f1) == pytest.approx((precision, recall, f1))
    precision, recall, *_ = seqeval.precision_recall_fscore_support(
        truth, guess, average="micro", mode="strict", scheme=scheme, zero_division=0
    )
    counts = scores.micro(ENTITY, FINE)
    assert (counts.precision or 0, counts.recall) == pytest.approx((precision, recall))


@settings(max_examples=40, deadline=None)
@given(TAGS, TAGS, TAGS, TAGS)
def test_notes_add_up_and_coarser_labels_never_score_less(gold, pred, other_gold, other_pred):
    first, second = note_of_words(1), note_of_words(2)
    both = [
        (first, spans_of(first, gold), spans_of(first, pred)),
        (second, spans_of(second, other_gold), spans_of(second, other_pred)),
    ]
    total = six_scores(both)

    assert total == six_scores(both[:1]) + six_scores(both[1:]) == six_scores(both[::-1])
    assert total + SixScores() == total
    for level in Level:
        found = [total.micro(level, by).tp for by in Granularity]
        assert found == sorted(found)


def test_sub_categories_are_the_tasks_own_where_spans_carry_them():
    note = Note("n", "Lee saw Ray.")
    gold = SpanSet.of(
        note,
        [
            Span(0, 3, Phi.NAME, native_label="DOCTOR"),
            Span(8, 11, Phi.NAME, native_label="PATIENT"),
        ],
    )
    swapped = SpanSet.of(
        note,
        [
            Span(0, 3, Phi.NAME, native_label="PATIENT"),
            Span(8, 11, Phi.NAME, native_label="DOCTOR"),
        ],
    )
    found = six_scores([(note, gold, swapped)])

    for level in (Level.ENTITY, Level.TOKEN):
        assert found.micro(level, Granularity.SUB_CATEGORY) == Counts(0, 2, 2)
        assert found.micro(level, Granularity.CATEGORY) == Counts(2, 0, 0)
        assert found.micro(level, Granularity.BINARY) == Counts(2, 0, 0)
    assert set(found.by_label(Level.ENTITY, Granularity.SUB_CATEGORY)) == {"DOCTOR", "PATIENT"}
