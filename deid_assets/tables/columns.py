"""Roles of the columns of a table, by the settings or by the names of the OMOP CDM."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from deid_assets.config.tables import ROLES, TableSettings
from deid_assets.core.errors import InputError, did_you_mean

PATIENT_KIND, NOTE_KIND = "patient", "note"


class Role(StrEnum):
    """What a column is, and so what becomes of it."""

    PATIENT = "patient"
    ID = "id"
    DATE = "date"
    BIRTH = "birth"
    BIRTH_YEAR = "birth_year"
    AGE = "age"
    NOTE = "note_text"
    DROP = "drop"
    KEEP = "keep"

    @property
    def leaves(self) -> bool:
        """Whether a column of the role is in a release."""
        return self not in (Role.NOTE, Role.DROP)

    @property
    def is_date(self) -> bool:
        """Whether the column has whole dates."""
        return self in (Role.DATE, Role.BIRTH)


_ROLE_OF = dict(
    zip(
        ROLES,
        (Role.DATE, Role.BIRTH, Role.BIRTH_YEAR, Role.AGE, Role.NOTE, Role.DROP, Role.KEEP),
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table.

    Args:
        name: As in the table.
        role: What it is.
        kind: Whose ids it has, of a column with ids.
    """

    name: str
    role: Role
    kind: str = ""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """Columns of a table, all of them, in order.

    Args:
        columns: Each with its role.
        unique: Names of those whose ids occur once.
        quasi: Names of those whose combinations are counted.
    """

    columns: tuple[TableColumn, ...]
    unique: tuple[str, ...] = ()
    quasi: tuple[str, ...] = ()

    @property
    def patient(self) -> str:
        """Name of the column with the patient."""
        return next(one.name for one in self.columns if one.role is Role.PATIENT)

    @property
    def leaving(self) -> tuple[TableColumn, ...]:
        """Those that are in a release."""
        return tuple(one for one in self.columns if one.role.leaves)

    def of(self, *roles: Role) -> list[TableColumn]:
        """Return the columns of some roles."""
        return [one for one in self.columns if one.role in roles]


def plan_of(settings: TableSettings, names: Sequence[str]) -> TablePlan:
    """Return the role of every column of a table.

    Args:
        settings: Of the table.
        names: Of its columns, in order.

    Raises:
        InputError: A column has no role, a declared one is not there, or two have one name.
    """
    doubled = sorted(name for name, count in Counter(names).items() if count > 1)
    if doubled:
        raise InputError(f"column {doubled[0]!r} is there twice; rename one")
    declared = _read_declared(settings)
    _check_are_there(settings, declared, names)
    found = {**_of_omop(settings.omop, names), **declared}
    patients = [one.name for one in found.values() if one.role is Role.PATIENT]
    if len(patients) != 1:  # before a column is named: a file without header has values there
        raise InputError("no single column has the patient; name it under patient")
    lacking = [name for name in names if name not in found]
    if lacking:
        shown = ", ".join(map(_show, lacking))
        raise InputError(
            f"column {shown} is not declared; name it under keep, drop or another role in the"
            " settings of the table"
        )
    columns = tuple(found[name] for name in names)
    unique = settings.unique or ((f"{settings.omop}_id",) if settings.omop else ())
    unique = tuple(name for name in unique if name in names or name in settings.unique)
    return TablePlan(columns, unique, settings.quasi)


def _show(name: str) -> str:
    """Return the name of a column, on one line whatever it holds."""
    return name if name.isprintable() and name.strip() else ascii(name)


def _read_declared(settings: TableSettings) -> dict[str, TableColumn]:
    found = {name: TableColumn(name, Role.KEEP) for name in settings.quasi}
    for setting, role in _ROLE_OF.items():
        found |= {name: TableColumn(name, role) for name in getattr(settings, setting)}
    found |= {name: TableColumn(name, Role.ID, kind) for name, kind in settings.ids.items()}
    if settings.patient:
        found[settings.patient] = TableColumn(settings.patient, Role.PATIENT, PATIENT_KIND)
    return found


def _check_are_there(
    settings: TableSettings, declared: Mapping[str, TableColumn], names: Sequence[str]
) -> None:
    for name in (*declared, *settings.unique):
        if name not in names:
            raise InputError(
                f"column {name!r} is declared and not there{did_you_mean(name, names)}; correct"
                " the settings of the table"
            )


@cache
def _omop_tables() -> Mapping[str, Mapping[str, Any]]:
    text = files(__package__).joinpath("omop.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _of_omop(table: str, names: Sequence[str]) -> dict[str, TableColumn]:
    """Return the columns of a table of the OMOP CDM that are told by their names.

    Raises:
        InputError: It has no such table.
    """
    if not table:
        return {}
    known = _omop_tables()
    if table not in known:
        raise InputError(
            f"omop: there is no table {table!r} with patients{did_you_mean(table, known)}; declare"
            " its columns instead"
        )
    rules = known[table]
    found = {name: column for name in names if (column := _omop_column(table, name))}
    for setting, role in _ROLE_OF.items():
        found |= {name: TableColumn(name, role) for name in rules.get(setting, ())}
    found |= {name: TableColumn(name, Role.ID, kind) for name, kind in rules.get("ids", {}).items()}
    return found


_OMOP_IDS = {
    "visit_occurrence_id": "visit_occurrence",
    "preceding_visit_occurrence_id": "visit_occurrence",
    "visit_detail_id": "visit_detail",
    "preceding_visit_detail_id": "visit_detail",
    "provider_id": "provider",
    "care_site_id": "care_site",
    "note_id": NOTE_KIND,
}


def _omop_column(table: str, name: str) -> TableColumn | None:
    if name == "person_id":
        return TableColumn(name, Role.PATIENT, PATIENT_KIND)
    if name.endswith("_concept_id"):
        return TableColumn(name, Role.KEEP)
    if name.endswith("_source_value"):
        return TableColumn(name, Role.DROP)
    if name.endswith(("_date", "_datetime")):
        return TableColumn(name, Role.DATE)
    kind = _OMOP_IDS.get(name) or (table if name == f"{table}_id" else "")
    return TableColumn(name, Role.ID, kind) if kind else None
