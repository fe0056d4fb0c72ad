"""What a policy does to the dates, births and ages of a table, as it does to those of notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from functools import lru_cache
from typing import Any

from deid_assets.core.errors import PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Context, Policy
from deid_assets.core.span import Span
from deid_assets.policies.dates import patient_days

_PROBE = date(2015, 6, 17)
_REMEMBERED = 1 << 17
_OLDEST_SHOWN = 89


class DateMode(Enum):
    """What becomes of a date."""

    KEEP = "kept"
    MOVE = "moved by the offset of its patient"
    WRITE = "written as the policy writes a date"


@dataclass(frozen=True)
class PolicyActions:
    """The actions of a policy under a key, for cells of a table.

    Each is the action that the notes of the same release get, so that what it draws is the same.

    Args:
        policy: Of the release.
        key: Of the release.
        mode: What becomes of dates.
        oldest_birth: First year of birth that is written; older ones tell an age over 89.
    """

    policy: Policy
    key: Key = field(repr=False)
    mode: DateMode
    oldest_birth: int

    @classmethod
    def of(cls, policy: Policy, key: Key) -> PolicyActions:
        """Return the actions of a policy."""
        action = policy.action(Phi.DATE)
        oldest = getattr(action, "oldest_year", None)
        oldest_birth = oldest or datetime.now(tz=UTC).year - _OLDEST_SHOWN
        if policy.action(Phi.AGE) is None:
            oldest_birth = 0  # all ages are kept, so a birth tells nothing more
        return cls(policy, key, _mode_of(policy, key), oldest_birth)

    @property
    def oldest_date(self) -> int:
        """First year that is written of any date; 0 where all are."""
        action = self.policy.action(Phi.DATE)
        is_moved = self.mode is DateMode.MOVE
        return (getattr(action, "oldest_year", None) or 0) if is_moved else 0

    def offset(self, patient: str) -> int:
        """Return by how many days the dates of a patient move."""
        return patient_days(_context(patient, self.policy, self.key))

    def write_value(self, label: Phi, value: str, patient: str) -> str:
        """Return what stands in place of a value of a category.

        Raises:
            PolicyError: The policy leaves a value that it must not leave.
        """
        action = self.policy.action(label)
        if action is None:
            return value
        span = Span(0, len(value), label)
        found = action(value, span, _context(patient, self.policy, self.key))
        if found == value and not getattr(action, "may_keep", False):
            raise PolicyError(
                f"policy {self.policy.name!r} leaves a cell of category {label} unchanged; write it"
                " under keep if that is meant"
            )
        return found

    def remembering(self) -> Any:
        """Return ``write_value`` that asks the policy once for each value of a patient, or once for
        each value where the action asks for no key.
        """

        @lru_cache(maxsize=_REMEMBERED)
        def find(label: Phi, value: str, patient: str) -> str:
            return self.write_value(label, value, patient)

        def ask(label: Phi, value: str, patient: str) -> str:
            is_keyed = getattr(self.policy.action(label), "keyed", "")
            return find(label, value, patient if is_keyed else "")

        return ask


def _mode_of(policy: Policy, key: Key) -> DateMode:
    """Return what becomes of dates, found by asking the policy for one."""
    action = policy.action(Phi.DATE)
    if action is None:
        return DateMode.KEEP
    context, text = _context("probe", policy, key), _PROBE.isoformat()
    found = action(text, Span(0, len(text), Phi.DATE), context)
    expected = _PROBE + timedelta(days=patient_days(_context("probe", policy, key)))
    return DateMode.MOVE if found == expected.isoformat() else DateMode.WRITE


def _context(patient: str, policy: Policy, key: Key) -> Context:
    note = Note(note_id="table", text="-", patient_id=patient or None, lang="en")
    return Context(note, key, policy=policy)
