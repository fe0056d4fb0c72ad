"""``deid plugin``: a plugin of one's own, begun from the template in a folder outside the
checkout's ``plugins``.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated as Arg

import typer

import deid_assets
from deid_assets import plugins
from deid_assets.cli.app import app
from deid_assets.cli.endings import guarded, say
from deid_assets.cli.plugged import CommandGroup
from deid_assets.config import Settings
from deid_assets.core.errors import InputError
from deid_assets.system.atomic import atomic_folder

_CHECKOUT = Path(deid_assets.__file__).resolve().parents[1]
_TEMPLATE = _CHECKOUT / "plugins" / "template"
_AUDIT = re.compile(r'\[project\.entry-points\."deid_assets\.audits"\]\n.*\n\n')
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_README = """\
# {distribution}

What it finds, and what it cannot find by design: say it here, and declare in `labels` every
category that it may return, no more. `pytest {folder}` runs its tests; the contract test must pass.
"""

plugin_app = typer.Typer(cls=CommandGroup, no_args_is_help=True, help="Plugins of your own.")
app.add_typer(plugin_app, name="plugin")


@plugin_app.command("new")
@guarded
def new(
    name: Arg[
        str, typer.Argument(metavar="NAME", help="Of the detector: small letters, digits and _.")
    ],
    *,
    into: Arg[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of your plugins; plugins in the home when not given."
        ),
    ] = None,
    audit: Arg[
        bool, typer.Option("--audit", help="With a privacy audit of that name beside the detector.")
    ] = False,
) -> int:
    """Write a working detector to change, with its tests, where your plugins are kept.

    That is plugins in the installation's home, which is no part of the checkout: its lint and
    its installation leave your plugins alone.
    """
    _check_name(name)
    place = (into or Settings.load().home / "plugins").absolute()
    folder = place / name
    with atomic_folder(folder) as made:
        _write(made, folder, name, audit=audit)
    say(f"{name}: written to {folder}; change deid_{name}/__init__.py there")
    say(f"install it once, in {_CHECKOUT}: make add PLUGIN={_as_make_takes(folder)}")
    say(
        "then `deid detectors` lists it, and the graph has it once its code location is loaded"
        " again"
    )
    return 0


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r}: a plugin's name matches {_NAME.pattern}; choose another")
    if name in plugins.available():
        raise InputError(f"{name!r}: a detector of this name is installed; choose another name")
    if not _TEMPLATE.is_dir():
        raise InputError(f"{_TEMPLATE}: is not there; run the `deid` of a checkout of deid-assets")


def _write(made: Path, folder: Path, name: str, *, audit: bool) -> None:
    """Write the template's files under another name."""
    distribution = f"deid-{name.replace('_', '-')}"
    for path in sorted(_TEMPLATE.rglob("*")):
        is_left_out = path.name == "audit.py" and not audit
        if path.suffix not in (".py", ".toml") or is_left_out:
            continue
        target = made / path.relative_to(_TEMPLATE).as_posix().replace("template", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        text = text if audit else _AUDIT.sub("", text)
        text = text.replace("deid-template", distribution).replace("template", name)
        target.write_text(text, encoding="utf-8")
    (made / "README.md").write_text(
        _README.format(distribution=distribution, folder=folder), encoding="utf-8"
    )


def _as_make_takes(folder: Path) -> str:
    quoted = shlex.quote(str(folder))
    return quoted if quoted == str(folder) else f'"{quoted}"'
