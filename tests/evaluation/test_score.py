import dataclasses
import json

import pytest

from deid_assets.core.errors import DigestError, InputError, OffsetError
from deid_assets.core.label_maps import label_map
from deid_assets.core.note import Note
from deid_assets.core.phi import HARMONISED, I2B2_2014, SAFE_HARBOR, Phi, Profile
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.score import (
    Counts,
    Evaluation,
    NoteCounts,
    Scheme,
    evaluate,
    evaluate_corpus,
    pair,
)
from deid_assets.testing import parse_marked

STRICT, RELAXED, COVERED, CHARACTERS, LABELLED = Scheme

FINE = Profile(
    "fine", {category: category.value for category in Phi if category is not Phi.SEX}, "tests"
)


def scored(gold, pred, *, profile=FINE, scope=None):
    note, gold_spans = parse_marked(gold)
    _, pred_spans = parse_marked(pred)
    return evaluate(gold_spans, pred_spans, profile=profile, scope=scope, length=len(note))


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        pytest.param(
            "Dr. <NAME>Lee</NAME> saw him.",
            "Dr. <NAME>Lee</NAME> saw him.",
            [(1, 0, 0), (1, 0, 0), (1, 0, 0), (3, 0, 0), (3, 0, 0)],
            id="found",
        ),
        pytest.param(
            "Dr. <NAME>Lee</NAME> saw him.",
            "Dr. Lee saw him.",
            [(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 3), (0, 0, 3)],
            id="missed",
        ),
        pytest.param(
            "Dr. Lee saw him.",
            "Dr. Lee <NAME>saw</NAME> him.",
            [(0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 3, 0), (0, 3, 0)],
            id="spurious",
        ),
        pytest.param(
            "<NAME>Ann Lee</NAME> came.",
            "Ann <NAME>Lee came</NAME>.",
            [(0, 1, 1), (1, 0, 0), (0, 0, 1), (3, 5, 4), (3, 5, 4)],
            id="other boundaries leave characters",
        ),
        pytest.param(
            "Seen by <NAME>Ann Lee</NAME> today",
            "Seen <NAME>by Ann Lee today</NAME>",
            [(0, 1, 1), (1, 0, 0), (1, 0, 0), (7, 9, 0), (7, 9, 0)],
            id="too wide covers all",
        ),
        pytest.param(
            "<NAME>Ann Lee</NAME> came.",
            "<NAME>Ann</NAME> <NAME>Lee</NAME> came.",
            [(0, 2, 1), (1, 1, 0), (0, 0, 1), (6, 0, 1), (6, 0, 1)],
            id="two predictions in one gold pair once",
        ),
        pytest.param(
            "<NAME>Ann</NAME> <NAME>Lee</NAME> came.",
            "<NAME>Ann Lee</NAME> came.",
            [(0, 1, 2), (1, 0, 1), (2, 0, 0), (6, 1, 0), (6, 1, 0)],
            id="one prediction over two gold pairs once",
        ),
        pytest.param(
            "<NAME>Ann</NAME> came.",
            "<DATE>Ann</DATE> came.",
            [(0, 0, 1), (0, 0, 1), (1, 0, 0), (3, 0, 0), (0, 0, 3)],
            id="another label covers but is not right",
        ),
        pytest.param(
            "<NAME>Ann</NAME> came.",
            "Ann<NAME> came</NAME>.",
            [(0, 1, 1), (0, 1, 1), (0, 1, 1), (0, 5, 3), (0, 5, 3)],
            id="touching is not overlapping",
        ),
        pytest.param(
            "<NAME>Zoë 👩‍⚕️</NAME>\r\ncame.",
            "<NAME>Zoë</NAME> 👩‍⚕️\r\ncame.",
            [(0, 1, 1), (1, 0, 0), (0, 0, 1), (3, 0, 5), (3, 0, 5)],
            id="characters are code points",
        ),
    ],
)
def test_counts_of_names(gold, pred, expected):
    evaluation = scored(gold, pred)

    assert [dataclasses.astuple(evaluation.counts("NAME", scheme)) for scheme in Scheme] == expected


