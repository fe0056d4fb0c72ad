import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.core.errors import ConfigError
from deid_assets.core.phi import SEVERITY
from deid_assets.core.resolve import POLICIES, Ensemble, resolve

NOTE = Note("n1", "." * 40)  # no words, so spans stay where they are
ENSEMBLE = Ensemble(("a", "b", "c"))


def predictions(*spans):
    return [SpanSet.of(NOTE, spans)]


def span(start, end, source="a", label=Phi.NAME, score=1.0):
    return Span(start, end, label, score, source)


def ranges(resolved):
    return [(span.start, span.end, str(span.label)) for span in resolved]


CASES = [
    ("union", [span(0, 5), span(3, 9, "b", Phi.DATE)], [(0, 9, "NAME")]),
    ("union", [span(0, 5, "b", Phi.DATE), span(2, 3, "a")], [(0, 5, "NAME")]),
    ("union", [span(0, 5), span(5, 9, "b", Phi.DATE)], [(0, 5, "NAME"), (5, 9, "DATE")]),
    ("union", [span(0, 9), span(1, 2, "b"), span(8, 12, "c")], [(0, 12, "NAME")]),
    ("priority", [span(0, 5, "b", Phi.DATE), span(4, 9, "a")], [(4, 9, "NAME")]),
    ("priority", [span(0, 5), span(4, 9)], [(0, 5, "NAME")]),
    ("majority", [span(0, 6), span(3, 9, "b")], [(3, 6, "NAME")]),
    ("majority", [span(0, 6), span(3, 9)], []),
    ("majority", [span(0, 6, "a", Phi.DATE), span(0, 6, "b"), span(0, 6, "c")], [(0, 6, "NAME")]),
    ("intersection", [span(0, 6), span(3, 9, "b"), span(5, 7, "c")], [(5, 6, "NAME")]),
    ("intersection", [span(0, 6), span(3, 9, "b")], []),
    ("score_weighted", [span(0, 6, score=0.9), span(3, 9, "b", score=0.7)], [(3, 6, "NAME")]),
]


@pytest.mark.parametrize(("policy", "spans", "expected"), CASES)
def test_overlaps_are_resolved(policy, spans, expected):
    assert ranges(resolve(NOTE, predictions(*spans), policy=policy, ensemble=ENSEMBLE)) == expected


def test_weights_decide_the_score_weighted_policy():
    ensemble = Ensemble(("a", "b", "c"), {"a": 3.0})

    assert ranges(
        resolve(NOTE, predictions(span(0, 6)), policy="score_weighted", ensemble=ensemble)
    ) == [(0, 6, "NAME")]


def test_a_detector_outside_the_ensemble_changes_nothing():
    found = resolve(NOTE, predictions(span(0, 5), span(3, 9, "shadow")), ensemble=ENSEMBLE)

    assert ranges(found) == [(0, 5, "NAME")]


def test_unknown_policy_lists_the_known_ones():
    with pytest.raises(
        ConfigError, match="union, priority, majority, intersection, score_weighted"
    ):
        resolve(NOTE, [], policy="vote", ensemble=ENSEMBLE)


@pytest.mark.parametrize(
    ("sources", "weights"), [((), {}), (("a", "a"), {}), (("a",), {"b": 1.0}), (("a",), {"a": 0})]
)
def test_ensembles_that_make_no_sense_are_refused(sources, weights):
    with pytest.raises(ConfigError):
        Ensemble(sources, weights)


spans_of_notes = st.lists(
    st.builds(
        lambda start, size, source, label, score: Span(
            start, min(40, start + size), label, score, source
        ),
        st.integers(0, 39),
        st.integers(1, 15),
        st.sampled_from("abc"),
        st.sampled_from([Phi.NAME, Phi.DATE, Phi.ID]),
        st.floats(0, 1),
    ),
    max_size=12,
)


def covered(spans):
    return {at for span in spans for at in range(span.start, span.end)}


@given(spans_of_notes, st.sampled_from(sorted(POLICIES)))
def test_resolution_is_disjoint_covers_only_what_was_marked_and_ignores_order(spans, policy):
    forth = resolve(NOTE, predictions(*spans), policy=policy, ensemble=ENSEMBLE)
    back = resolve(
        NOTE,
        [SpanSet.of(NOTE, [span]) for span in reversed(spans)],
        policy=policy,
        ensemble=ENSEMBLE,
    )

    assert forth == back
    assert covered(forth) <= covered(spans)


@given(spans_of_notes)
def test_union_leaves_no_marked_character_out(spans):
    assert covered(resolve(NOTE, predictions(*spans), ensemble=ENSEMBLE)) == covered(spans)


@given(spans_of_notes)
def test_votes_equal_a_count_character_by_character(spans):
    votes = [{span.source for span in spans if span.start <= at < span.end} for at in range(40)]
    majority = resolve(NOTE, predictions(*spans), policy="majority", ensemble=ENSEMBLE)
    every = resolve(NOTE, predictions(*spans), policy="intersection", ensemble=ENSEMBLE)

    assert covered(majority) == {at for at, voters in enumerate(votes) if len(voters) >= 2}
    assert covered(every) == {at for at, voters in enumerate(votes) if len(voters) == 3}


@pytest.mark.parametrize("policy", ["union", "majority", "score_weighted"])
def test_a_category_that_may_stay_in_the_text_never_names_a_range_that_has_another(policy):
    yielding = Ensemble(("a", "b", "c"), yielding=frozenset({Phi.COUNTRY}))
    jordan = predictions(
        span(0, 6, "a", Phi.COUNTRY), span(0, 6, "b", Phi.COUNTRY), span(0, 6, "c", Phi.NAME)
    )

    assert ranges(resolve(NOTE, jordan, policy=policy, ensemble=yielding)) == [(0, 6, "NAME")]
    assert ranges(resolve(NOTE, jordan, policy=policy, ensemble=ENSEMBLE)) == [(0, 6, "COUNTRY")]


def test_a_category_that_may_stay_in_the_text_names_what_it_has_alone():
    yielding = Ensemble(("a",), yielding=frozenset({Phi.COUNTRY}))

    assert ranges(resolve(NOTE, predictions(span(0, 6, label=Phi.COUNTRY)), ensemble=yielding)) == [
        (0, 6, "COUNTRY")
    ]


def test_a_tie_between_categories_goes_to_the_severer_not_to_the_alphabet():
    tied = predictions(span(0, 6, label=Phi.COUNTRY), span(0, 6, label=Phi.NAME))

    for policy in POLICIES:
        assert ranges(resolve(NOTE, tied, policy=policy, ensemble=Ensemble(("a",)))) == [
            (0, 6, "NAME")
        ]


def test_among_equals_the_surer_detector_names_the_range_whatever_it_is_called():
    found = predictions(span(0, 6, "a", Phi.DATE, 0.6), span(0, 6, "b", Phi.ID, 0.9))

    assert ranges(resolve(NOTE, found, ensemble=Ensemble.of_equals(found[0]))) == [(0, 6, "ID")]


def test_every_category_has_its_own_severity():
    assert sorted(SEVERITY.values()) == list(range(len(Phi)))
    assert SEVERITY.keys() == set(Phi)
