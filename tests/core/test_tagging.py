"""Tokens, sentences, groups and tags."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid_assets.core.errors import InputError
from deid_assets.core.tagging import (
    OUTSIDE,
    TagScheme,
    decode,
    encode,
    follows,
    group_sentences,
    grouping_for,
    limit_lengths,
    may_begin,
    may_end,
    sentences,
    tag_set,
    tokenize,
)

texts = st.text(alphabet="aBé 1.\n-?\u0301", max_size=60)


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n", []),
        ("Dr.Lee", ["Dr", ".", "Lee"]),
        ("a1b", ["a", "1", "b"]),
        ("(617)555-0143", ["(", "617", ")", "555", "-", "0143"]),
        ("cafe\u0301s", ["cafe\u0301s"]),
        ("a_b", ["a", "_", "b"]),
    ],
)
def test_a_token_is_a_number_a_word_or_one_sign(text, expected):
    assert words(text) == expected


@given(texts)
def test_every_character_that_is_no_blank_is_in_one_token(text):
    tokens = tokenize(text)
    assert "".join(words(text)) == "".join(text.split())
    assert all(left[1] <= right[0] for left, right in pairwise(tokens))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("One", ["One"]),
        ("Once. Two", ["Once.", "Two"]),
        ("One\nTwo\n\nThree", ["One", "Two", "Three"]),
        ("Dr. Lee came. He left", ["Dr. Lee came.", "He left"]),
        ("J. Lee", ["J. Lee"]),
        ("at 3.5 mg. then", ["at 3.5 mg. then"]),
        ("Really?! Yes", ["Really?!", "Yes"]),
    ],
)
def test_sentences_end_with_lines_and_full_stops(text, expected):
    tokens = tokenize(text)
    found = [
        text[tokens[part.start][0] : tokens[part.stop - 1][1]] for part in sentences(text, tokens)
    ]
    assert found == expected


@given(texts, st.integers(1, 5), st.integers(1, 4))
def test_grouping_and_cutting_leave_the_tokens_as_they_are(text, factor, longest):
    tokens = tokenize(text)
    parts = sentences(text, tokens)
    groups = group_sentences(parts, factor)
    assert [number for group in groups for number in group] == list(range(len(tokens)))
    assert len(groups) == -(-len(parts) // factor)
    pieces = limit_lengths(groups, longest)
    assert [number for piece in pieces for number in piece] == list(range(len(tokens)))
    assert all(0 < len(piece) <= longest for piece in pieces)


def test_a_group_of_no_sentence_is_refused():
    with pytest.raises(InputError, match="give 1 or more"):
        group_sentences([], 0)


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (TagScheme.BIO, ["O", "B-NAME", "I-NAME", "B-DATE", "B-NAME"]),
        (TagScheme.BIOES, ["O", "B-NAME", "E-NAME", "S-DATE", "S-NAME"]),
    ],
)
def test_spans_become_tags(scheme, expected):
    text = "by Ann Lee 2020 Bo"
    spans = [(3, 10, "NAME"), (11, 15, "DATE"), (16, 18, "NAME")]
    tags, inexact = encode(spans, tokenize(text), scheme)
    assert (tags, inexact) == (expected, 0)


@pytest.mark.parametrize("span", [(0, 2, "NAME"), (1, 3, "NAME"), (3, 4, "NAME")])
def test_a_span_that_tokens_cannot_show_is_counted(span):
    _, inexact = encode([span], tokenize("Lee  Bo"), TagScheme.BIO)
    assert inexact == 1


@given(st.data())
def test_tags_decode_to_the_spans_they_were_made_of(data):
    tokens = [(2 * number, 2 * number + 1) for number in range(data.draw(st.integers(0, 12)))]
    scheme = data.draw(st.sampled_from(TagScheme))
    spans, at = [], 0
    while at < len(tokens):
        size = data.draw(st.integers(1, 3))
        if data.draw(st.booleans()):
            last = min(at + size, len(tokens)) - 1
            spans.append((tokens[at][0], tokens[last][1], data.draw(st.sampled_from(["A", "B-C"]))))
        at += size
    tags, inexact = encode(spans, tokens, scheme)
    assert inexact == 0
    assert decode(tags, tokens) == spans
    order = {tag: number for number, tag in enumerate(tag_set(["A", "B-C"], scheme))}
    allowed = follows(list(order), scheme)
    assert all(allowed[order[left]][order[right]] for left, right in pairwise(tags))
    assert not tags or (may_begin(tags[0]) and may_end(tags[-1], scheme))


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["I-A", "I-A"], [(0, 3, "A")]),
        (["B-A", "I-B"], [(0, 1, "A"), (2, 3, "B")]),
        (["B-A", "B-A"], [(0, 1, "A"), (2, 3, "A")]),
        (["E-A", "E-A"], [(0, 1, "A"), (2, 3, "A")]),
        (["S-A", "I-A"], [(0, 1, "A"), (2, 3, "A")]),
        (["B-A", "O"], [(0, 1, "A")]),
    ],
)
def test_tags_that_do_not_fit_lose_nothing(tags, expected):
    assert decode(tags, [(0, 1), (2, 3)]) == expected


def test_tags_and_tokens_must_be_as_many():
    with pytest.raises(InputError, match="1 tags for 2 tokens"):
        decode([OUTSIDE], [(0, 1), (2, 3)])


def test_the_grouping_comes_nearest_to_the_budget():
    assert grouping_for([[7] * 40], budget=200) == 32
    assert grouping_for([[50] * 8], budget=200) == 4
    assert grouping_for([[50] * 8], budget=200, longest=120) == 2
    assert grouping_for([[500]], budget=200, longest=120) == 1
    # Any number may fit an encoder, not powers of two alone: eleven sentences of 45 are 495 tokens.
    assert grouping_for([[45] * 40, [45] * 3], longest=512) == 11
    assert grouping_for([[45] * 7], longest=512) == 7
    with pytest.raises(InputError, match="no sentence"):
        grouping_for([[]])
