"""What may stand in an element of a FHIR resource that is kept without being declared.

FHIR has text in some elements beside codes, such as ``unit`` and ``version``. Text that is no unit
and no version may be a name: it is left out. Elements with codes, addresses, numbers or truth
values stop the table where they hold anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from deid_assets.config.tables import TableSettings
from deid_assets.tables.columns import Role
from deid_assets.tables.fhir_elements import Roles, Value, plain_path, quantities_of, role_at
from deid_assets.tables.units import is_unit


@dataclass(frozen=True, slots=True)
class ValueRule:
    """What an element may hold.

    Args:
        allows: Whether a value may leave.
        reason: What is wrong with another one.
        is_left_out: Whether another one is left out; else it stops the table.
    """

    allows: Callable[[Value], bool]
    reason: str
    is_left_out: bool = False


_REMEDY = "; name the element under keep or drop"
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
_ADDRESS = re.compile(r"(https?://|urn:)\S{1,250}")
_VERSION = re.compile(
    r"([vVrR]|STU|DSTU)?[0-9][0-9.+_-]{0,19}[A-Za-z]?"
    r"|http://snomed\.info/sct/[0-9]{6,18}(/version/[0-9]{8})?"
)
_GENDERS = frozenset({"male", "female", "other", "unknown"})
_COMPARATORS = frozenset({"<", "<=", ">=", ">", "ad"})
_STATUSES = frozenset(
    {
        *("planned", "arrived", "triaged", "in-progress", "onleave", "finished", "cancelled"),
        *("on-hold", "discharged", "completed", "discontinued", "entered-in-error", "unknown"),
        *("registered", "preliminary", "final", "amended", "corrected"),
    }
)
"""Of encounters and observations, R4 and R5."""


def _of_pattern(pattern: re.Pattern[str]) -> Callable[[Value], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _one_of(values: frozenset[str]) -> Callable[[Value], bool]:
    return lambda value: value in values


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_one_word(value: Value) -> bool:
    return isinstance(value, str) and len(value.split()) == 1


_CODE = ValueRule(
    _is_one_word, "has blanks, as text has and codes have not, or is no text" + _REMEDY
)
_UNIT = ValueRule(
    lambda value: isinstance(value, str) and is_unit(value),
    "is no unit that is known, and may be any text: left out; name the element under keep if it"
    " may leave as it is, or write units of UCUM",
    is_left_out=True,
)
_TRUTH = ValueRule(lambda value: isinstance(value, bool), "is neither true nor false" + _REMEDY)
_WHOLE = ValueRule(
    lambda value: isinstance(value, int) and not isinstance(value, bool),
    "is no whole number" + _REMEDY,
)
_RULES: Mapping[str, ValueRule] = {
    "resourceType": _CODE,
    "code": _CODE,
    "system": ValueRule(
        _of_pattern(_ADDRESS), "is no address that begins with http or urn" + _REMEDY
    ),
    "version": ValueRule(
        _of_pattern(_VERSION),
        "is no version of digits, and may be any text: left out; name the element under keep if it"
        " may leave as it is",
        is_left_out=True,
    ),
    "unit": _UNIT,
    "value": ValueRule(_is_number, "is no number" + _REMEDY),
    "language": ValueRule(_of_pattern(_LANGUAGE), "is no code of a language" + _REMEDY),
    "gender": ValueRule(_one_of(_GENDERS), "is no gender of FHIR" + _REMEDY),
    "status": ValueRule(_one_of(_STATUSES), "is no status of FHIR" + _REMEDY),
    "comparator": ValueRule(_one_of(_COMPARATORS), "is no comparator of FHIR" + _REMEDY),
    "active": _TRUTH,
    "deceasedBoolean": _TRUTH,
    "valueBoolean": _TRUTH,
    "valueInteger": _WHOLE,
}
"""By the last name of a path."""


def rules_of(
    settings: TableSettings, roles: Roles, paths: Iterable[str]
) -> Mapping[str, ValueRule]:
    """Return by path what may stand there; what the settings keep leaves as it is.

    Args:
        settings: Of the table.
        roles: See ``roles_of``.
        paths: With places in lists.
    """
    quantities = quantities_of(settings.fhir)
    found: dict[str, ValueRule] = {}
    for path in paths:
        role, plain = role_at(path, roles), plain_path(path)
        if role is None or role.role is not Role.KEEP or plain in settings.keep:
            continue
        above, _, name = plain.rpartition(".")
        if rule := _UNIT if name == "code" and above in quantities else _RULES.get(name):
            found[path] = rule
    return found
