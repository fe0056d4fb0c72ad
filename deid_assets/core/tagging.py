"""Input of sequence taggers: tokens, sentences, groups of sentences, and tags for spans.

Offsets, never text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

from deid_assets.core.errors import InputError

Token = tuple[int, int]
"""Half-open range of code points."""
Labelled = tuple[int, int, str]
"""Half-open range and its label."""
Grouping = int | str
"""What is joined into one input: a number of sentences, or ``128 words``."""
OUTSIDE = "O"
_CHUNK = re.compile(r"[1-9]\d{0,4} words")

TOKEN = re.compile(r"\d+|[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*|\S")
"""A number, a word with its combining marks, or one other character."""
_SENTENCE_END = re.compile(
    r"[.!?…][\"'»\u201d\u2019)\]]*\s+(?=[\"'«\u201c\u2018(\[¿¡]*[A-ZÀ-ÖØ-Þ0-9])"
)
_ABBREVIATION = re.compile(r"(?:\b[^\W\d_]{1,3}|\d)\.$")
"""Matches what a full stop ends without ending a sentence: an initial, a title, an ordinal."""


class TagScheme(StrEnum):
    """Tagging scheme of a label's tokens."""

    BIO = "bio"
    """``B-`` on the first token, ``I-`` on the others (IOB2)."""
    BIOES = "bioes"
    """As ``BIO``, with ``E-`` on the last token and ``S-`` on an only one."""


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text in order.

    Every character that is no blank belongs to exactly one.
    """
    return [match.span() for match in TOKEN.finditer(text)]


def sentences(text: str, tokens: Sequence[Token]) -> list[range]:
    """Return the sentences as ranges of token numbers.

    None is empty, and together they hold every token.

    A sentence ends with its line, or at a full stop, question or exclamation mark before a capital
    or a digit, unless the full stop follows an initial, a short abbreviation or a number.
    """
    ends = {match.end() for match in re.finditer(r"\n\s*", text)}
    for match in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text, max(0, match.start() - 4), match.start() + 1):
            ends.add(match.end())
    borders = sorted(ends)
    found: list[range] = []
    first = cursor = 0
    for number, (start, _) in enumerate(tokens):
        passed = cursor
        while cursor < len(borders) and borders[cursor] <= start:
            cursor += 1
        if cursor > passed and number > first:
            found.append(range(first, number))
            first = number
    return [*found, range(first, len(tokens))] if first < len(tokens) else found


def group_sentences(parts: Sequence[range], factor: int) -> list[range]:
    """Join each ``factor`` consecutive sentences of one note into one (Catelli 2021, sub-document
    level).

    Raises:
        InputError: The factor is not positive.
    """
    if factor < 1:
        raise InputError(f"sentences are grouped by {factor}; give 1 or more")
    return [
        range(parts[at].start, parts[min(at + factor, len(parts)) - 1].stop)
        for at in range(0, len(parts), factor)
    ]


def read_grouping(value: object) -> Grouping:
    """Return what is joined into one input, as a folder or recipe has it.

    A number, or ``128 words``.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(value, str) and _CHUNK.fullmatch(value):
        return value
    number = int(value) if isinstance(value, (int, str)) else 0
    if number < 1:
        raise ValueError(
            f"grouping {value!r} is no number of sentences from 1, and does not read as '128 words'"
        )
    return number


def input_ranges(text: str, tokens: Sequence[Token], grouping: Grouping) -> list[range]:
    """Return the inputs of a note as ranges of token numbers, which hold every token once.

    Chunks of so many words, blanks between them, take no notice of sentences (Vakili 2025, paper
    VI: 128 words).

    Raises:
        InputError: The grouping is no positive number.
    """
    if not isinstance(grouping, str):
        if 0 < len(tokens) <= grouping:  # no sentence is empty
            return [range(len(tokens))]
        return group_sentences(sentences(text, tokens), grouping)
    words = int(grouping.split()[0])
    first = [at for at, (start, _) in enumerate(tokens) if not at or start > tokens[at - 1][1]]
    borders = [*first[::words], len(tokens)]
    return [range(start, stop) for start, stop in pairwise(borders) if start < stop]


def limit_lengths(parts: Sequence[range], longest: int) -> list[range]:
    """Cut what has more than ``longest`` tokens into even pieces, so that no sequence is without
    end.
    """
    return [piece for part in parts for piece in _pieces(part, longest)]


