"""Whether a known identifier is still readable in the text that redaction kept."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Edit
from deid_assets.core.span import Span
from deid_assets.quality.verdict import Verdict

MIN_CHARS = 4
"""Letters and digits a value needs: shorter ones ("3", "M", "Li") are ordinary words and numbers elsewhere."""

MIN_DIGITS = 7
"""Digits from which a number is sought in every grouping, as 617-555-0143 in 6175550143."""

SHARED = frozenset({Phi.AGE, Phi.SEX, Phi.COUNTRY, Phi.REGION, Phi.PROFESSION, Phi.RELATIVE})
"""Categories whose values are ordinary words or numbers; their second occurrence identifies nobody."""

_BORDER = "\ud800"
"""Stands between kept segments. No note holds it, since a lone surrogate is refused; it is part of no token."""

_TOKEN = re.compile(r"[^\W_]+")
_TOKEN_OR_BORDER = re.compile(rf"[^\W_]+|{_BORDER}")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_NUMBER = re.compile(r"\d(?:[ .\-/()]{0,2}\d)+")

Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """What it takes to judge one redacted note.

    Args:
        note: The original.
        gold: Its known PHI, in any order; may overlap.
        edits: What redaction replaced, sorted.
    """

    note: Note
    gold: Iterable[Span]
    edits: Sequence[Edit]


class Survival(NamedTuple):
    """What is left in one note; see ``survivors``."""

    survivors: int = 0
    lower_case: int = 0
    name_parts: int = 0


@dataclass(slots=True)
class _Values:
    """The identifiers of one patient: long numbers as digits alone, all others as folded tokens by their first.

    A value is mapped to whether it is one capitalised word, which may occur in lower case as an ordinary one.
    """

    whole: defaultdict[str, dict[Tokens, bool]] = field(default_factory=lambda: defaultdict(dict), repr=False)
    parts: set[str] = field(default_factory=set, repr=False)
    numbers: set[str] = field(default_factory=set, repr=False)

    def add(self, text: str, label: Phi) -> None:
        tokens = tuple(_TOKEN.findall(text))
        if not _is_telling(tokens, label):
            return
        joined = "".join(tokens)
        if joined.isdigit() and len(joined) >= MIN_DIGITS:
            self.numbers.add(joined)
            return
        folded = tuple(map(str.casefold, tokens))
        is_capitalised = len(tokens) == 1 and joined.isalpha() and not joined.islower()
        known = self.whole[folded[0]]
        known[folded] = is_capitalised and known.get(folded, True)
        if label is Phi.NAME and len(tokens) > 1:
            self.parts.update(token.casefold() for token in tokens if len(token) >= MIN_CHARS and token.isalpha())

    def __len__(self) -> int:
        return len(self.numbers) + sum(map(len, self.whole.values()))


def kept_segments(text: str, edits: Iterable[Edit]) -> Iterator[str]:
    """Yield the pieces of the original that no edit replaced, without empty ones."""
    cursor = 0
    for edit in edits:
        if edit.start > cursor:
            yield text[cursor : edit.start]
        cursor = edit.end
    if cursor < len(text):
        yield text[cursor:]


def survivors(audits: Iterable[Audit], *, limit: int = 0, blocking: bool = True) -> Verdict:
    """Check that no known identifier of a patient is left in the kept text of any of that patient's notes.

    A value survives where its letters and digits occur as a whole sequence of tokens, case folded, whatever the
    blanks and punctuation between them, inside one kept segment; a number of at least seven digits in whatever
    grouping, also inside a longer one. Replacements are not searched.

    Not sought, because they would raise false alarms: values with fewer than 4 letters and digits; the categories
    in ``SHARED``; dates without a digit ("Monday") and bare years. Counted without failing the check:
    ``lower_case``, a single capitalised word that occurs in lower case ("Will" and "will"); ``name_parts``, a word
    of a longer name on its own ("Lee" of "Jane Lee", but also "Prof" of "Prof Lee").
    Scripts that put no blanks between words are compared run by run, so a name inside a run is not found.

    Args:
        audits: Notes with their known PHI. Notes with the same ``patient_id`` share their values.
        limit: Survivors that pass; above 0 only where the known PHI is known to be noisy.
        blocking: Whether a failure stops the materialization.

    Returns:
        Counts ``notes``, ``values`` sought, ``survivors``, ``notes_with_survivors``, ``lower_case``, ``name_parts``.
    """
    found, values = survival_by_note(audits)
    return survival_verdict(found, values=values, limit=limit, blocking=blocking)


def survival_verdict(found: Collection[Survival], *, values: int, limit: int = 0, blocking: bool = True) -> Verdict:
    """Return the verdict of ``survivors`` on notes that were read before; ``values`` is how many were sought."""
    left = sum(one.survivors for one in found)
    return Verdict(
        "survivors",
        passed=left <= limit,
        blocking=blocking,
        counts={
            "notes": len(found),
            "values": values,
            "survivors": left,
            "notes_with_survivors": sum(one.survivors > 0 for one in found),
            "lower_case": sum(one.lower_case for one in found),
            "name_parts": sum(one.name_parts for one in found),
        },
        description="No known identifier is readable outside the replacements.",
    ).unless(not values or not found, "no known value to look for")


def survival_by_note(audits: Iterable[Audit]) -> tuple[list[Survival], int]:
    """Return what is left in each note, in order, and how many values were sought; see ``survivors``."""
    rows = list(audits)
    values = _values_by_patient(rows)
    return [_found(audit, values[_patient(audit.note)]) for audit in rows], sum(map(len, values.values()))


def _values_by_patient(audits: Iterable[Audit]) -> dict[tuple[bool, str], _Values]:
    known: defaultdict[tuple[bool, str], set[tuple[str, Phi]]] = defaultdict(set)
    for audit in audits:
        text = audit.note.text
        known[_patient(audit.note)].update(
            (text[span.start : span.end], span.label) for span in audit.gold if span.label not in SHARED
        )
    values = {patient: _Values() for patient in known}
    for patient, spellings in known.items():
        for text, label in spellings:
            values[patient].add(text, label)
    return values


def _patient(note: Note) -> tuple[bool, str]:
    return (False, note.note_id) if note.patient_id is None else (True, note.patient_id)


def _is_telling(tokens: Tokens, label: Phi) -> bool:
    joined = "".join(tokens)
    if len(joined) < MIN_CHARS:
        return False
    return label is not Phi.DATE or (any(map(str.isdigit, joined)) and not _YEAR.fullmatch(joined))


def _found(audit: Audit, values: _Values) -> Survival:
    kept = _BORDER.join(kept_segments(audit.note.text, audit.edits))
    tokens = _TOKEN_OR_BORDER.findall(kept)
    folded = list(map(str.casefold, tokens))
    distinct = set(folded)
    begun = values.whole.keys() & distinct
    survivors, lower_case = _numbers(kept, values), 0
    for at in [at for at, token in enumerate(folded) if token in begun] if begun else ():
        for value, is_capitalised in values.whole[folded[at]].items():
            if len(value) == 1 or tuple(folded[at : at + len(value)]) == value:
                is_common = is_capitalised and tokens[at].islower()
                survivors, lower_case = survivors + (not is_common), lower_case + is_common
    parts = 0 if distinct.isdisjoint(values.parts) else sum(map(values.parts.__contains__, folded))
    return Survival(survivors, lower_case, parts)


def _numbers(kept: str, values: _Values) -> int:
    """Occurrences of long numbers, whatever groups their digits stand in."""
    if not values.numbers:
        return 0
    runs = ["".join(filter(str.isdigit, run)) for run in _NUMBER.findall(kept) if len(run) >= MIN_DIGITS]
    return sum(run.count(number) for run in runs for number in values.numbers)
