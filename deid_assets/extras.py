"""Extras that entry points name: whether what they ask for is installed, by their distribution's
metadata.

``flair = "deid_flair:FlairDetector [flair]"`` says that the detector needs what the extra ``flair``
of its distribution requires.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name


def lacking(entry_point: EntryPoint) -> list[str]:
    """Return the extras that an entry point names and that are not installed."""
    if entry_point.dist is None:
        return []
    return [extra for extra in entry_point.extras if not _is_installed(entry_point.dist, extra)]


def _is_installed(owner: Distribution, extra: str) -> bool:
    """Whether all that an extra requires is there, extras of its own distribution and of others
    too.

    Versions are pip's to check. What cannot be read is not there.
    """
    asked = {(_name(owner), str(canonicalize_name(extra)))}
    left = [(owner, extra)]
    while left:
        known, wanted = left.pop()
        try:
            required = _required(known, wanted)
        except InvalidRequirement:
            return False
        for requirement in required:
            found = _found(requirement.name)
            if found is None:
                return False
            for more in requirement.extras:
                place = (_name(found), str(canonicalize_name(more)))
                if place not in asked:
                    asked.add(place)
                    left.append((found, more))
    return True


def _required(owner: Distribution, extra: str) -> list[Requirement]:
    """Return what an extra requires on this machine beyond the distribution itself."""
    requirements = [_parsed(line) for line in owner.requires or ()]
    return [
        one
        for one in requirements
        if one.marker is not None
        and one.marker.evaluate({"extra": str(canonicalize_name(extra))})
        and not one.marker.evaluate({"extra": ""})
    ]


@cache
def _parsed(line: str) -> Requirement:
    return Requirement(line)


def _found(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _name(owner: Distribution) -> str:
    return str(canonicalize_name(owner.metadata["Name"]))