def _pieces(part: range, longest: int) -> Iterator[range]:
    count = -(-len(part) // longest)
    borders = [part.start + len(part) * number // count for number in range(count + 1)]
    return (range(start, stop) for start, stop in pairwise(borders))


def encode(
    spans: Iterable[Labelled], tokens: Sequence[Token], scheme: TagScheme
) -> tuple[list[str], int]:
    """Return a tag per token, and how many spans the tokens cannot show exactly.

    A span that begins or ends inside a token takes the whole token; one that covers none has no
    tag.

    Args:
        spans: Sorted and disjoint.
        tokens: Of the same text.
        scheme: How to tag.
    """
    tags = [OUTSIDE] * len(tokens)
    inexact = at = 0
    for start, end, label in spans:
        while at < len(tokens) and tokens[at][1] <= start:
            at += 1
        stop = at
        while stop < len(tokens) and tokens[stop][0] < end:
            stop += 1
        if at == stop or tokens[at][0] != start or tokens[stop - 1][1] != end:
            inexact += 1
        tags[at:stop] = _tags(stop - at, label, scheme)
        at = stop
    return tags, inexact


def _tags(size: int, label: str, scheme: TagScheme) -> list[str]:
    if size == 0:
        return []
    if scheme is TagScheme.BIO:
        return [f"B-{label}", *[f"I-{label}"] * (size - 1)]
    return (
        [f"S-{label}"] if size == 1 else [f"B-{label}", *[f"I-{label}"] * (size - 2), f"E-{label}"]
    )


def decode(tags: Sequence[str], tokens: Sequence[Token]) -> list[Labelled]:
    """Return the spans that tags of either scheme say.

    An ``I-`` or ``E-`` that follows nothing of its label begins one.

    Raises:
        InputError: There are more or fewer tags than tokens.
    """
    return [
        (tokens[first][0], tokens[last][1], label) for first, last, label in entities(tags, tokens)
    ]


def entities(tags: Sequence[str], tokens: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """Yield the first and the last token of each span, and its label; as ``decode``."""
    if len(tags) != len(tokens):
        raise InputError(f"{len(tags)} tags for {len(tokens)} tokens; give one each")
    first, open_label = 0, ""
    for number, tag in enumerate([*tags, OUTSIDE]):
        prefix, _, label = tag.partition("-")
        if open_label and (label != open_label or prefix in "BS"):
            yield first, number - 1, open_label
            open_label = ""
        if label and not open_label:
            first, open_label = number, label
        if open_label and prefix in "ES":
            yield first, number, open_label
            open_label = ""


def tag_set(labels: Iterable[str], scheme: TagScheme) -> list[str]:
    """Return every tag of the labels, ``O`` first, in an order that depends on the labels alone."""
    prefixes = "BI" if scheme is TagScheme.BIO else "BIES"
    return [OUTSIDE, *(f"{prefix}-{label}" for label in sorted(set(labels)) for prefix in prefixes)]


def follows(tags: Sequence[str], scheme: TagScheme) -> list[list[bool]]:
    """Return which tag may come after which: ``[before][after]``."""
    return [[_may_follow(before, after, scheme) for after in tags] for before in tags]


def may_begin(tag: str) -> bool:
    """Whether a sequence may begin with the tag."""
    return not tag.startswith(("I-", "E-"))


def may_end(tag: str, scheme: TagScheme) -> bool:
    """Whether a sequence may end with the tag."""
    return scheme is TagScheme.BIO or not tag.startswith(("B-", "I-"))


def _may_follow(before: str, after: str, scheme: TagScheme) -> bool:
    prefix, _, label = before.partition("-")
    next_prefix, _, next_label = after.partition("-")
    continues = bool(next_prefix) and next_prefix in "IE"
    is_open = (prefix in "BI") if scheme is TagScheme.BIOES else bool(label)
    if continues:
        return is_open and label == next_label
    return scheme is TagScheme.BIO or not is_open


def grouping_for(
    lengths: Sequence[Sequence[int]], *, budget: int = 200, longest: int | None = None
) -> int:
    """Return how many sentences to join: by a mean length, or by the limit of an encoder.

    Without a limit it is, of 1, 2, 4, … 32, the one whose mean length is nearest to the budget:
    Catelli (2021) takes 200 tokens, the context that language models of the LSTM kind use
    (Khandelwal et al. 2018). With a limit it is the largest number of which no group is longer, as
    the 11 of that work's BERT.

    Args:
        lengths: Tokens of each sentence, note by note.
        budget: Mean tokens wanted.
        longest: Most tokens of a group, where a network has a limit; the budget is left aside then.

    Raises:
        InputError: There is no sentence.
    """
    if not any(lengths):
        raise InputError("there is no sentence to choose a grouping by; give notes with text")
    if longest is not None:
        most = max(map(len, lengths))
        fits = (
            factor
            for factor in range(most, 1, -1)
            if max(_group_lengths(lengths, factor)) <= longest
        )
        return next(fits, 1)
    candidates: Mapping[int, list[int]] = {
        factor: _group_lengths(lengths, factor) for factor in (1, 2, 4, 8, 16, 32)
    }
    return min(
        candidates,
        key=lambda factor: abs(sum(candidates[factor]) / len(candidates[factor]) - budget),
    )


def _group_lengths(lengths: Sequence[Sequence[int]], factor: int) -> list[int]:
    return [sum(note[at : at + factor]) for note in lengths for at in range(0, len(note), factor)]
