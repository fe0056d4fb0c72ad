"""Tags are filled later.

One person stays one person, what is no tag stays, and every offset still holds.
"""

import re

import pytest

from deid_assets.core.errors import DigestError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import redact
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.edits.maps import MadeBy, edit_map
from deid_assets.policies import load_policy
from deid_edit_maps.repopulate import identity_in, invent_value, repopulate
from deid_edit_maps.twins import twin, twin_key

KEY = Key(bytes(range(32)))
BY = MadeBy("deid-assets 0", "p", "0" * 64)
TEXT = "Ann Lee, 45, came on 3 May 2021. Ann Lee left with Bob Ray; MRN 1234567."
SPANS = [
    (0, 7, Phi.NAME),
    (9, 11, Phi.AGE),
    (21, 31, Phi.DATE),
    (33, 40, Phi.NAME),
    (51, 58, Phi.NAME),
    (64, 71, Phi.MRN),
]


def redacted_with(policy):
    note = Note("n", TEXT, "p1", "en")
    spans = DisjointSpans.of(note, [Span(*each) for each in SPANS])
    found = redact(note, spans, load_policy(policy), key=KEY)
    edits = edit_map(note, found, spans, key=KEY, made_by=BY)
    return Note("n", found.text, "p1", "en"), edits


def filled_from(policy):
    note, edits = redacted_with(policy)
    return repopulate(note, edits, load_policy("surrogate"), key=KEY, made_by=BY)


def values(found):
    return [found.text[edit.new_start : edit.new_end] for edit in found.edits.edits]


@pytest.mark.parametrize("policy", ["numbered", "mimic_style", "hash"])
def test_one_person_stays_one_person_where_the_tag_says_so(policy):
    first, _, _, again, other, _ = values(filled_from(policy))

    assert first == again != other


@pytest.mark.parametrize("policy", ["tag", "placeholder", "keep_nothing", "blackout"])
def test_where_the_tag_does_not_say_so_each_is_a_person_of_its_own(policy):
    first, _, _, again, other, _ = values(filled_from(policy))

    assert len({first, again, other}) == 3


def test_every_tag_is_filled_and_the_rest_stays():
    found = filled_from("numbered")

    pattern = r"(.+), (\d\d), came on (.+)\. (.+) left with (.+); MRN (\d+)\."
    assert re.fullmatch(pattern, found.text).groups() == tuple(values(found))
    assert (found.filled.total(), found.left.total()) == (6, 0)


def test_the_edits_lead_from_the_original_to_the_new_text():
    found = filled_from("tag")

    assert [(edit.start, edit.end) for edit in found.edits.edits] == [
        (start, end) for start, end, _ in SPANS
    ]
    assert (found.edits.chars, found.edits.new_chars) == (len(TEXT), len(found.text))


def test_the_same_key_fills_the_same():
    assert filled_from("tag").text == filled_from("tag").text


def test_what_is_no_tag_stays():
    found = filled_from("gdpr_strict")

    assert values(found)[1:3] == ["40-49", "2021"]


def test_a_policy_that_writes_tags_leaves_them():
    note, edits = redacted_with("tag")
    found = repopulate(note, edits, load_policy("tag"), key=KEY, made_by=BY)

    assert (found.text, found.filled.total(), found.left.total()) == (note.text, 0, 6)


def test_edits_of_another_text_are_refused():
    _, edits = redacted_with("tag")

    with pytest.raises(DigestError, match="of another text"):
        repopulate(Note("n", "Another."), edits, load_policy("surrogate"), key=KEY, made_by=BY)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[NAME]", (True, None)),
        ("[HEALTH_PLAN]", (True, None)),
        ("[XXXXX]", (True, None)),
        ("███", (True, None)),
        ("[NAME_12]", (True, "12")),
        ("[HEALTH_PLAN_3]", (True, "3")),
        ("[**Health plan 3**]", (True, "3")),
        ("[NAME:9f3a52c01b7e]", (True, "9f3a52c01b7e")),
        ("Ann Lee", (False, None)),
        ("2021", (False, None)),
        ("40-49", (False, None)),
        ("021XX", (False, None)),
        ("", (False, None)),
        ("[see below]", (False, None)),
    ],
)
def test_tags_are_told_from_values(written, expected):
    assert identity_in(written) == expected


@pytest.mark.parametrize("label", list(Phi))
def test_every_category_has_a_value_to_start_from(label):
    made = {invent_value(label, seed * 7919, lang="es") for seed in range(40)}

    assert all(made)
    assert len(made) > 20


def test_a_twin_differs_in_names_only():
    note = Note("n", TEXT, "p1", "en")
    spans = DisjointSpans.of(note, [Span(*each) for each in SPANS])
    one, again, other = (twin(note, spans, key=twin_key(KEY, number)) for number in (1, 1, 2))

    names = [one.text[edit.new_start : edit.new_end] for edit in one.edits]
    assert re.fullmatch(
        r"(.+), 45, came on 3 May 2021\. \1 left with (.+); MRN 1234567\.", one.text
    )
    assert not {"Ann", "Lee", "Bob", "Ray"} & {word for name in names for word in name.split()}
    assert one.text == again.text != other.text


def test_a_twin_has_the_next_name_where_the_first_stands_in_the_note():
    def twin_of(text):
        return twin(
            Note("n", text, "p1", "en"),
            DisjointSpans.of(Note("n", text), [Span(0, 7, Phi.NAME)]),
            key=KEY,
        )

    first = twin_of("Ann Lee came.").text.removesuffix(" came.")
    found = twin_of(f"Ann Lee came with {first}.")

    assert not found.text.startswith((first, "Ann", "["))
    assert found.text.endswith(f" came with {first}.")
