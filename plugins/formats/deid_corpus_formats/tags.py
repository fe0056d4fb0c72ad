"""Tags of tokens, and the entities they spell: BIO (IOB2), IOB1, BIOES and BILOU.

The schemes are those of Ramshaw and Marcus (1995) and Tjong Kim Sang and Veenstra (1999), and of
Ratinov and Roth (2009) for BILOU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deid_assets.extending.formats import Problem, TagScheme

OUTSIDE = "O"
UNTAGGED = "_"
"""Tag of every token of a note that is not annotated, as CoNLL-U writes what is not specified."""

_LETTERS = {"bio": "BI", "iob2": "BI", "iob1": "BI", "bioes": "BIES", "bilou": "BILU"}
_ENDS = "ESLU"


@dataclass(slots=True)
class TokenEntity:
    """Tokens ``first`` to ``last``, both included, counted in their sentence."""

    first: int
    last: int
    label: str
    line: int


def is_tag(tag: str) -> bool:
    """Whether a cell can be a tag of any scheme."""
    return tag in (OUTSIDE, UNTAGGED) or (
        tag[:1] in tuple("BIESLU") and tag[1:2] == "-" and len(tag) > 2
    )


def entities(
    tags: Sequence[str], lines: Sequence[int], *, scheme: TagScheme, repair: bool
) -> tuple[list[TokenEntity], list[Problem]]:
    """Return the entities of one sentence, and its problems.

    There is one problem per tag that the scheme does not allow where it stands. Under ``iob1`` a B-
    is taken wherever it stands, since it can mean one thing only.

    Args:
        tags: One per token.
        lines: Where they stand.
        scheme: How entities are spelt.
        repair: Take what continues nothing as a beginning, and what does not end as ended.
    """
    found: list[TokenEntity] = []
    problems: list[Problem] = []
    current: TokenEntity | None = None
    closes = scheme in ("bioes", "bilou") and not repair
    for index, (tag, line) in enumerate(zip(tags, lines, strict=True)):
        letter, label = tag[:1], tag[2:]
        if tag != OUTSIDE and not (is_tag(tag) and letter in _LETTERS[scheme]):
            reason = (
                f"no tag of scheme {scheme}; write O or one of {'- '.join(_LETTERS[scheme])}- and a"
                " label"
            )
            problems.append(Problem("malformed", reason, line))
            continue
        if current is not None and letter not in "BSUO" and label == current.label:
            current.last = index
        else:
            if current is not None and closes:
                problems.append(_report_unended(current, scheme))
            current = None if tag == OUTSIDE else TokenEntity(index, index, label, line)
            if current is not None:
                found.append(current)
                if letter in "IEL" and scheme != "iob1" and not repair:
                    problems.append(_orphan(scheme, line))
        if letter in _ENDS:
            current = None
    if current is not None and closes:
        problems.append(_report_unended(current, scheme))
    return found, problems


def _orphan(scheme: str, line: int) -> Problem:
    return Problem(
        "malformed",
        f"the tag continues no entity, as {scheme} wants; fix it or read with repair",
        line,
    )


def _report_unended(entity: TokenEntity, scheme: str) -> Problem:
    reason = (
        f"the entity that begins here has no last tag, as {scheme} wants; fix it or read with"
        " repair"
    )
    return Problem("malformed", reason, entity.line)


def tag_of(
    label: str, *, is_first: bool, is_last: bool, follows_like: bool, scheme: TagScheme
) -> str:
    """Return the tag of one token of an entity.

    Args:
        label: Of the entity.
        is_first: The entity begins with the token.
        is_last: The entity ends with it.
        follows_like: The token before, in the same sentence, belongs to another entity of the same
            label.
        scheme: How to spell it.
    """
    begins = is_first and (follows_like or scheme != "iob1")
    letter = "B" if begins else "I"
    if scheme in ("bioes", "bilou") and is_last:
        single, last = ("S", "E") if scheme == "bioes" else ("U", "L")
        letter = single if is_first else last
    return f"{letter}-{label}"
