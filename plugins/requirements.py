"""What pip installs for plugins.

Folders of this checkout with extras, never a name that no registry has.

``make add`` calls it. A plugin is a package ``deid_NAME`` in one of the distributions below, whose
extra ``NAME`` brings what it needs. Distributions need each other by name, such as deid-neural.
Until they are published, anybody could register these names, so that pip is given the folder of
each.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = ROOT / "plugins"
LABORATORY = PLUGINS / "lab"
OWN = "deid-assets"
TEMPLATE = "template"
UNTESTED = frozenset({"deduce"})
"""Extras that the environment of the tests does without: Deduce takes minutes to start."""
_CHOSEN = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<extras>[a-z0-9_,]+)\])?")
_NEEDED = re.compile(r"(?P<name>deid-[a-z-]+)(?:\[(?P<extras>[a-z0-9_,]+)\])?")
_ENTRY = re.compile(r"(?P<package>\w+)[\w.:]*\s*(?:\[(?P<extras>\w+)\])?")
_TORCH = re.compile(r"(torch|flair|gliner|stanza|edsnlp)\b")


@dataclass(frozen=True)
class Distribution:
    """A folder with a ``pyproject.toml``.

    Args:
        folder: It.
    """

    folder: Path

    @cached_property
    def project(self) -> dict[str, Any]:
        """Its metadata."""
        text = (self.folder / "pyproject.toml").read_text(encoding="utf-8")
        project: dict[str, Any] = tomllib.loads(text)["project"]
        return project

    @cached_property
    def extras(self) -> frozenset[str]:
        """Those that users choose from."""
        return frozenset(self.project.get("optional-dependencies", {})) - {"dev", "docs", "test"}

    @cached_property
    def used_extras(self) -> frozenset[str]:
        """Those that its entry points name: what all that it brings needs."""
        return frozenset(extra for _, extra in self.entries if extra)

    @cached_property
    def entries(self) -> list[tuple[str, str]]:
        """Name and extra of each entry point; an empty one where it needs none."""
        found = []
        for group in self.project.get("entry-points", {}).values():
            for name, value in group.items():
                match = _ENTRY.fullmatch(value)
                found.append((name, (match["extras"] or "") if match else ""))
        return found

    @cached_property
    def plugins(self) -> dict[str, frozenset[str]]:
        """Names of its plugins, with the extras that each needs."""
        packages = {path.name.removeprefix("deid_") for path in self.folder.glob("deid_*")}
        found = {name: frozenset({name} & self.extras) for name in packages}
        found |= {name: frozenset({name}) for name, extra in self.entries if extra == name}
        return found

    def requirements(self, extras: Iterable[str]) -> list[str]:
        """Return what it needs with extras."""
        optional = self.project.get("optional-dependencies", {})
        more = (one for extra in extras for one in optional[extra])
        return [*self.project.get("dependencies", []), *more]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print pip's requirements on standard output, and what is to come on standard error.

    Returns:
        0, or 2 where there is no such plugin.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--own", type=Path, required=True, help="folder of your own plugins")
    parser.add_argument("plugins", nargs="*")
    options = parser.parse_args(arguments)
    try:
        chosen = closure(options.plugins, own=options.own)
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    print(f"Installing {_describe(chosen) or OWN}.{_time(chosen)}", file=sys.stderr)
    for requirement in requirements(chosen):
        print("-e", shlex.quote(requirement))
    return 0


def requirements(chosen: Mapping[Path, set[str]]) -> list[str]:
    """Return the folders as pip takes them: each alone first, then those with extras.

    The pip that comes with Python 3.11 asks a registry for a neighbour's extras, unless its folder
    also stands alone. And it finds an extra only by the spelling of built metadata, with hyphens.
    """
    alone = [str(folder) for folder in chosen]
    spelled = {
        folder: {extra.replace("_", "-") for extra in extras} for folder, extras in chosen.items()
    }
    return [
        *alone,
        *(_add_extras(str(folder), extras) for folder, extras in spelled.items() if extras),
    ]


def closure(names: Sequence[str], *, own: Path) -> dict[Path, set[str]]:
    """Return the folders of plugins and of all that they need of this project, with extras.

    Args:
        names: Of plugins, of distributions, of folders in that of one's own plugins, or paths; with
            extras in brackets; an extra of the platform alone; or a group, see ``list_known``.
        own: Folder of one's own plugins.

    Raises:
        LookupError: There is no such plugin or extra, or none is named; the message lists those
            that there are.
    """
    if not names:
        raise LookupError(f"Name a plugin: make add PLUGIN=spacy. {_all(own)}")
    chosen: dict[Path, set[str]] = {}
    left = [place for name in names for place in _places(name, own)]
    while left:
        folder, extras = left.pop()
        if folder in chosen and extras <= chosen[folder]:
            continue
        chosen.setdefault(folder, set()).update(extras)
        left += _neighbours(Distribution(folder), extras)
    return dict(sorted(chosen.items()))


def list_shipped() -> list[Distribution]:
    """Return the distributions of this checkout: the product's, then the laboratory's."""
    files = [
        *sorted(PLUGINS.glob("*/pyproject.toml")),
        *sorted(LABORATORY.glob("*/pyproject.toml")),
    ]
    return [Distribution(file.parent) for file in files if file.parent.name != TEMPLATE]


def list_known(own: Path) -> list[str]:
    """Return what can be named: the groups, plugins, distributions and extras of the platform.

    ``networks`` are the distributions that bring PyTorch, ``lab`` those of the laboratory; each
    group comes with all that its entry points need.
    """
    names = {path.parent.name for path in own.glob("*/pyproject.toml")}
    for distribution in list_shipped():
        names |= {distribution.folder.name, *distribution.plugins}
    return ["networks", "lab", "all", *sorted(names | Distribution(ROOT).extras)]


def _all(own: Path) -> str:
    return f"There are {', '.join(list_known(own))}, or the path of one of yours."


def _places(name: str, own: Path) -> list[tuple[Path, set[str]]]:
    """Return the folders and extras that a name stands for."""
    whole = [(one.folder, set(one.used_extras)) for one in list_shipped()]
    if name == "all":
        return whole
    if name == "tested":
        return [(folder, extras - UNTESTED) for folder, extras in whole]
    if name == "lab":
        return [(folder, extras) for folder, extras in whole if folder.parent == LABORATORY]
    if name == "networks":
        return [place for place in whole if brings_torch(*place)]
    return [_place(name, own)]


def brings_torch(folder: Path, extras: Iterable[str]) -> bool:
    """Whether a distribution with extras needs PyTorch, itself or by another of this project."""
    distribution = Distribution(folder)
    if any(_TORCH.match(one) for one in distribution.requirements(extras)):
        return True
    return any(brings_torch(*place) for place in _neighbours(distribution, extras))


def _place(name: str, own: Path) -> tuple[Path, set[str]]:
    match = _CHOSEN.fullmatch(name)
    wanted, extras = (match["name"], match["extras"]) if match else (name, None)
    given = extras.split(",") if extras else []
    if wanted in Distribution(ROOT).extras:
        return ROOT, {wanted}
    for distribution in list_shipped():
        if wanted in {distribution.folder.name, *distribution.plugins}:
            return distribution.folder, _extras(wanted, given, distribution)
    for folder in (own / wanted, Path(wanted)):
        if (folder / "pyproject.toml").is_file():
            return folder.resolve(), _extras(wanted, given, Distribution(folder))
    near = difflib.get_close_matches(wanted, list_known(own), n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise LookupError(f"no plugin {wanted!r}{meant} {_all(own)}")


def _extras(name: str, given: Sequence[str], distribution: Distribution) -> set[str]:
    """Return the extras of a distribution that a plugin with extras in brackets stands for.

    An extra of a plugin is named after it, as ``published_add``, where another could have one of
    that name. A distribution of which nothing works without an extra comes with all of them.
    """
    chosen = set(distribution.plugins.get(name, ()))
    for one in given:
        own = f"{name}_{one}"
        if own not in distribution.extras and one not in distribution.extras:
            offered = ", ".join(sorted(distribution.extras)) or "none"
            raise LookupError(f"{name} has no extra {one!r}; it has {offered}.")
        chosen.add(own if own in distribution.extras else one)
    if not chosen and distribution.entries and all(extra for _, extra in distribution.entries):
        return set(distribution.used_extras)
    return chosen


def _neighbours(
    distribution: Distribution, extras: Iterable[str]
) -> Iterator[tuple[Path, set[str]]]:
    """Yield what a distribution needs of this project.

    With it come the extras of its own that extras name.
    """
    folders = {str(one.project["name"]): one.folder for one in list_shipped()}
    folders[str(distribution.project["name"])] = distribution.folder
    for requirement in distribution.requirements(extras):
        match = _NEEDED.match(requirement)
        if match and match["name"] != OWN:
            more = set(match["extras"].split(",")) if match["extras"] else set()
            yield folders[match["name"]], more


def _add_extras(name: str, extras: Iterable[str]) -> str:
    return f"{name}[{','.join(sorted(extras))}]" if extras else name


def _describe(chosen: dict[Path, set[str]]) -> str:
    return ", ".join(
        _add_extras(folder.name, extras) for folder, extras in chosen.items() if folder != ROOT
    )


def _time(chosen: dict[Path, set[str]]) -> str:
    needed = [
        one
        for folder, extras in chosen.items()
        for one in Distribution(folder).requirements(extras)
    ]
    if any(_TORCH.match(one) for one in needed):
        return " PyTorch comes with it: some gigabytes to download, 5 to 20 minutes."
    return " Less than two minutes."


if __name__ == "__main__":
    raise SystemExit(main())
