"""What rules of people hold of a patient: values that stand in nobody else's notes, and cases."""

from __future__ import annotations

from deid_assets.formats.annotated import ParsedNote
from deid_assets.store.denials import DenyList


class RuleHolders:
    """In whose notes the denied values stand, as they are read one by one.

    Args:
        denials: The rules.
        patient: Who is to be erased.
    """

    def __init__(self, denials: DenyList, patient: str) -> None:
        self._denials, self._patient = denials, patient
        self._values, self._allowed = denials.values, denials.allowed_values
        self._theirs: set[str] = set()
        self._others: set[str] = set()

    def see(self, note: ParsedNote) -> None:
        """Take a note into account."""
        holders = self._theirs if note.patient_id == self._patient else self._others
        if self._denials.rules:
            holders.update(place.name for place in self._values.places(note.text))
        holders.update(self._allowed.rules_in(note.text))

    @property
    def only_theirs(self) -> tuple[str, ...]:
        """Rules whose values stand in notes of the patient and in nobody else's, sorted."""
        return tuple(sorted(self._theirs - self._others))

    @property
    def unplaced(self) -> int:
        """Number of rules whose values stand in no note, so that whose they are is not known."""
        every = {one.rule for one in self._denials.every}
        return len(every - self._theirs - self._others)

    @property
    def cases(self) -> int:
        """Number of cases that were taken from notes of the patient."""
        return sum(one.patient_id == self._patient for one in self._denials.cases)