def test_spurious_characters_count_for_the_predicted_label():
    evaluation = scored("<NAME>Ann</NAME> on Monday", "<DATE>Ann on</DATE> <DATE>Monday</DATE>")

    assert evaluation.counts("DATE", COVERED) == Counts(0, 1, 0)
    assert evaluation.counts("DATE", CHARACTERS) == Counts(0, 9, 0)
    assert evaluation.counts("DATE", LABELLED) == Counts(0, 12, 0)
    assert evaluation.characters == Counts(3, 9, 0)


def test_an_exact_prediction_is_not_consumed_by_an_overlapping_one():
    note = Note("n", "x" * 20)
    gold = SpanSet.of(note, [Span(0, 5, Phi.NAME), Span(3, 9, Phi.NAME)])
    pred = SpanSet.of(note, [Span(0, 9, Phi.NAME), Span(3, 9, Phi.NAME), Span(0, 5, Phi.NAME)])

    evaluation = evaluate(gold, pred, profile=FINE, scope=None, length=20)

    assert evaluation.counts("NAME", STRICT) == Counts(2, 1, 0)
    assert evaluation.counts("NAME", RELAXED) == Counts(2, 1, 0)


def test_the_same_range_and_label_counts_once_whoever_found_it():
    note = Note("n", "Ann Lee of Rome")
    gold = SpanSet.of(note, [Span(0, 7, Phi.NAME)])
    pred = SpanSet.of(note, [Span(0, 7, Phi.NAME, 0.4, "crf"), Span(0, 7, Phi.NAME, 0.9, "rules")])

    assert evaluate(gold, pred, profile=FINE, scope=None, length=15).micro(STRICT) == Counts(
        1, 0, 0
    )


def test_categories_that_share_a_profile_label_are_one():
    evaluation = scored("in <LOCATION>Rome</LOCATION>", "in <CITY>Rome</CITY>", profile=HARMONISED)

    assert evaluation.labels == ("LOCATION",)
    assert evaluation.micro(STRICT) == Counts(1, 0, 0)


def test_a_category_outside_the_profile_is_dropped_on_both_sides():
    evaluation = scored(
        "<PROFESSION>baker</PROFESSION> <NAME>Ann</NAME> came",
        "<PROFESSION>baker Ann</PROFESSION> <SEX>came</SEX>",
        profile=SAFE_HARBOR,
    )

    assert evaluation.labels == ("A names",)
    assert evaluation.micro(STRICT) == Counts(0, 0, 1)
    assert evaluation.characters == Counts(0, 0, 3)
    assert not evaluation.out_of_scope


def test_predictions_of_categories_the_gold_does_not_annotate_are_counted_apart():
    evaluation = scored(
        "<NAME>Ann</NAME>, a baker in Rome",
        "<NAME>Ann</NAME>, a <PROFESSION>baker</PROFESSION> in <CITY>Rome</CITY>",
        scope=frozenset({Phi.NAME, Phi.DATE}),
    )

    assert evaluation.out_of_scope == {"CITY": 1, "PROFESSION": 1}
    assert evaluation.micro(STRICT) == Counts(1, 0, 0)
    assert evaluation.characters == Counts(3, 0, 0)


def test_what_is_out_of_scope_still_hides():
    evaluation = scored(
        "<NAME>Baker</NAME> came",
        "<PROFESSION>Baker</PROFESSION> came",
        scope=frozenset({Phi.NAME}),
    )

    assert evaluation.characters == Counts(5, 0, 0)
    assert evaluation.notes.covered == 1


def test_scope_is_judged_by_profile_label():
    # ASQ-PHI annotates places as LOCATION only; a CITY is the same label here.
    evaluation = scored(
        "in <LOCATION>Rome</LOCATION>",
        "in <CITY>Rome</CITY>",
        profile=HARMONISED,
        scope=label_map("asq_phi").categories,
    )

    assert evaluation.micro(STRICT) == Counts(1, 0, 0)
    assert not evaluation.out_of_scope


