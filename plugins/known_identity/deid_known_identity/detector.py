"""The detector: reads the values of a patient from the table and looks for them in the patient's
notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

from deid_assets import Note, Phi, Span, SpanSet
from deid_assets.extending import ConfigError, NoteError
from deid_assets.extending.identities import Identity, IdentityTable
from deid_known_identity.person import PersonName
from deid_known_identity.tokens import TextTokens
from deid_known_identity.values import Address, Day, FixedValue, NumberValue, phrase, sequences

REMEMBERED = 256
"""Patients whose values stay ready, as their notes often follow one another."""
EXACT, STREET, CITY = 0.99, 0.95, 0.9
Place = tuple[int, int, Phi, str, float]
"""Start, end, category, native label and score."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Values that are searched in one patient's notes, or in everybody's."""

    people: Sequence[tuple[PersonName, str]] = field(repr=False)
    numbers: Sequence[tuple[NumberValue, Phi]] = field(repr=False)
    days: Sequence[Day] = field(repr=False)
    addresses: Sequence[Address] = field(repr=False)
    phrases: Sequence[tuple[tuple[str, ...], Phi]] = field(repr=False)
    literals: Sequence[tuple[FixedValue, Phi]] = field(repr=False)


class KnownIdentityDetector:
    """Finds the values that a table holds for a patient in the notes of that patient.

    Names are found whole, in parts, reordered, with initials, as English nicknames, with an
    inflectional ending and, from six letters on, with one typo; dates in any format; numbers
    whatever stands between their digits, from eight on with one typo. The table is read patient by
    patient and none of its values is written or shown.

    Args:
        model: The table, which ``deid identities build`` makes.
        strict: Whether a note without a patient, or of one that the table does not have, is an
            error, which withholds the note; otherwise such a note is searched for staff only.

    Raises:
        ConfigError: No table is named.
        InputError: The table is missing or no table.
    """

    name = "known_identity"
    native_labels = frozenset({"PATIENT", "RELATIVE", "STAFF"})
    labels = frozenset(
        {
            Phi.NAME,
            Phi.DATE,
            Phi.STREET,
            Phi.CITY,
            Phi.ZIP,
            Phi.PHONE,
            Phi.EMAIL,
            Phi.MRN,
            Phi.NATIONAL_ID,
        }
    )

    def __init__(self, *, model: str | Path | None = None, strict: bool = False) -> None:
        if model is None:
            raise ConfigError(
                "known_identity needs a table; name it with --detector known_identity=TABLE"
            )
        self._again = partial(type(self), model=str(model), strict=strict)
        self._table = IdentityTable(Path(model))
        self._strict = strict
        self.version = f"0.1.0+{self._table.made}"
        self._everybody = _prepare_known(self._table.of_everybody())
        self._of = lru_cache(REMEMBERED)(self._read)

    def __reduce__(self) -> tuple[Callable[[], KnownIdentityDetector], tuple[()]]:
        """Pickle the settings; an open table does not travel."""
        return self._again, ()

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield one set of spans per note, in order; no two of a note's spans overlap.

        Raises:
            NoteError: The table does not know a note's patient, and it must.
        """
        for note in notes:
            known = self._of(note.patient_id) if note.patient_id else None
            if known is None and self._strict:
                raise NoteError(
                    f"note {note.note_id!r}: its patient is not in the table; add the patient"
                )
            tokens = TextTokens(note.text)
            places = [*_places(tokens, self._everybody)]
            if known is not None:
                places += _places(tokens, known)
            spans = (
                Span(start, end, label, score, self.name, native)
                for start, end, label, native, score in _best(places)
            )
            yield SpanSet(note.note_id, note.digest, tuple(spans))

    def _read(self, patient_id: str) -> _Known | None:
        identities = self._table.of_patients([patient_id])[patient_id]
        return _prepare_known(identities) if identities else None


def _prepare_known(identities: Sequence[Identity]) -> _Known:
    """Prepare the values of a patient, or those for all notes, to be looked for."""
    by_kind: dict[str, list[str]] = {}
    for each in identities:
        by_kind.setdefault(each.kind, []).append(each.value)

    def of(*kinds: str) -> Iterator[str]:
        return (value for kind in kinds for value in by_kind.get(kind, ()))

    people = [(PersonName.of(of("name", "given_name", "family_name", "alias")), "PATIENT")]
    people += [(PersonName.of([name]), "RELATIVE") for name in of("relative")]
    people += [(PersonName.of([name], alone=False), "STAFF") for name in of("staff")]
    numbers = [(NumberValue.phone(value), Phi.PHONE) for value in of("phone")]
    numbers += [(NumberValue.of(value), Phi.MRN) for value in of("record_number")]
    numbers += [(NumberValue.of(value), Phi.NATIONAL_ID) for value in of("national_id")]
    return _Known(
        people,
        [(number, label) for number, label in numbers if number is not None],
        [day for value in of("birth_date") if (day := Day.of(value)) is not None],
        [address for value in of("address") if (address := Address.of(value)) is not None],
        [(keys, Phi.CITY) for value in of("city") if (keys := phrase(value))]
        + [(keys, Phi.ZIP) for value in of("zip") if (keys := phrase(value))],
        [(FixedValue.of(value), Phi.EMAIL) for value in of("email")],
    )


def _places(tokens: TextTokens, known: _Known) -> Iterator[Place]:
    text = tokens.text
    for person, native in known.people:
        for found in person.find(tokens):
            end = tokens[found.last].end
            pointed = len(tokens[found.last].key) == 1 and text[end : end + 1] == "."
            yield tokens[found.first].start, end + pointed, Phi.NAME, native, found.score
    for number, label in known.numbers:
        yield from ((start, end, label, "", EXACT) for start, end in number.find(tokens))
    for day in known.days:
        yield from ((start, end, Phi.DATE, "", EXACT) for start, end in day.find(tokens))
    for literal, label in known.literals:
        yield from ((start, end, label, "", EXACT) for start, end in literal.find(text))
    yield from _locate(tokens, known)


def _locate(tokens: TextTokens, known: _Known) -> Iterator[Place]:
    """Yield addresses, towns and postal codes."""
    for address in known.addresses:
        yield from ((start, end, Phi.STREET, "", STREET) for start, end in address.find(tokens))
    for keys, label in known.phrases:
        for start, end in sequences(tokens, keys, by_key=tokens.places):
            if label is not Phi.CITY or tokens.text[start].isupper():
                yield start, end, label, "", CITY


def _best(places: Iterable[Place]) -> list[Place]:
    """Return places of which no two overlap, the longer before the shorter, then the surer."""
    chosen: list[Place] = []
    for place in sorted(places, key=lambda place: (place[0] - place[1], -place[4], place)):
        if not any(taken[0] < place[1] and place[0] < taken[1] for taken in chosen):
            chosen.append(place)
    return sorted(chosen)
