"""Versions with errors put in on purpose.

Identifiers left at a chosen recall, other words taken at a chosen precision.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from deid_assets import DisjointSpans, Note, Phi, Span
from deid_assets.extending import InputError
from deid_assets.extending.audits import Injector, Key, Redacted, load_policy, redact
from deid_privacy.utility.examples import TaskDocument

CATEGORIES = {
    "First_Name": Phi.NAME,
    "Last_Name": Phi.NAME,
    "Age": Phi.AGE,
    "Phone_Number": Phi.PHONE,
    "Location": Phi.CITY,
    "Health_Care_Unit": Phi.HOSPITAL,
    "Organization": Phi.ORGANIZATION,
    "Full_Date": Phi.DATE,
    "Partial_Date": Phi.DATE,
}
_FORM = re.compile(r"(?P<policy>[a-z][a-z0-9_]*)@(?P<recall>[\d.]+)(?:/(?P<precision>[\d.]+))?")
_WORD = re.compile(r"[^\W\d_]{4,}")
_KEY = b"errors of made notes, no secret"


@dataclass(frozen=True, slots=True)
class Errors:
    """Redaction of known identifiers with errors; the version ``POLICY@RECALL/PRECISION``.

    Args:
        policy: What replaces.
        recall: Share of the identifiers that is replaced.
        precision: Share of what is replaced that is an identifier.

    Raises:
        InputError: Recall or precision is out of range.
    """

    policy: str
    recall: float
    precision: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.recall <= 1 or not 0 < self.precision <= 1:
            raise InputError(
                f"recall {self.recall} is in [0, 1] and precision {self.precision} in (0, 1];"
                " correct them"
            )

    @classmethod
    def of(cls, version: str) -> Errors | None:
        """Return what a version's name says, or none where it says no errors."""
        found = _FORM.fullmatch(version)
        return (
            cls(found["policy"], float(found["recall"]), float(found["precision"] or 1))
            if found
            else None
        )

    def redact(self, examples: Sequence[TaskDocument]) -> list[Redacted]:
        """Return the redacted documents. What is left at one recall is left at every lower one.

        Raises:
            InputError: An identifier is of no known class, or none is known.
            PolicyError: There is no such policy.
        """
        if not any(one.identifiers for one in examples):
            raise InputError(
                "no document of the task tells its identifiers; errors are put into made tasks"
                " alone"
            )
        policy, key, injector = load_policy(self.policy), Key(_KEY), Injector(1 - self.recall)
        found = []
        for one in examples:
            note = Note(one.note_id, one.text, patient_id=one.note_id, lang="en")
            known = DisjointSpans(
                one.note_id, note.digest, tuple(_span(*mark) for mark in one.identifiers)
            )
            kept = injector.keep(known)
            spans = sorted([*kept, *self._wrong(one, kept)], key=lambda span: span.start)
            found.append(
                redact(note, DisjointSpans(one.note_id, note.digest, tuple(spans)), policy, key=key)
            )
        return found

    def _wrong(self, one: TaskDocument, kept: DisjointSpans) -> list[Span]:
        """Return words that are no identifiers, each with the chance that gives the precision on
        average.
        """
        words = [
            found.span()
            for found in _WORD.finditer(one.text)
            if not any(
                start < found.end() and found.start() < end for start, end, _ in one.identifiers
            )
        ]
        wanted = len(kept) * (1 - self.precision) / self.precision
        share = min(1.0, wanted / max(1, len(words)))
        return [
            Span(start, end, Phi.NAME)
            for start, end in words
            if _lot(f"{one.note_id}/{start}/{end}") < share
        ]

    def count_left(self, examples: Sequence[TaskDocument]) -> tuple[int, int]:
        """Return how many identifiers are left, and how many there are."""
        injector = Injector(1 - self.recall)
        every = [(one.note_id, _span(*mark)) for one in examples for mark in one.identifiers]
        return sum(injector.drops(note_id, span) for note_id, span in every), len(every)


def _span(start: int, end: int, label: str) -> Span:
    if label not in CATEGORIES:
        raise InputError(
            f"label {label!r} is none of the made tasks'; errors are put into made tasks alone"
        )
    return Span(start, end, CATEGORIES[label])


def _lot(name: str) -> float:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) / 2**64
