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
from importlib.util import find_spec

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from deid_assets.core.errors import PluginError, did_you_mean
from deid_assets.own_plugins import describe_missing
from deid_assets.plugins.description import (
    GROUP,
    Plugin,
    describe,
    digest_of_code,
    metadata_of,
    requirements_of,
)


def available(group: str = GROUP) -> dict[str, Plugin]:
    """Return every installed detector, trainer, format or audit, by name, without importing one.

    A plugin with a bad name, a missing module or a name that two distributions claim is listed with
    its ``fault``, so that one broken plugin hides none of the others.
    """
    return available_of(group)[0]


def available_of(*groups: str) -> list[dict[str, Plugin]]:
    """Return what ``available`` does of each group; the environment is searched once."""
    search = _Search()
    return [search.plugins(search.entries.select(group=group)) for group in groups]


def find_named(name: str, group: str, kind: str) -> Plugin:
    """Return an installed plugin by its name.

    Raises:
        PluginError: There is none; the message says what installs it, or names the installed ones.
            Or it has a fault.
    """
    search = _Search()
    entries = search.entries.select(group=group, name=name)
    plugin = search.plugins(entries).get(name)
    if plugin is None:
        if remedy := describe_missing(group, name) or search.find_missing_extra(entries):
            raise PluginError(f"{kind} {name!r}: {remedy}")
        known = available(group)
        raise PluginError(
            f"unknown {kind} {name!r}{did_you_mean(name, known)}; installed:"
            f" {', '.join(known) or 'none'}"
        )
    if plugin.fault:
        raise PluginError(f"{kind} {name!r}: {plugin.fault}")
    return plugin


class _Search:
    """One look at what is installed: nothing is looked up twice, since a package brings several
    plugins and an extra may require dozens of distributions.
    """

    def __init__(self) -> None:
        self.entries = entry_points()
        self._digest = cache(digest_of_code)
        self._find = cache(find_spec)
        self._found = cache(_find)
        self._is_installed = cache(self._has_all)
        self._described: dict[int, Plugin] = {}

    def plugins(self, entries: Iterable[EntryPoint]) -> dict[str, Plugin]:
        """Return the plugins of entry points whose extras are installed, by name.

        The others are as good as absent.
        """
        found: dict[str, Plugin] = {}
        for entry in sorted(self._usable(entries), key=lambda entry: (entry.name, entry.value)):
            plugin = self._describe(entry)
            plugin = replace(plugin, used_digest=self._digest_used(plugin))
            if plugin.name in found:
                rival = found[plugin.name]
                owners = f"{rival.distribution} and {plugin.distribution}"
                plugin = replace(plugin, fault=f"named by both {owners}; uninstall one")
            found[plugin.name] = plugin
        return found

    def find_missing_extra(self, entries: Iterable[EntryPoint]) -> str:
        """Return the extra that a plugin of others needs and that is not installed, with the
        remedy.
        """
        for entry in entries:
            for extra in self._lacking(entry):
                wanted = f"{entry.dist.name}[{extra}]" if entry.dist else extra
                return f"its extra {extra!r} is not installed; install {wanted!r} with pip"
        return ""

    def _describe(self, entry: EntryPoint) -> Plugin:
        # By identity: entry points of two distributions may be equal.
        if id(entry) not in self._described:
            self._described[id(entry)] = describe(entry, self._digest, self._find)
        return self._described[id(entry)]

    def _digest_used(self, plugin: Plugin) -> str:
        """Return a digest over the files of the detectors that a plugin runs.

        Of those that are not installed, nothing.
        """
        used = [
            entry
            for name in plugin.uses
            for entry in self._usable(self.entries.select(group=GROUP, name=name))
        ]
        digests = sorted(self._describe(entry).digest for entry in used)
        return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""

    def _usable(self, entries: Iterable[EntryPoint]) -> list[EntryPoint]:
        return [entry for entry in entries if not self._lacking(entry)]

    def _lacking(self, entry: EntryPoint) -> list[str]:
        """Return the extras that an entry point names and that are not installed."""
        owner = entry.dist
        if owner is None:
            return []
        return [extra for extra in entry.extras if not self._is_installed(owner, extra)]

    def _has_all(self, owner: Distribution, extra: str) -> bool:
        """Whether all that an extra requires is there, extras of its own distribution and of
        others too.

        Versions are pip's to check. What cannot be read is not there.
        """
        asked = {(_name(owner), str(canonicalize_name(extra)))}
        left = [(owner, extra)]
        while left:
            known, wanted = left.pop()
            try:
                required = _list_required(requirements_of(known), str(canonicalize_name(wanted)))
            except InvalidRequirement:
                return False
            for requirement in required:
                found = self._found(requirement.name)
                if found is None:
                    return False
                for more in requirement.extras:
                    place = (_name(found), str(canonicalize_name(more)))
                    if place not in asked:
                        asked.add(place)
                        left.append((found, more))
        return True


@cache
def versions_behind(distributions: tuple[str, ...]) -> str:
    """Return a digest of the versions of all that some distributions require, themselves included.

    What is required under a condition or by an extra counts where it is installed. As this process
    began: what is installed later is not imported by those who import it already.
    """
    seen: dict[str, str] = {}
    left = [str(canonicalize_name(name)) for name in distributions]
    while left:
        name = left.pop()
        if name in seen:
            continue
        found = _find(name)
        seen[name] = found.version if found else ""
        for line in (found.requires if found else None) or ():
            try:
                left.append(str(canonicalize_name(_parse(line).name)))
            except InvalidRequirement:
                seen[line] = "unreadable"
    listed = "".join(f"{name}=={version}\n" for name, version in sorted(seen.items()) if version)
    return hashlib.sha256(listed.encode()).hexdigest()


@cache
def _list_required(lines: tuple[str, ...], extra: str) -> tuple[Requirement, ...]:
    """Return what an extra requires on this machine beyond the distribution itself.

    Args:
        lines: All requirements of the distribution.
        extra: Its canonical name.

    Raises:
        InvalidRequirement: A line is none.
    """
    return tuple(
        one
        for one in map(_parse, lines)
        if one.marker is not None
        and one.marker.evaluate({"extra": extra})
        and not one.marker.evaluate({"extra": ""})
    )


@cache
def _parse(line: str) -> Requirement:
    return Requirement(line)


def _find(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _name(owner: Distribution) -> str:
    return str(canonicalize_name(metadata_of(owner).get("Name", "")))
