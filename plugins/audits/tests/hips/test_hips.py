"""The error injector drops what it says, and the attack finds leftovers exactly where they can be
distinguished.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.policies import load_policy
from deid_assets.policies.sentences import DropSentence
from deid_assets.privacy.audit import Case
from deid_assets.privacy.injection import Injector
from deid_hips.attack import DETECTED, AttackOptions, attack
from deid_hips.features import featurize, shape
from deid_hips.leftovers import release, split
from deid_hips.logistic import fit
from deid_hips.ranking import judge

KEY = Key(bytes(range(32)))
TAG = load_policy("tag")
FIRST = ("Anna", "Berta", "Carla", "Dora", "Emma", "Frieda", "Greta", "Hanna", "Ida", "Johanna")
LAST = ("Arlen", "Borg", "Croft", "Dunne", "Ekman", "Frost", "Garner", "Holt", "Irving", "Jensen")


def case(number, found=None):
    name = f"{FIRST[number % 10]} {LAST[number // 10 % 10]}"
    text = (
        f"Patient {name} was seen. Record {4_000_000 + number * 7919}. {name} is well, says"
        f" {FIRST[-1 - number % 10]}."
    )
    note = Note(f"n{number}", text, f"p{number}", "en")
    places = [
        (8, 8 + len(name), Phi.NAME),
        (text.index("Record") + 7, text.index("Record") + 14, Phi.MRN),
    ]
    again = text.index(name, 20)
    places += [
        (again, again + len(name), Phi.NAME),
        (text.index("says") + 5, len(text) - 1, Phi.NAME),
    ]
    gold = DisjointSpans.of(note, [Span(*place) for place in places])
    return Case(note, gold, gold if found is None else DisjointSpans.of(note, list(gold)[:found]))


CASES = [case(number) for number in range(120)]


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 5))
def test_what_is_dropped_at_one_share_is_dropped_at_a_higher_one(one, other, seed):
    low, high = sorted((one, other))
    spans = CASES[7].gold

    assert set(Injector(high, seed=seed).keep(spans)) <= set(Injector(low, seed=seed).keep(spans))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_the_share_is_about_what_was_asked_for(share):
    dropped = sum(len(each.gold) - len(Injector(share).keep(each.gold)) for each in CASES)
    everything = sum(len(each.gold) for each in CASES)

    assert dropped == pytest.approx(share * everything, abs=4 * np.sqrt(everything) / 2)


def test_a_category_can_have_a_share_of_its_own():
    injector = Injector(0.0, {Phi.MRN: 1.0})

    assert {span.label for each in CASES for span in injector.keep(each.gold)} == {Phi.NAME}


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(InputError, match=r"in \[0, 1\]"):
        Injector(share)


def test_candidates_are_what_was_written_and_what_was_left():
    (note,) = release([case(3, found=1)], TAG, key=KEY)

    told = [(note.text[each.start : each.end], each.is_leftover) for each in note.candidates]
    assert told == [("[NAME]", False), ("4023757", True), ("Dora Arlen", True), ("Greta", True)]


def test_a_part_that_is_left_is_a_leftover():
    whole = case(3)
    half = DisjointSpans.of(whole.note, [Span(8, 12, Phi.NAME), *list(whole.gold)[1:]])
    (note,) = release([Case(whole.note, whole.gold, half)], TAG, key=KEY)

    assert [note.text[each.start : each.end] for each in note.candidates if each.is_leftover] == [
        " Arlen"
    ]


def test_what_a_policy_leaves_on_purpose_is_no_candidate():
    policy = Policy("p", TAG.default, keep=frozenset({Phi.MRN}))
    (note,) = release([case(3)], policy, key=KEY)

    assert {each.label for each in note.candidates} == {Phi.NAME}


def test_the_notes_of_a_patient_are_in_one_half():
    cases = [
        Case(Note(f"m{n}", each.note.text, f"p{n % 9}", "en"), each.gold, each.found)
        for n, each in enumerate(CASES)
    ]
    own, attacked = split(cases, key=KEY)

    assert not {each.note.patient_id for each in own} & {each.note.patient_id for each in attacked}
    assert len(own) + len(attacked) == len(cases)
    with pytest.raises(InputError, match="two halves"):
        split(cases[:1], key=KEY)


def test_behind_tags_every_leftover_is_plain_to_see():
    findings = attack(CASES, [TAG], key=KEY, setting=AttackOptions((0.8, 0.95)))

    assert [(each.result.auc[0], each.result.precision[0]) for each in findings] == [(1.0, 1.0)] * 2


def test_surrogates_hide_leftovers_better_than_tags():
    (finding,) = attack(CASES, [load_policy("surrogate")], key=KEY, setting=AttackOptions((0.8,)))

    assert finding.result.precision[0] < 1
    assert finding.result.precision[1] <= finding.result.precision[0] <= finding.result.precision[2]
    assert finding.result.leftovers == pytest.approx(0.2 * finding.gold, abs=20)


def test_where_nothing_is_written_all_that_is_left_is_real():
    policy = Policy("drop", DropSentence())
    (finding,) = attack(CASES, [policy], key=KEY, setting=AttackOptions((0.5,)))

    assert finding.result.candidates == finding.result.leftovers
    assert finding.result.precision == (1.0, 1.0, 1.0)


def test_what_a_detector_missed_is_judged_too():
    cases = [case(number, found=4 - (number % 3 == 0)) for number in range(120)]
    findings = attack(cases, [TAG], key=KEY, setting=AttackOptions((0.9,)))

    assert [each.recall for each in findings] == [0.9, DETECTED]
    assert findings[1].result.leftovers == sum(
        len(each.gold) - len(each.found)
        for each in split(cases, key=Key(KEY.derive("hips", "1")))[1]
    )


def test_one_seed_gives_one_answer():
    one, again = (
        attack(CASES[:60], [TAG], key=KEY, setting=AttackOptions((0.8,), seed=3)) for _ in range(2)
    )

    assert [each.to_json() for each in one] == [each.to_json() for each in again]


def test_the_model_tells_apart_what_differs_and_nothing_else():
    rows = [np.array([0, 1 + n % 2, 10 + n]) for n in range(200)]
    model = fit(rows, [n % 2 == 1 for n in range(200)])
    scores = model.scores(rows)

    assert min(scores[1::2]) > max(scores[::2])
    with pytest.raises(InputError, match="to learn from"):
        fit(rows, [True] * 200)


RANKING = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=40)


@given(RANKING)
def test_the_area_is_the_share_of_pairs_in_the_right_order(ranking):
    scores = np.arange(len(ranking), 0, -1, dtype=float)
    truth = [is_left for _, is_left in ranking]
    result = judge(scores, truth, [note for note, _ in ranking], at=(1, 5), seed=1)
    pairs = [
        (a, b) for a, left in enumerate(truth) if left for b, other in enumerate(truth) if not other
    ]

    if pairs:
        assert result.auc[0] == pytest.approx(sum(a < b for a, b in pairs) / len(pairs))
        assert result.precision[0] == pytest.approx(np.mean(truth[: sum(truth)]))
    assert result.found_at[1] == truth[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Anna-Lena", "Aa-Aa"), ("03/04/2021", "9/9/9"), ("[NAME]", "[A]"), ("", "")],
)
def test_shapes(text, expected):
    assert shape(text) == expected


def test_features_do_not_depend_on_what_is_true():
    notes = release([case(3, found=1)], TAG, key=KEY)
    (note,) = notes
    lying = type(note)(
        note.note_id,
        note.lang,
        note.text,
        tuple(type(c)(c.start, c.end, c.label, not c.is_leftover) for c in note.candidates),
    )

    assert all(map(np.array_equal, featurize(notes), featurize([lying])))


def test_what_is_picked_is_counted_by_category():
    cases = [case(number, found=3) for number in range(120)]  # the last name of each is missed
    finding = attack(cases, [TAG], key=KEY, setting=AttackOptions(()))[0].to_json()

    assert finding["by_category"] == {"NAME": [finding["leftovers"]] * 2}


def test_the_interval_of_a_ranking_is_drawn_over_notes():
    """Figures of the weighted sums that stood here before, at commit 0c2051d."""
    rng = np.random.default_rng(5)
    rng.normal(size=190)
    truth = rng.random(300) < 0.3
    scores = np.round(rng.normal(size=300) - truth, 1)
    found = judge(-scores, truth.tolist(), np.repeat(np.arange(30), 10).tolist(), at=[5], seed=2)
    assert found.auc == pytest.approx((0.7490919946, 0.6843454061, 0.8123984669))
    assert found.precision == pytest.approx((0.5346534653, 0.4207388364, 0.6505194856))
