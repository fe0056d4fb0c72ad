"""Whether a known identifier is still readable in the text that redaction kept."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Edit
from deid_assets.core.span import SpanSet
from deid_assets.quality.verdict import Verdict

MIN_CHARS = 4
"""Letters and digits a value needs: shorter ones ("3", "M", "Li") are ordinary words and numbers elsewhere."""

MIN_DIGITS = 7
"""Digits from which a number is sought in every grouping, as 617-555-0143 in 6175550143."""

SHARED = frozenset({Phi.AGE, Phi.SEX, Phi.COUNTRY, Phi.REGION, Phi.PROFESSION, Phi.RELATIVE})
"""Categories whose values are ordinary words or numbers; their second occurrence identifies nobody."""

_TOKEN = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_NUMBER = re.compile(r"\d(?:[ .\-/()]{0,2}\d)+")

Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """What it takes to judge one redacted note.

    Args:
        note: The original.
        gold: Its known PHI.
        edits: What redaction replaced, sorted.
    """

    note: Note
    gold: SpanSet
    edits: Sequence[Edit]


@dataclass(slots=True)
class _Values:
    """The identifiers of one patient: long numbers as digits alone, all others as tokens by their first."""

    whole: defaultdict[str, set[Tokens]] = field(default_factory=lambda: defaultdict(set), repr=False)
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
        self.whole[tokens[0].casefold()].add(tokens)
        if label is Phi.NAME and len(tokens) > 1:
            self.parts.update(token.casefold() for token in tokens if len(token) >= MIN_CHARS and token.isalpha())

    def shares_none_of(self, folded: Sequence[str]) -> bool:
        """Whether no token begins a value or is a part of a name."""
        return self.whole.keys().isdisjoint(folded) and self.parts.isdisjoint(folded)

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
    rows = list(audits)
    values = _values_by_patient(rows)
    counts: Counter[str] = Counter(survivors=0, notes_with_survivors=0, lower_case=0, name_parts=0)
    for audit in rows:
        found = _found(audit, values[_patient(audit.note)])
        counts.update(found)
        counts["notes_with_survivors"] += found["survivors"] > 0
    return Verdict(
        "survivors",
        passed=counts["survivors"] <= limit,
        blocking=blocking,
        counts={"notes": len(rows), "values": sum(map(len, values.values())), **counts},
        description="No known identifier is readable outside the replacements",
    )


def survivors_by_note(audits: Iterable[Audit]) -> dict[str, int]:
    """Return, per note id, how many known identifiers are left in its kept text; see ``survivors``."""
    rows = list(audits)
    values = _values_by_patient(rows)
    return {audit.note.note_id: _found(audit, values[_patient(audit.note)])["survivors"] for audit in rows}


def _values_by_patient(audits: Iterable[Audit]) -> dict[tuple[bool, str], _Values]:
    values: dict[tuple[bool, str], _Values] = defaultdict(_Values)
    for audit in audits:
        known = values[_patient(audit.note)]
        for span in audit.gold:
            known.add(audit.note.text[span.start : span.end], span.label)
    return values


def _patient(note: Note) -> tuple[bool, str]:
    return (False, note.note_id) if note.patient_id is None else (True, note.patient_id)


def _is_telling(tokens: Tokens, label: Phi) -> bool:
    joined = "".join(tokens)
    if label in SHARED or len(joined) < MIN_CHARS:
        return False
    return label is not Phi.DATE or (any(map(str.isdigit, joined)) and not _YEAR.fullmatch(joined))


def _found(audit: Audit, values: _Values) -> Counter[str]:
    found: Counter[str] = Counter()
    for segment in kept_segments(audit.note.text, audit.edits):
        tokens = _TOKEN.findall(segment)
        folded = list(map(str.casefold, tokens))
        for at, first in enumerate(() if values.shares_none_of(folded) else folded):
            for value in values.whole.get(first, ()):
                if folded[at : at + len(value)] == [token.casefold() for token in value]:
                    found["lower_case" if _is_common(value, tokens[at]) else "survivors"] += 1
            found["name_parts"] += first in values.parts
        found["survivors"] += _numbers(segment, values)
    return found


def _is_common(value: Tokens, occurrence: str) -> bool:
    """Whether a capitalised word occurs in lower case, where it is most often an ordinary word."""
    return len(value) == 1 and value[0].isalpha() and not value[0].islower() and occurrence.islower()


def _numbers(segment: str, values: _Values) -> int:
    """Occurrences of long numbers, whatever groups their digits stand in."""
    if not values.numbers:
        return 0
    runs = ["".join(filter(str.isdigit, match[0])) for match in _NUMBER.finditer(segment)]
    return sum(run.count(number) for run in runs for number in values.numbers)
