"""A release as an attacker sees it.

Every identifier in it, some of them put there, some left over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from deid_assets.extending import InputError, Phi
from deid_assets.extending.audits import Case, Key, Policy, Redacted, redact
from deid_assets.extending.measuring import union


@dataclass(frozen=True, slots=True)
class IdentifierCandidate:
    """A candidate: text that looks like an identifier.

    Args:
        start: First code point in the released text.
        end: One past the last.
        label: Category, which a reader sees.
        is_leftover: Whether it is real: the truth that the attacker wants to know.
    """

    start: int
    end: int
    label: Phi
    is_leftover: bool


@dataclass(frozen=True, slots=True)
class ReleasedNote:
    """A note of a release with all its candidates; ``text`` is hidden from ``repr``."""

    note_id: str
    lang: str | None
    text: str = field(repr=False)
    candidates: tuple[IdentifierCandidate, ...]


def release(cases: Iterable[Case], policy: Policy, *, key: Key) -> list[ReleasedNote]:
    """Return the notes as released under a policy, with what was replaced and what is left of the
    gold.

    The attacker is given every place at which something was written or left: one who reads well and
    knows identifiers when seeing them. Categories that the policy leaves on purpose, and values
    that it leaves as they are, such as ages to 89, are no leaks and no candidates.

    Raises:
        PolicyError: The policy cannot be carried out.
    """
    released = []
    for case in cases:
        redacted = redact(case.note, case.found, policy, key=key)
        pieces = [*_list_written(case, redacted), *_list_left(case, redacted, policy)]
        candidates = tuple(sorted(pieces, key=lambda each: (each.start, each.end)))
        released.append(ReleasedNote(case.note.note_id, case.note.lang, redacted.text, candidates))
    return released


def split(cases: Sequence[Case], *, key: Key) -> tuple[list[Case], list[Case]]:
    """Return two halves of a corpus, all notes of a patient in one of them.

    Raises:
        InputError: One half is empty.
    """
    halves: tuple[list[Case], list[Case]] = ([], [])
    for case in cases:
        owner = case.note.patient_id or case.note.note_id
        halves[key.seed("half", owner) % 2].append(case)
    if not all(halves):
        raise InputError("two halves are needed, of several patients each; give more notes")
    return halves


def _list_written(case: Case, redacted: Redacted) -> Iterable[IdentifierCandidate]:
    for edit in redacted.edits:
        written = redacted.text[edit.new_start : edit.new_end]
        if written and written != case.note.text[edit.start : edit.end]:
            yield IdentifierCandidate(edit.new_start, edit.new_end, edit.label, is_leftover=False)


def _list_left(case: Case, redacted: Redacted, policy: Policy) -> Iterable[IdentifierCandidate]:
    covered = union((edit.start, edit.end) for edit in redacted.edits)
    for span in case.gold:
        if span.label in policy.may_leave:
            continue
        for start, end in _outside(span.start, span.end, covered):
            if any(map(str.isalnum, case.note.text[start:end])):
                new_start = redacted.to_redacted(start)
                yield IdentifierCandidate(
                    new_start, new_start + end - start, span.label, is_leftover=True
                )


def _outside(start: int, end: int, covered: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Yield the parts of a range that no covered range covers."""
    for left, right in covered:
        if right <= start or left >= end:
            continue
        if start < left:
            yield start, left
        start = max(start, right)
    if start < end:
        yield start, end