def test_gold_outside_the_scope_is_an_error():
    with pytest.raises(InputError, match=r"outside the scope: CITY; give the categories"):
        scored("in <CITY>Rome</CITY>", "in Rome", scope=frozenset({Phi.NAME}))


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        ("<NAME>Ann</NAME> came", "<NAME>Ann</NAME> came", NoteCounts(1, 1, 1, 0, 8)),
        ("<NAME>Ann</NAME> came", "<NAME>An</NAME>n came", NoteCounts(1, 1, 0, 0, 8)),
        ("<NAME>Ann</NAME> came", "<DATE>Ann came</DATE>", NoteCounts(1, 1, 1, 0, 8)),
        ("Ann came", "Ann came", NoteCounts(1, 0, 0, 0, 8)),
        ("Ann came", "<NAME>Ann</NAME> came", NoteCounts(1, 0, 0, 1, 8)),
        ("Ann came", "<SEX>Ann</SEX> came", NoteCounts(1, 0, 0, 0, 8)),
        ("", "", NoteCounts(1, 0, 0, 0, 0)),
    ],
)
def test_counts_of_whole_notes(gold, pred, expected):
    assert scored(gold, pred).notes == expected


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [
        (Counts(3, 1, 2), 3 / 4, 3 / 5, 2 / 3),
        (Counts(0, 0, 4), None, 0.0, 0.0),
        (Counts(0, 4, 0), 0.0, None, 0.0),
        (Counts(), None, None, None),
        (
            Counts(1847, 72, 53),
            pytest.approx(0.96248, abs=5e-6),
            pytest.approx(0.97211, abs=5e-6),
            3694 / 3819,
        ),
    ],
)
def test_a_ratio_over_nothing_is_none_and_never_a_silent_number(counts, precision, recall, f1):
    assert (counts.precision, counts.recall, counts.f1) == (precision, recall, f1)


def test_micro_weighs_spans_and_macro_weighs_labels():
    evaluation = Evaluation(
        "i2b2",
        {
            "NAME": {STRICT: Counts(9, 1, 1)},
            "DATE": {STRICT: Counts(0, 0, 1)},
            "AGE": {STRICT: Counts(0, 1, 0)},
        },
    )

    assert evaluation.micro(STRICT) == Counts(9, 2, 2)
    assert evaluation.macro(STRICT).recall == pytest.approx((0.9 + 0.0) / 2)
    assert evaluation.macro(STRICT).precision == pytest.approx((0.9 + 0.0) / 2)
    assert evaluation.macro(STRICT).f1 == pytest.approx((0.9 + 0.0 + 0.0) / 3)
    assert evaluation.macro(RELAXED).recall is None


def test_characters_with_two_gold_labels_count_once_overall():
    note = Note("n", "x" * 10)
    gold = SpanSet.of(note, [Span(0, 6, Phi.NAME), Span(4, 8, Phi.HOSPITAL)])

    evaluation = evaluate(
        gold, SpanSet.of(note, [Span(0, 5, Phi.NAME)]), profile=FINE, scope=None, length=10
    )

    assert evaluation.micro(CHARACTERS) == Counts(5, 0, 3)
    assert evaluation.counts("NAME", CHARACTERS) == Counts(5, 0, 1)
    assert evaluation.counts("HOSPITAL", CHARACTERS) == Counts(1, 0, 3)


