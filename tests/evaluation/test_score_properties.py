import json

from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.note import Note
from deid_assets.core.phi import HARMONISED, Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.evaluation.score import Counts, Evaluation, Scheme, evaluate, evaluate_corpus, pair

LENGTH = 40
LABELS = [Phi.NAME, Phi.CITY, Phi.LOCATION, Phi.DATE]
SCOPES = st.sampled_from([None, frozenset({Phi.NAME, Phi.CITY})])


@st.composite
def span_lists(draw, *, max_size=8):
    spans = draw(
        st.lists(
            st.tuples(st.integers(0, LENGTH - 1), st.integers(1, 12), st.sampled_from(LABELS)),
            max_size=max_size,
        )
    )
    return [Span(start, min(start + size, LENGTH), label) for start, size, label in spans]


PAIRS = st.lists(st.tuples(span_lists(), span_lists()), max_size=5)


def bound(span_lists, *, prefix="n"):
    notes = [Note(f"{prefix}{n}", "x" * LENGTH) for n in range(len(span_lists))]
    return [
        (SpanSet.of(note, gold), SpanSet.of(note, pred))
        for note, (gold, pred) in zip(notes, span_lists, strict=True)
    ]


def within(scope, spans):
    """The spans that gold of that scope may hold.

    A LOCATION is in scope through CITY, which shares its label.
    """
    return spans if scope is None else [span for span in spans if span.label is not Phi.DATE]


def scored(pairs, *, profile=HARMONISED, scope=None):
    return evaluate_corpus(
        pairs, profile=profile, scope=scope, lengths={gold.note_id: LENGTH for gold, _ in pairs}
    )


def labelled_points(spans):
    """(label, code point) for every character that a span covers."""
    return {
        (HARMONISED.label_of(span.label), point)
        for span in spans
        for point in range(span.start, span.end)
    }


def distinct(spans):
    return {(span.start, span.end, HARMONISED.label_of(span.label)) for span in spans}


@given(PAIRS, st.randoms())
def test_order_of_spans_and_notes_changes_nothing(pairs, random):
    expected = scored(bound(pairs))
    mixed = [tuple(random.sample(spans, len(spans)) for spans in sides) for sides in pairs]
    golds, preds = zip(*bound(mixed), strict=True) if mixed else ((), ())

    shuffled = list(pair(random.sample(golds, len(golds)), random.sample(preds, len(preds))))

    assert scored(shuffled) == expected


@given(st.lists(span_lists(), max_size=5))
def test_gold_against_itself_is_all_found(golds):
    evaluation = scored(bound([(gold, gold) for gold in golds]))

    for scheme in Scheme:
        counts = evaluation.micro(scheme)
        assert (counts.fp, counts.fn) == (0, 0)
    assert evaluation.micro(Scheme.STRICT).tp == sum(len(distinct(gold)) for gold in golds)
    assert evaluation.notes.covered == evaluation.notes.with_phi == sum(map(bool, golds))


@given(PAIRS, PAIRS, SCOPES)
def test_batches_add_up_to_the_corpus(first, second, scope):
    first, second = (
        [(within(scope, gold), pred) for gold, pred in pairs] for pairs in (first, second)
    )
    left, right = bound(first, prefix="a"), bound(second, prefix="b")

    total = scored(left, scope=scope) + scored(right, scope=scope)

    assert total == scored([*left, *right], scope=scope)
    one_by_one = [
        evaluate(*both, profile=HARMONISED, scope=scope, length=LENGTH) for both in [*left, *right]
    ]
    assert sum(one_by_one, Evaluation("harmonised")) == total


@given(span_lists(), span_lists())
def test_relaxed_finds_at_least_what_strict_finds(gold, pred):
    evaluation = scored(bound([(gold, pred)]))

    for label in evaluation.labels:
        assert (
            evaluation.counts(label, Scheme.RELAXED).tp
            >= evaluation.counts(label, Scheme.STRICT).tp
        )
        covered, labelled = Scheme.CHARACTERS, Scheme.LABELLED_CHARACTERS
        assert evaluation.counts(label, covered).tp >= evaluation.counts(label, labelled).tp


@given(span_lists(), span_lists(), SCOPES)
def test_counts_sum_to_the_input(gold, pred, scope):
    gold = within(scope, gold)
    evaluation = scored(bound([(gold, pred)]), scope=scope)

    for scheme in (Scheme.STRICT, Scheme.RELAXED):
        counts = evaluation.micro(scheme)
        assert counts.gold == len(distinct(gold))
        assert counts.tp + counts.fp + sum(evaluation.out_of_scope.values()) == len(distinct(pred))
    assert evaluation.micro(Scheme.COVERED).gold == len(distinct(gold))


@given(span_lists(), span_lists())
def test_characters_equal_those_of_point_sets(gold, pred):
    evaluation = scored(bound([(gold, pred)]))
    golds, preds = labelled_points(gold), labelled_points(pred)
    any_gold, any_pred = {point for _, point in golds}, {point for _, point in preds}

    assert evaluation.characters == Counts(
        len(any_gold & any_pred), len(any_pred - any_gold), len(any_gold - any_pred)
    )
    for label in evaluation.labels:
        mine, theirs = (
            {point for name, point in points if name == label} for points in (golds, preds)
        )
        expected = Counts(len(mine & any_pred), len(theirs - any_gold), len(mine - any_pred))
        assert evaluation.counts(label, Scheme.CHARACTERS) == expected
        expected = Counts(len(mine & theirs), len(theirs - mine), len(mine - theirs))
        assert evaluation.counts(label, Scheme.LABELLED_CHARACTERS) == expected


@given(span_lists(), span_lists())
def test_hidden_spans_are_those_without_a_point_left(gold, pred):
    evaluation = scored(bound([(gold, pred)]))
    covered = {point for span in pred for point in range(span.start, span.end)}
    marked = {point for span in gold for point in range(span.start, span.end)}

    found = sum(set(range(start, end)) <= covered for start, end, _ in distinct(gold))
    spurious = sum(not set(range(start, end)) & marked for start, end, _ in distinct(pred))
    assert evaluation.micro(Scheme.COVERED) == Counts(found, spurious, len(distinct(gold)) - found)


@given(span_lists(), span_lists(), span_lists(max_size=2))
def test_one_more_prediction_never_uncovers_a_character(gold, pred, more):
    before, after = scored(bound([(gold, pred)])), scored(bound([(gold, [*pred, *more])]))

    assert after.characters.tp >= before.characters.tp
    assert after.micro(Scheme.COVERED).tp >= before.micro(Scheme.COVERED).tp


@given(PAIRS, SCOPES)
def test_an_evaluation_survives_json(pairs, scope):
    evaluation = scored(bound([(within(scope, gold), pred) for gold, pred in pairs]), scope=scope)

    assert Evaluation.from_json(json.loads(json.dumps(evaluation.to_json()))) == evaluation
