"""Suites of expectations.

What must hold of the rows of an asset, in files as Great Expectations writes them.

Those beside this module hold for every installation. A hospital adds its own: ``ASSET.json`` in its
folder of suites. Reading a suite imports nothing heavy, so that a fault in one is reported before
anything starts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from typing import Any

from deid_assets.core.assets import family_of
from deid_assets.core.errors import ConfigError, did_you_mean

BUILTIN = ("raw_notes", "span_sets", "spans", "disjoint_spans")
"""The suites that hold for every installation."""

SEVERITIES = ("critical", "warning")
"""The first stops a batch, the second does not."""

_KEYS = {"name", "expectations", "meta", "notes", "id", "suite_parameters"}
_EXPECTATION_KEYS = {
    "type",
    "kwargs",
    "severity",
    "description",
    "meta",
    "notes",
    "id",
    "rendered_content",
}
# They ask a database, and an asset is a frame in memory.
_FOR_DATABASES = {
    "unexpected_rows_expectation",
    "expect_query_results_to_match_comparison",
    "expect_table_row_count_to_equal_other_table",
}


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that must hold of a frame.

    Args:
        type: As Great Expectations names it, such as ``expect_column_values_to_be_unique``.
        kwargs: Its arguments; ``{"$PARAMETER": "sources"}`` stands for what the asset gives under
            that name.
        is_blocking: Whether a failure stops the batch.
        description: What passing means.
        check: The verdict that it is part of.
    """

    type: str
    kwargs: Mapping[str, Any]
    is_blocking: bool
    description: str
    check: str


@dataclass(frozen=True, slots=True)
class Suite:
    """Expectations of one frame.

    Args:
        name: For messages.
        expectations: In the order of the file.
        digest: SHA-256 of the file.
    """

    name: str
    expectations: tuple[Expectation, ...]
    digest: str

    @property
    def checks(self) -> dict[str, list[Expectation]]:
        """The expectations by the verdict that they are part of."""
        found: dict[str, list[Expectation]] = {}
        for each in self.expectations:
            found.setdefault(each.check, []).append(each)
        return found


@cache
def builtin(name: str) -> Suite:
    """Return a suite of ``BUILTIN``."""
    return _parse((files(__package__) / f"{name}.json").read_bytes(), name)


def suites_in(folder: Path) -> dict[str, Suite]:
    """Return the suites of a folder by asset.

    ``raw_notes.json``, ``spans.json``, ``spans_rules.json``.

    A folder that is not there has none.

    Raises:
        ConfigError: With a line for each fault of each file.
    """
    found, faults = {}, []
    for path in sorted(folder.rglob("*.json")):
        asset = path.relative_to(folder).with_suffix("").as_posix()
        try:
            found[asset] = _parse(path.read_bytes(), asset)
        except OSError as error:
            faults.append(f"{path}: cannot be read ({error.strerror})")
        except ConfigError as error:
            faults += [f"{path}: {line}" for line in str(error).splitlines()]
    if faults:
        raise ConfigError("\n".join(faults))
    return found


def suite_of(suites: Mapping[str, Suite], asset: str) -> Suite | None:
    """Return the suite of an asset, such as ``spans_rules``, else that of its family, ``spans``."""
    return suites.get(asset) or suites.get(family_of(asset) or "")


def find_unknown_assets(suites: Mapping[str, Suite], assets: Sequence[str]) -> Iterator[str]:
    """Yield a fault for each suite that names no asset: it would never be evaluated."""
    known = {*assets, *(family for asset in assets if (family := family_of(asset)))}
    for name in sorted(suites.keys() - known):
        yield f"suite {name}.json: there is no asset {name!r}{did_you_mean(name, known)}"


def _parse(content: bytes, name: str) -> Suite:
    """Return the suite of a file.

    Raises:
        ConfigError: With a line for each fault.
    """
    try:
        document = json.loads(content)
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("expectations"), list):
        raise ConfigError("not a suite: write an object with a list `expectations`")
    given = document["expectations"]
    faults = [
        f"there is no {key!r} in a suite{did_you_mean(key, _KEYS)}"
        for key in sorted(document.keys() - _KEYS)
    ]
    faults += [
        f"expectation {at}: {fault}"
        for at, each in enumerate(given, start=1)
        for fault in _faults(each)
    ]
    if not given:
        faults.append("it expects nothing; add an expectation, or remove the file")
    if faults:
        raise ConfigError("\n".join(faults))
    return Suite(
        name, tuple(_expectation(each) for each in given), hashlib.sha256(content).hexdigest()
    )


def _expectation(given: Mapping[str, Any]) -> Expectation:
    kwargs = given.get("kwargs", {})
    is_blocking = given.get("severity", SEVERITIES[0]) == SEVERITIES[0]
    described = given.get("description") or f"{given['type']} {json.dumps(kwargs, sort_keys=True)}"
    check = (given.get("meta") or {}).get("check") or (
        "own_expectations" if is_blocking else "own_warnings"
    )
    return Expectation(given["type"], kwargs, is_blocking, described, check)


def _faults(given: Any) -> Iterator[str]:
    if not isinstance(given, dict) or not isinstance(given.get("type"), str):
        yield "write an object with `type` and `kwargs`"
        return
    name, types = given["type"], expectation_types()
    if name not in types:
        yield f"there is no {name!r}{did_you_mean(name, types)}"
    if not isinstance(given.get("kwargs", {}), dict):
        yield "`kwargs` is an object"
    if given.get("severity", SEVERITIES[0]) not in SEVERITIES:
        yield f"`severity` is one of {', '.join(SEVERITIES)}"
    if not isinstance(given.get("meta") or {}, dict):
        yield "`meta` is an object"
    for key in sorted(given.keys() - _EXPECTATION_KEYS):
        yield f"there is no {key!r}{did_you_mean(key, _EXPECTATION_KEYS)}"


@cache
def expectation_types() -> frozenset[str]:
    """Return the names of Great Expectations' own expectations, read off its files.

    Importing it takes seconds.
    """
    core = distribution("great_expectations").locate_file("great_expectations/expectations/core")
    found = Path(str(core)).glob("expect_*.py")
    return frozenset(path.stem for path in found) - _FOR_DATABASES