class TestInputsThatCannotBeScored:
    note, spans = parse_marked("<NAME>Ann</NAME> came", note_id="a")

    @pytest.mark.parametrize("stranger", [Note("a", "Ann went"), Note("b", "Ann came")])
    def test_spans_made_for_another_text_are_refused(self, stranger):
        with pytest.raises(DigestError, match=r"note 'a': the annotations have digest"):
            evaluate(self.spans, SpanSet.of(stranger, []), profile=FINE, scope=None, length=8)

    def test_a_span_past_the_end_is_refused(self):
        with pytest.raises(OffsetError, match="span ends at 3, note has 2 characters"):
            evaluate(self.spans, self.spans, profile=FINE, scope=None, length=2)

    def test_a_gold_note_without_predictions_is_refused(self):
        with pytest.raises(
            InputError, match=r"1 of 1 annotated notes have no predictions, the first is 'a'"
        ):
            pair([self.spans], [])

    def test_predictions_without_gold_are_refused(self):
        with pytest.raises(
            InputError, match=r"1 of 1 notes with predictions have no annotations, the first is 'a'"
        ):
            pair([], [self.spans])

    @pytest.mark.parametrize("sides", [(2, 1), (1, 2)])
    def test_a_note_given_twice_is_refused(self, sides):
        with pytest.raises(InputError, match="note 'a' comes twice"):
            pair(*([self.spans] * times for times in sides))

    def test_a_note_scored_twice_is_refused(self):
        with pytest.raises(InputError, match="note 'a' is scored twice"):
            evaluate_corpus([(self.spans, self.spans)] * 2, profile=FINE, lengths={"a": 8})

    def test_a_note_of_unknown_length_is_refused(self):
        with pytest.raises(InputError, match="note 'a' has no length"):
            evaluate_corpus([(self.spans, self.spans)], profile=FINE, lengths={})

    def test_evaluations_under_two_profiles_do_not_add_up(self):
        with pytest.raises(InputError, match="'harmonised' to one under 'i2b2'"):
            Evaluation(I2B2_2014.name) + Evaluation(HARMONISED.name)

    def test_negative_counts_are_refused(self):
        with pytest.raises(InputError, match="must not be negative"):
            Counts(1, -1, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"NAME": {"exact": {"tp": 1, "fp": 0, "fn": 0}}}},
        {"labels": {"NAME": {"strict": {"tp": 1.5, "fp": 0, "fn": 0}}}},
        {"labels": {"NAME": {"strict": {"tp": "1", "fp": "0", "fn": "0"}}}},
        {"labels": {"NAME": {"strict": {"tp": float("nan"), "fp": 0, "fn": 0}}}},
        {"labels": {"NAME": {"strict": {"tp": -1, "fp": 0, "fn": 0}}}},
        {"labels": {"NAME": {"strict": {"hits": 1}}}},
        {"labels": [1]},
        {"notes": {"pages": 3}},
        {"characters": None},
        {"out_of_scope": {"CITY": "many"}},
        {"out_of_scope": {"CITY": -1}},
        {"notes": {"notes": -1}},
    ],
)
def test_a_stored_evaluation_that_was_altered_does_not_load(change):
    with pytest.raises(InputError, match="not a stored evaluation"):
        Evaluation.from_json({**Evaluation("i2b2").to_json(), **change})


@pytest.mark.parametrize("key", ["profile", "labels", "characters", "notes", "out_of_scope"])
def test_a_stored_evaluation_that_lost_a_part_does_not_load(key):
    stored = scored("<NAME>Ann</NAME>", "<NAME>Ann</NAME>").to_json()
    del stored[key]

    with pytest.raises(InputError, match="not a stored evaluation"):
        Evaluation.from_json(stored)


def test_the_name_of_a_scheme_in_earlier_stores_is_read():
    stored = scored("<NAME>Ann</NAME>", "<NAME>Ann</NAME>").to_json()
    (label,) = stored["labels"]
    stored["labels"][label]["hidden"] = stored["labels"][label].pop("covered")

    assert Evaluation.from_json(stored) == scored("<NAME>Ann</NAME>", "<NAME>Ann</NAME>")


def test_a_stored_evaluation_holds_labels_and_numbers_only():
    stored = json.dumps(
        scored("Dr. <NAME>Quillfeather</NAME>", "<DATE>Dr. Quillfeather</DATE>").to_json()
    )

    assert "Quillfeather" not in stored
    assert "marked" not in stored
