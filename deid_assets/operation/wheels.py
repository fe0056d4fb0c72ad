"""A folder of wheels of this project, and what pip is given of it.

Files, never names: no registry has these distributions, where anybody could register their names.
"""

from __future__ import annotations

import difflib
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from deid_assets.core.errors import InputError

OWN = "deid-assets"
CONSTRAINTS = "constraints.txt"
"""File beside the wheels with the versions of other packages that were tested together."""
_CHOSEN = re.compile(r"(?P<name>[\w-]+)(?:\[(?P<extras>[\w,-]+)\])?")
_ENTRY = re.compile(r"^[\w-]+ ?= ?[\w.:]+ *(?:\[(?P<extra>[\w-]+)\])?$", re.MULTILINE)
_LABORATORY = "laboratory"
_NOT_CHOSEN = frozenset({"dev", "docs", "test"})
_OWN = frozenset({"deid_assets", "deid_resources"})


@dataclass(frozen=True)
class Wheel:
    """A wheel of this project.

    Args:
        path: Of the file.
        name: Of the distribution, such as ``deid-neural``.
        plugins: Plugins that it holds, as ``make add`` takes them.
        extras: What users choose from, with hyphens.
        used_extras: Those that its entry points name.
        works_alone: Whether any of its entry points needs no extra.
        keywords: Of the distribution.
        requirements: What it needs, with markers.
    """

    path: Path
    name: str
    plugins: frozenset[str]
    extras: frozenset[str]
    used_extras: frozenset[str]
    works_alone: bool
    keywords: frozenset[str]
    requirements: tuple[Requirement, ...]

    def needs(self, extras: Iterable[str]) -> Iterator[Requirement]:
        """Yield what it needs here with extras."""
        named = [{"extra": extra} for extra in ("", *extras)]
        for one in self.requirements:
            if one.marker is None or any(one.marker.evaluate(each) for each in named):
                yield one


def find_wheel_folder() -> Path | None:
    """Return the folder that this package's wheel was installed from, where it is still there."""
    try:
        told = distribution(OWN).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    url = urlsplit(json.loads(told)["url"] if told else "")
    path = Path(url2pathname(url.path))
    return path.parent if url.scheme == "file" and path.suffix == ".whl" and path.exists() else None


def read_wheels(folder: Path) -> list[Wheel]:
    """Return the wheels of this project that lie in a folder, by name.

    Raises:
        InputError: There is none, there are two of one distribution, or one is broken.
    """
    found = [_read(path) for path in sorted(folder.glob("deid_*.whl"))]
    if not any(one.name == OWN for one in found):
        raise InputError(
            f"{folder}: no wheel of {OWN} is there; name the folder that `make wheels` wrote"
        )
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{folder}: two wheels of {twice[0]}; remove the older one")
    return found


def files_for(names: Sequence[str], wheels: Sequence[Wheel]) -> list[str]:
    """Return the files that pip is given to install plugins, with extras in brackets.

    With each come the files of all that it needs of this project.

    Args:
        names: Plugins, distributions without ``deid-``, extras of this package, or the group
            ``lab``.
        wheels: Of one folder.

    Raises:
        InputError: There is no such plugin or extra; the message lists those that there are.
    """
    by_name = {one.name: one for one in wheels}
    chosen: dict[str, set[str]] = {}
    left = [place for name in names for place in _places(name, wheels)]
    while left:
        name, extras = left.pop()
        if name in chosen and extras <= chosen[name]:
            continue
        chosen.setdefault(name, set()).update(extras)
        left += _neighbours(by_name, name, chosen[name])
    return [_add_extras(by_name[name].path, extras) for name, extras in sorted(chosen.items())]


def _neighbours(
    by_name: Mapping[str, Wheel], name: str, extras: Iterable[str]
) -> Iterator[tuple[str, set[str]]]:
    for one in by_name[name].needs(extras):
        needed = canonicalize_name(one.name)
        if needed in by_name:
            yield needed, {canonicalize_name(extra) for extra in one.extras}
        elif needed.startswith("deid-"):
            folder = by_name[name].path.parent
            raise InputError(f"{folder}: no wheel of {needed} is there, which {name} needs")


