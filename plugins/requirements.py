"""What pip installs for a plugin.

Its folder and those of its neighbours, never a name that no registry has.

``make add`` calls it. Plugins need each other by name, such as deid-spacy deid-published. Until
they are published, anybody could register these names, so that pip is given the folder of each.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = ROOT / "plugins"
OWN = "deid-assets"
NETWORKS = (
    "edsnlp",
    "flair",
    "generative",
    "gliner",
    "onnx",
    "privacy",
    "published[add]",
    "spacy",
    "stanza",
    "transformers",
    "zero_shot",
)
_CHOSEN = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<extras>[a-z0-9_,]+)\])?")
_NEEDED = re.compile(r"(?P<name>deid-[a-z-]+)(?:\[(?P<extras>[a-z0-9_,]+)\])?")
_TORCH = re.compile(r"(torch|flair|gliner|stanza|edsnlp)\b")


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
        chosen = closure(_named(options.plugins, options.own), own=options.own)
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    names = ", ".join(folder.name for folder in chosen if folder != ROOT)
    print(f"Installing {names or OWN}.{_time(chosen)}", file=sys.stderr)
    for folder, extras in chosen.items():
        named = f"{folder}[{','.join(sorted(extras))}]" if extras else str(folder)
        print("-e", shlex.quote(named))
    return 0


def closure(names: Iterable[str], *, own: Path) -> dict[Path, set[str]]:
    """Return the folders of plugins and of all that they need of this project, with the extras of each.

    Args:
        names: Of folders in ``plugins`` or in that of one's own plugins, or paths; with extras in
            brackets, or an extra of the platform alone.
        own: Folder of one's own plugins.

    Raises:
        LookupError: There is no such plugin or extra; the message lists those that there are.
    """
    chosen: dict[Path, set[str]] = {}
    left = [_place(name, own) for name in names]
    while left:
        folder, extras = left.pop()
        if folder in chosen and extras <= chosen[folder]:
            continue
        chosen.setdefault(folder, set()).update(extras)
        left += _neighbours(folder, extras)
    return dict(sorted(chosen.items()))


def known(own: Path) -> list[str]:
    """Return what can be named."""
    folders = [*PLUGINS.glob("*/pyproject.toml"), *own.glob("*/pyproject.toml")]
    names = {path.parent.name for path in folders} - {"template"}
    return ["networks", "all", *sorted(names | _extras(ROOT))]


def _all(own: Path) -> str:
    return f"There are {', '.join(known(own))}, or the path of one of yours."


def _named(names: Sequence[str], own: Path) -> list[str]:
    if not names:
        raise LookupError(f"Name a plugin: make add PLUGIN=spacy. {_all(own)}")
    return [one for name in names for one in _group(name)]


def _group(name: str) -> Sequence[str]:
    if name == "networks":
        return NETWORKS
    if name == "all":
        return [*NETWORKS, *sorted(path.parent.name for path in _shipped())]
    return [name]


def _shipped() -> Iterator[Path]:
    return (path for path in PLUGINS.glob("*/pyproject.toml") if path.parent.name != "template")


def _place(name: str, own: Path) -> tuple[Path, set[str]]:
    match = _CHOSEN.fullmatch(name)
    wanted, extras = (match["name"], match["extras"]) if match else (name, None)
    given = set(extras.split(",")) if extras else set()
    if wanted in _extras(ROOT):
        return ROOT, {wanted}
    for folder in (PLUGINS / wanted, own / wanted, Path(wanted)):
        if (folder / "pyproject.toml").is_file():
            _check_extras(wanted, given, _extras(folder))
            return folder.resolve(), given
    near = difflib.get_close_matches(wanted, known(own), n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise LookupError(f"no plugin {wanted!r}{meant} {_all(own)}")


def _check_extras(name: str, given: set[str], offered: set[str]) -> None:
    if unknown := sorted(given - offered):
        raise LookupError(
            f"{name} has no extra {unknown[0]!r}; it has {', '.join(sorted(offered)) or 'none'}."
        )


def _neighbours(folder: Path, extras: set[str]) -> Iterator[tuple[Path, set[str]]]:
    for requirement in _requirements(folder, extras):
        match = _NEEDED.match(requirement)
        if match and match["name"] != OWN:
            more = set(match["extras"].split(",")) if match["extras"] else set()
            yield PLUGINS / match["name"].removeprefix("deid-").replace("-", "_"), more


def _requirements(folder: Path, extras: set[str]) -> list[str]:
    project = _project(folder)
    optional = project.get("optional-dependencies", {})
    return [*project.get("dependencies", []), *(one for extra in extras for one in optional[extra])]


def _extras(folder: Path) -> set[str]:
    return set(_project(folder).get("optional-dependencies", {})) - {"dev", "test"}


def _project(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(
        (folder / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    return project


def _time(chosen: dict[Path, set[str]]) -> str:
    needed = [one for folder, extras in chosen.items() for one in _requirements(folder, extras)]
    if any(_TORCH.match(one) for one in needed):
        return " PyTorch comes with it: some gigabytes to download, 5 to 20 minutes."
    return " Less than two minutes."


if __name__ == "__main__":
    raise SystemExit(main())
