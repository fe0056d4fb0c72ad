"""What is installed: listed without importing it, where the extras that it names are there too.

``flair = "deid_flair:FlairDetector [flair]"`` says that the detector needs what the extra ``flair``
of its distribution requires.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.metadata import (
    Distribution,
    EntryPoint,
    PackageNotFoundError,
    distribution,
    entry_points,
)

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from deid_assets.core.errors import PluginError, did_you_mean
from deid_assets.own_plugins import missing
from deid_assets.plugins.description import (
    GROUP,
    USES,
    USES_LANGUAGES,
    DigestOf,
    Plugin,
    describe,
    digest_of_code,
)


def available(group: str = GROUP) -> dict[str, Plugin]:
    """Return every installed detector, trainer, format or audit, by name, without importing one.

    A plugin with a bad name, a missing module or a name that two distributions claim is listed with
    its ``fault``, so that one broken plugin hides none of the others.
    """
    return available_of(group)[0]


def available_of(*groups: str) -> list[dict[str, Plugin]]:
    """Return what ``available`` does of each group; the environment is searched once."""
    every = entry_points()
    digest = cache(digest_of_code)  # a package may bring several
    return [_describe_all(_with_extras(every.select(group=group)), digest) for group in groups]


def named(name: str, group: str, kind: str) -> Plugin:
    """Return an installed plugin by its name.

    Raises:
        PluginError: There is none; the message says what installs it, or names the installed ones.
            Or it has a fault.
    """
    entries = entry_points().select(group=group, name=name)
    plugin = _describe_all(_with_extras(entries), cache(digest_of_code)).get(name)
    if plugin is None:
        if remedy := missing(group, name) or _missing_extra(entries):
            raise PluginError(f"{kind} {name!r}: {remedy}")
        known = available(group)
        raise PluginError(
            f"unknown {kind} {name!r}{did_you_mean(name, known)}; installed:"
            f" {', '.join(known) or 'none'}"
        )
    if plugin.fault:
        raise PluginError(f"{kind} {name!r}: {plugin.fault}")
    return plugin


def _with_extras(entries: Iterable[EntryPoint]) -> list[EntryPoint]:
    """Return the entry points whose extras are installed; the others are as good as absent."""
    return [entry for entry in entries if not lacking(entry)]


def _describe_all(entries: Iterable[EntryPoint], digest: DigestOf) -> dict[str, Plugin]:
    found: dict[str, Plugin] = {}
    for entry_point in sorted(entries, key=lambda entry: (entry.name, entry.value)):
        plugin = describe(entry_point, digest)
        plugin = replace(plugin, used_digest=_used_digest(plugin, digest))
        if plugin.name in found:
            rival = found[plugin.name]
            fault = f"named by both {rival.distribution} and {plugin.distribution}; uninstall one"
            plugin = replace(plugin, fault=fault)
        found[plugin.name] = plugin
    return found


def _used_digest(plugin: Plugin, digest: DigestOf) -> str:
    """Return a digest over the files of the detectors that a plugin runs.

    Of those that are not installed, nothing.
    """
    names = [
        keyword.removeprefix(USES)
        for keyword in plugin.keywords
        if keyword.startswith(USES) and keyword != USES_LANGUAGES
    ]
    used = [
        entry
        for name in names
        for entry in _with_extras(entry_points().select(group=GROUP, name=name))
    ]
    digests = sorted(describe(entry, digest).digest for entry in used)
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""


def _missing_extra(entries: Iterable[EntryPoint]) -> str:
    """Return the extra that a plugin of others needs and that is not installed, with the remedy."""
    for entry in entries:
        for extra in lacking(entry):
            wanted = f"{entry.dist.name}[{extra}]" if entry.dist else extra
            return f"its extra {extra!r} is not installed; install {wanted!r} with pip"
    return ""


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
