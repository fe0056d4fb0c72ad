"""Named contracts: what must hold of a frame before its asset may be stored.

A contract is a list of expectations in plain terms. ``expectations.run`` has Great Expectations evaluate them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deid_assets.core.phi import Phi

if TYPE_CHECKING:
    import pandas as pd

    Mask = Callable[[pd.DataFrame], "pd.Series[bool]"]

LANGUAGES = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo
    es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka
    kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng
    nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su
    sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()  # noqa: SIM905 - a list of 183 strings is no easier to read
)
"""ISO 639-1, 183 codes."""

_DIGEST = r"^[0-9a-f]{64}$"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that must hold.

    Args:
        name: Becomes the verdict's name.
        description: What passing means.
        kind: Class in ``great_expectations.expectations``.
        options: Its arguments.
        bad: Marks the rows that break it. Great Expectations passes over missing values; this must not,
            unless they are allowed.
        blocking: Whether a failure stops the materialization.
    """

    name: str
    description: str
    kind: str
    options: Mapping[str, Any]
    bad: Mask
    blocking: bool = True


@dataclass(frozen=True, slots=True)
class Contract:
    """Expectations that belong together.

    Args:
        name: For messages.
        expectations: Evaluated in order; their names differ.
    """

    name: str
    expectations: tuple[Expectation, ...]

    def warning(self, *names: str) -> Contract:
        """Return the contract with the named expectations made non-blocking.

        Raises:
            KeyError: The contract has no such expectation.
        """
        unknown = set(names) - {expectation.name for expectation in self.expectations}
        if unknown:
            raise KeyError(f"contract {self.name!r} has no expectation {', '.join(sorted(unknown))}")
        changed = (replace(each, blocking=each.blocking and each.name not in names) for each in self.expectations)
        return replace(self, expectations=tuple(changed))


def unique(name: str, description: str, column: str) -> Expectation:
    """No value of the column occurs twice, and none is missing."""
    return Expectation(
        name,
        description,
        "ExpectColumnValuesToBeUnique",
        {"column": column},
        lambda frame: frame[column].duplicated(keep=False) | frame[column].isna(),
    )


def between(
    name: str, description: str, column: str, *, least: float | None = None, most: float | None = None
) -> Expectation:
    """Every value lies in ``[least, most]``, and none is missing."""
    low, high = (float("-inf") if least is None else least), (float("inf") if most is None else most)
    return Expectation(
        name,
        description,
        "ExpectColumnValuesToBeBetween",
        {"column": column, "min_value": least, "max_value": most},
        # `between` is false for a missing value.
        lambda frame: ~frame[column].between(low, high),
    )


def one_of(
    name: str, description: str, column: str, *, values: Collection[str], may_be_missing: bool = False
) -> Expectation:
    """Every value is one of ``values``."""
    allowed = sorted(values)
    return Expectation(
        name,
        description,
        "ExpectColumnValuesToBeInSet",
        {"column": column, "value_set": allowed},
        lambda frame: ~frame[column].isin(allowed) & ~(frame[column].isna() & may_be_missing),
    )


def matching(name: str, description: str, column: str, *, pattern: str) -> Expectation:
    """Every value matches the regular expression from start to end, and none is missing."""
    return Expectation(
        name,
        description,
        "ExpectColumnValuesToMatchRegex",
        {"column": column, "regex": pattern},
        lambda frame: ~frame[column].str.fullmatch(pattern).fillna(value=False).astype(bool),
    )


def equal(name: str, description: str, left: str, right: str) -> Expectation:
    """The two columns hold the same value in every row, and none is missing."""
    return Expectation(
        name,
        description,
        "ExpectColumnPairValuesToBeEqual",
        {"column_A": left, "column_B": right, "ignore_row_if": "neither"},
        lambda frame: ~(frame[left] == frame[right]).fillna(value=False).astype(bool),
    )


def raw_notes() -> Contract:
    """Over ``frames.notes_frame``: notes that detectors may be run on."""
    encoding = between("encoding", "No replacement or control characters", "broken_chars", least=0, most=0)
    return Contract(
        "raw_notes",
        (
            unique("ids_unique", "No note id occurs twice", "note_id"),
            between("not_empty", "Every note has text", "n_chars", least=1),
            one_of(
                "language", "Languages are ISO 639-1 codes or unknown", "lang", values=LANGUAGES, may_be_missing=True
            ),
            matching("digest_form", "Digests are SHA-256", "digest", pattern=_DIGEST),
            replace(encoding, blocking=False),
        ),
    )


def span_sets() -> Contract:
    """Over ``frames.span_sets_frame``: one set per known note, made for its present text."""
    return Contract(
        "span_sets",
        (
            unique("one_set_per_note", "No note has two span sets", "note_id"),
            between("notes_known", "Every span set is for a note of the batch", "n_chars", least=0),
            equal("digests_match", "Spans were made for the present text", "digest", "note_digest"),
        ),
    )


def spans(*, sources: Collection[str]) -> Contract:
    """Over ``frames.spans_frame``: well-formed spans from the named sources."""
    return Contract(
        "spans",
        (
            between("in_bounds", "0 <= start < end <= length of the note", "margin", least=0),
            one_of("labels_known", "Labels are PHI categories", "label", values=[label.value for label in Phi]),
            between("scores_in_range", "Scores lie in [0, 1]", "score", least=0, most=1),
            one_of("sources_known", "Sources are those declared", "source", values=sources),
        ),
    )


def merged(*, sources: Collection[str]) -> Contract:
    """Over ``frames.spans_frame``: ``spans``, and no two of a note overlap."""
    disjoint = between("no_overlap", "No two spans of a note overlap", "gap", least=0)
    return Contract("merged", (*spans(sources=sources).expectations, disjoint))
