"""Identities of HL7 v2: segments ``PID``, ``NK1`` and ``PV1`` of messages of any type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from deid_assets.extending.formats import (
    Fault,
    Identity,
    Known,
    ReadOptions,
    RecordError,
    Source,
    check_values,
)
from deid_clinical_formats.hl7_messages import Message, Segment, messages

_DOCTORS = (7, 8, 9, 17, 52)
"""Attending, referring, consulting, admitting and other doctors of PV1."""

_NATIONAL = frozenset({"SS", "SB", "NI", "DL", "PPN", "TAX", "NPI", "HC", "MC", "JHN"})
_COMPONENTS = 12


def identities(source: Source, options: ReadOptions) -> Iterator[Identity | Fault]:
    """Yield what each message knows, and a fault for what cannot be read of it."""
    for message in messages(source, options):
        if isinstance(message, Fault):
            yield message
        else:
            yield from check_values(_list_known(message), source, line=message.line)


@dataclass(frozen=True, slots=True)
class _Values:
    """The fields of a segment: twelve components per repetition."""

    message: Message
    segment: Segment = field(repr=False)

    def __call__(self, number: int) -> Iterator[tuple[str, ...]]:
        marks, value = self.message.marks, self.segment.field(number)
        for repetition in value.split(marks.repetitions):
            components = repetition.split(marks.components, _COMPONENTS)[:_COMPONENTS]
            if any(components):
                decoded = [self.message.subcomponent(component).strip() for component in components]
                yield (*decoded, *[""] * (_COMPONENTS - len(decoded)))


def _list_known(message: Message) -> Iterator[Known]:
    patient_id: str | None = None
    for segment in message.segments:
        values = _Values(message, segment)
        found: Iterator[tuple[str, str]] = iter(())
        if segment.name == "PID":
            patient_id = message.component(segment.field(3), 1) or None
            if not patient_id:
                raise RecordError(
                    "missing-field", "no patient id in PID-3, so that no note is theirs; add it"
                )
            found = _patient(values)
        elif segment.name == "NK1":
            found = _relative(values)
        elif segment.name == "PV1":
            found = _visit(values)
        yield from ((patient_id, kind, value) for kind, value in found if value)


def _patient(values: _Values) -> Iterator[tuple[str, str]]:
    for name in values(5):
        yield "name", _whole(name)
        yield "family_name", name[0]
        yield from (("given_name", given) for given in name[1:3])
    for name in values(9):
        yield "alias", _whole(name)
    for name in values(6):  # of the mother, before marriage
        yield "relative", _whole(name)
    for moment in values(7):
        yield "birth_date", iso_date(moment[0])
    yield from _addresses(values, 11)
    yield from _phones(values, 13, 14)
    for number in (2, 3, 4, 18):
        yield from ((number_kind(value[4]), value[0]) for value in values(number))
    for number in (19, 20):  # social security and driver's licence
        yield from (("national_id", value[0]) for value in values(number))


def _relative(values: _Values) -> Iterator[tuple[str, str]]:
    for name in values(2):
        yield "relative", _whole(name)
    yield from _addresses(values, 4)
    yield from _phones(values, 5, 6)


def _visit(values: _Values) -> Iterator[tuple[str, str]]:
    for number in _DOCTORS:
        for doctor in values(number):
            yield "staff", _whole(doctor[1:])
    for visit in values(19):
        yield "record_number", visit[0]


def _addresses(values: _Values, number: int) -> Iterator[tuple[str, str]]:
    for address in values(number):
        street, other, city, _, zip_code = address[:5]
        yield from (("address", street), ("address", other), ("city", city), ("zip", zip_code))


def _phones(values: _Values, *numbers: int) -> Iterator[tuple[str, str]]:
    """Telephone numbers and e-mail addresses: as written before v2.7, and in parts since."""
    for number in numbers:
        for contact in values(number):
            yield "phone", contact[0]
            yield "email", contact[3]
            yield "phone", " ".join(part for part in contact[4:7] if part)
            yield "phone", contact[11]


def _whole(name: tuple[str, ...]) -> str:
    """Given names and the family name of family, given, further given names and suffix."""
    family, given, further = name[:3]
    return " ".join(part for part in (given, further, family) if part)


def iso_date(digits: str) -> str:
    """Return a date of HL7, a year or more without separators, as in ISO 8601.

    As it is where it is none.
    """
    if not digits[:8].isdecimal() or len(digits) < 4:
        return digits
    return "-".join(part for part in (digits[:4], digits[4:6], digits[6:8]) if part)


def number_kind(code: str) -> str:
    """Return the kind of a number by its type in table 0203 of HL7.

    Given by a state or payer, or by a hospital.
    """
    # NN and the three letters of a country
    is_national = code in _NATIONAL or code.startswith("NN")
    return "national_id" if is_national else "record_number"
