"""Elements of FHIR resources as columns: a path for each value, and what becomes of it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from deid_assets.config.tables import ROLES, TableSettings
from deid_assets.core.errors import InputError, did_you_mean
from deid_assets.tables.columns import PATIENT_KIND, Role, TableColumn, TablePlan

Value = str | bool | int | float
"""Of an element that has no others."""
Roles = Mapping[str, TableColumn]
"""By path without places in lists."""

_NAME = re.compile(r"_?[A-Za-z][A-Za-z0-9]{0,63}")
_PLACE = re.compile(r"\[[0-9]+\]")
_REFERENCE = re.compile(
    r"(?:https?://[^\s?#]+/)?(?P<kind>[A-Z][A-Za-z]{1,30})/(?P<id>[A-Za-z0-9.-]{1,64})"
)
_MOST_PLACES = 50
_DEEPEST = 12
_ROLE_OF = dict(
    zip(
        ROLES,
        (Role.DATE, Role.BIRTH, Role.BIRTH_YEAR, Role.AGE, Role.NOTE, Role.DROP, Role.KEEP),
        strict=True,
    )
)
_CODING = {"system": Role.KEEP, "version": Role.KEEP, "code": Role.KEEP}
_CODING |= {"display": Role.DROP, "userSelected": Role.DROP}
_QUANTITY = dict.fromkeys(("value", "comparator", "unit", "system", "code"), Role.KEEP)
_BESIDE_REFERENCE = ("display", "identifier", "type")
_OWNERS = ("subject", "patient")
"""Elements that name the patient of a resource."""


class ElementError(ValueError):
    """What is wrong with a resource; the message shows no value of it."""


@cache
def _resources() -> Mapping[str, Mapping[str, Sequence[str]]]:
    text = files(__package__).joinpath("fhir.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def resource_types() -> list[str]:
    """Return the types of resources that leave as tables."""
    return [name for name in _resources() if name != "every"]


def quantities_of(kind: str) -> Sequence[str]:
    """Return the paths of the elements of a type of resources that are quantities."""
    return _resources()[kind].get("quantities", ())


def roles_of(settings: TableSettings) -> Roles:
    """Return what becomes of the elements of a resource; the settings come before what is known.

    Raises:
        InputError: Resources of this type are not known.
    """
    kind = settings.fhir
    if kind not in resource_types():
        raise InputError(
            f"fhir: there is no table of {kind!r}{did_you_mean(kind, resource_types())}; convert it"
            " to CSV or Parquet, and declare its columns"
        )
    found: dict[str, TableColumn] = {}
    for rules in (_resources()["every"], _resources()[kind]):
        found |= _list_known(rules)
    if kind == "Patient":
        found["id"] = TableColumn("id", Role.PATIENT, PATIENT_KIND)
    else:
        found["id"] = TableColumn("id", Role.ID, kind.lower())
        for owner in _OWNERS:
            found |= _reference(owner)
            found[f"{owner}.reference/Patient"] = TableColumn(owner, Role.PATIENT, PATIENT_KIND)
    own = {name: TableColumn(name, Role.KEEP) for name in settings.quasi if name not in found}
    for setting, role in _ROLE_OF.items():
        own |= {name: TableColumn(name, role) for name in getattr(settings, setting)}
    own |= {name: TableColumn(name, Role.ID, whose) for name, whose in settings.ids.items()}
    opened = {above for name, one in own.items() if one.role.leaves for above in _above(name)}
    # An element that is declared leaves, though one that holds it is dropped: what stands beside it
    # is then declared too, or stops the table.
    return {path: one for path, one in found.items() if path not in opened} | own


def _above(plain: str) -> list[str]:
    """Return the paths of the elements that hold one."""
    names = plain.split(".")
    return [".".join(names[:at]) for at in range(1, len(names))]


def _list_known(rules: Mapping[str, Sequence[str]]) -> dict[str, TableColumn]:
    found: dict[str, TableColumn] = {}
    for setting, role in _ROLE_OF.items():
        found |= {path: TableColumn(path, role) for path in rules.get(setting, ())}
    for path in rules.get("codings", ()):
        found |= {
            f"{path}.coding.{name}": TableColumn(path, role) for name, role in _CODING.items()
        }
        found[f"{path}.text"] = TableColumn(path, Role.DROP)
    for path in rules.get("quantities", ()):
        found |= {f"{path}.{name}": TableColumn(path, role) for name, role in _QUANTITY.items()}
    for path in rules.get("references", ()):
        found |= _reference(path)
    return found


def _reference(path: str) -> dict[str, TableColumn]:
    found = {f"{path}.{name}": TableColumn(path, Role.DROP) for name in _BESIDE_REFERENCE}
    return {**found, f"{path}.reference": TableColumn(path, Role.ID)}


@lru_cache(maxsize=1 << 14)
def plain_path(path: str) -> str:
    """Return a path of an element without places in lists."""
    return _PLACE.sub("", path)


def role_at(path: str, roles: Roles) -> TableColumn | None:
    """Return what becomes of an element, by its path with places in lists; None where unknown."""
    plain = plain_path(path)
    if found := roles.get(plain):
        return TableColumn(path, found.role, found.kind)
    above, _, target = plain.partition(".reference/")
    if target and (found := roles.get(f"{above}.reference")):
        return TableColumn(path, found.role, found.kind or target.lower())
    return TableColumn(path, Role.DROP) if _is_dropped(plain, roles) else None


def _is_dropped(plain: str, roles: Roles) -> bool:
    """Whether an element, or one that holds it, is dropped; extensions are, wherever they stand."""
    names = plain.split(".")
    if any(name == "extension" or name.startswith("_") for name in names):
        return True
    holding = (roles.get(path) for path in [*_above(plain), plain])
    return any(one is not None and one.role is Role.DROP for one in holding)


def fhir_plan(settings: TableSettings, names: Sequence[str]) -> TablePlan:
    """Return the role of every path of a table.

    Raises:
        InputError: An element has no role, or one that is counted is in no resource.
    """
    roles = roles_of(settings)
    found = {name: role_at(name, roles) for name in names}
    lacking = sorted({plain_path(name) for name, column in found.items() if column is None})
    if lacking:
        more = f", and {len(lacking) - 5} more" if len(lacking) > 5 else ""
        raise InputError(
            f"element {', '.join(lacking[:5])}{more} is not declared; name it under keep, drop or"
            " another role in the settings of the table"
        )
    columns = tuple(column for column in found.values() if column is not None)
    owners = [one for one in columns if one.role is Role.PATIENT]
    if len(owners) != 1:
        raise InputError("no single element has the patient; export resources of patients alone")
    absent = [name for name in settings.quasi if not _places_of(name, names)]
    if absent:
        raise InputError(f"quasi: no resource has element {absent[0]!r}; correct it")
    quasi = tuple(name for one in settings.quasi for name in _places_of(one, names))
    unique = tuple(name for one in settings.unique or ("id",) for name in _places_of(one, names))
    return TablePlan(columns, unique, quasi)


def _places_of(plain: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if plain_path(name) == plain]


def values_of(resource: object, roles: Roles) -> Iterator[tuple[str, Value]]:
    """Yield each value of a resource under its path, but for what is dropped.

    A reference has the type that it points to in its path, and the id as its value.

    Raises:
        ElementError: It is no resource that can be read.
    """
    if not isinstance(resource, dict):
        raise ElementError("is no FHIR resource; write one JSON object on each line")
    yield from _below("", resource, roles, 0)


def _below(path: str, value: Any, roles: Roles, depth: int) -> Iterator[tuple[str, Value]]:
    if depth > _DEEPEST:
        raise ElementError("is nested deeper than resources are; drop the element")
    if isinstance(value, dict):
        for name, inner in value.items():
            if not _NAME.fullmatch(name):
                raise ElementError("has an element whose name no FHIR resource has; remove it")
            yield from _at(f"{path}.{name}" if path else name, inner, roles, depth)
    elif isinstance(value, list):
        if len(value) > _MOST_PLACES:
            raise ElementError(f"has a list of over {_MOST_PLACES} values; drop the element")
        for at, inner in enumerate(value):
            yield from _below(f"{path}[{at}]", inner, roles, depth + 1)
    elif value is not None:
        yield path, value


def _at(path: str, value: Any, roles: Roles, depth: int) -> Iterator[tuple[str, Value]]:
    plain = plain_path(path)
    found = roles.get(plain)
    if _is_dropped(plain, roles) if found is None else found.role is Role.DROP:
        return
    if plain.endswith(".reference"):
        target = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if target is None:
            raise ElementError(
                "has a reference that is not Type/id, such as Patient/17; write it so, or drop it"
            )
        yield f"{path}/{target['kind']}", target["id"]
        return
    yield from _below(path, value, roles, depth + 1)


def resource_of(row: Mapping[str, Value | None]) -> dict[str, Any]:
    """Return the resource of a row of paths and values; what is empty is left out of it."""
    root: dict[str, Any] = {}
    for path, value in row.items():
        if value is not None:
            place, _, kind = path.partition("/")
            _put(root, place.split("."), f"{kind}/{value}" if kind else value)
    filled: dict[str, Any] = _fill(root)
    return filled


def _put(root: dict[str, Any], names: Sequence[str], value: Value) -> None:
    """Put a value where its path leads; lists are kept by place until all is there."""
    here: Any = root
    steps = [step for name in names for step in _steps(name)]
    for step in steps[:-1]:
        here = here.setdefault(step, {})
    here[steps[-1]] = value


def _steps(name: str) -> list[str | int]:
    plain, *places = name.replace("]", "").split("[")
    return [plain, *map(int, places)]


def _fill(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(isinstance(key, int) for key in value):
        return [_fill(value[key]) for key in sorted(value)]
    return {key: _fill(inner) for key, inner in value.items()}