def _places(name: str, wheels: Sequence[Wheel]) -> list[tuple[str, set[str]]]:
    """Return the distributions and extras that a name stands for."""
    if name == "lab":
        return [(one.name, {*one.used_extras}) for one in wheels if _LABORATORY in one.keywords]
    match = _CHOSEN.fullmatch(name)
    wanted, extras = (match["name"], match["extras"]) if match else (name, None)
    given = [canonicalize_name(extra) for extra in extras.split(",")] if extras else []
    for one in wheels:
        if one.name == OWN and wanted in one.extras:
            return [(OWN, {wanted})]
        if wanted in one.plugins or canonicalize_name(f"deid-{wanted}") == one.name:
            return [(one.name, _extras(wanted, given, one))]
    known = _list_known(wheels)
    near = difflib.get_close_matches(wanted, known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"no plugin {wanted!r}{meant} There are {', '.join(known)}")


def _extras(name: str, given: Sequence[str], wheel: Wheel) -> set[str]:
    """Return the extras of a distribution that a plugin with extras in brackets stands for.

    An extra of a plugin is named after it, as ``published-add``, where another could have one of
    that name. A distribution of which nothing works without an extra comes with all of them.
    """
    own: str = canonicalize_name(name)
    chosen: set[str] = {own} & wheel.extras
    for extra in given:
        longer = f"{own}-{extra}"
        if longer not in wheel.extras and extra not in wheel.extras:
            offered = ", ".join(sorted(wheel.extras)) or "none"
            raise InputError(f"{name} has no extra {extra!r}; it has {offered}")
        chosen.add(longer if longer in wheel.extras else extra)
    return chosen or (set() if wheel.works_alone else {*wheel.used_extras})


def _list_known(wheels: Sequence[Wheel]) -> list[str]:
    names = {plugin for one in wheels for plugin in one.plugins}
    names |= {extra for one in wheels if one.name == OWN for extra in one.extras}
    return ["lab", *sorted(names)]


def _add_extras(path: Path, extras: Iterable[str]) -> str:
    named = ",".join(sorted(extras))
    return f"{path.absolute()}[{named}]" if named else f"{path.absolute()}"


def _read(path: Path) -> Wheel:
    try:
        with zipfile.ZipFile(path) as archive:
            listed = archive.namelist()
            head = HeaderParser().parsestr(_text(archive, listed, "METADATA"))
            entries = _text(archive, listed, "entry_points.txt")
        needed = tuple(Requirement(line) for line in head.get_all("Requires-Dist") or ())
    except (OSError, zipfile.BadZipFile, InvalidRequirement, UnicodeDecodeError):
        raise InputError(f"{path}: not a wheel; build it again by `make wheels`") from None
    packages = {one.split("/")[0] for one in listed if re.fullmatch(r"deid_\w+/__init__\.py", one)}
    extras = {canonicalize_name(one) for one in head.get_all("Provides-Extra") or ()}
    named = [one["extra"] or "" for one in _ENTRY.finditer(entries)]
    used = {canonicalize_name(one) for one in named if one}
    return Wheel(
        path=path,
        name=canonicalize_name(str(head["Name"])),
        plugins=frozenset(one.removeprefix("deid_") for one in packages - _OWN) | used,
        extras=frozenset(extras) - _NOT_CHOSEN,
        used_extras=frozenset(used),
        works_alone="" in named,
        keywords=frozenset(str(head["Keywords"] or "").split(",")),
        requirements=needed,
    )


def _text(archive: zipfile.ZipFile, listed: Iterable[str], name: str) -> str:
    found = [one for one in listed if one.endswith(f".dist-info/{name}")]
    return archive.read(found[0]).decode() if found else ""
