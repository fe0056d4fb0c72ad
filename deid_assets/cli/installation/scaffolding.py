"""``deid plugin``: a plugin of one's own, begun from the template in a folder outside the
checkout's ``plugins``, and plugins of this project from a folder of wheels.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets import plugins
from deid_assets.cli.app import app
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.plugged import CommandGroup
from deid_assets.config import Settings
from deid_assets.core.errors import InputError
from deid_assets.operation.wheels import CONSTRAINTS, files_for, find_wheel_folder, read_wheels
from deid_assets.own_plugins import CHECKOUT, is_checkout
from deid_assets.system.atomic import atomic_folder

_TEMPLATE = (
    CHECKOUT / "plugins" / "template"
    if is_checkout()
    else CHECKOUT / "deid_assets" / "plugin_template"
)
"""A wheel has it within the package."""
_AUDIT = re.compile(r'\[project\.entry-points\."deid_assets\.audits"\]\n.*\n\n')
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_README = """\
# {distribution}

What it finds, and what it cannot find by design: say it here, and declare in `labels` every
category that it may return, no more. `pytest {folder}` runs its tests; the contract test must pass.
"""

plugin_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Plugins: installed from wheels, or your own."
)
app.add_typer(plugin_app, name="plugin")


@plugin_app.command("new")
@guard_command
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
    say(_how_to_install(folder))
    say(
        "then `deid detectors` lists it, and the graph has it once its code location is loaded"
        " again"
    )
    return 0


@plugin_app.command("add")
@guard_command
def add(
    names: Arg[
        list[str],
        typer.Argument(metavar="NAME...", help="Such as spacy, 'audits[models]', s3 or lab."),
    ],
    *,
    wheels: Arg[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Of wheels; the one that deid was installed from if not given."
        ),
    ] = None,
    offline: Arg[
        bool,
        typer.Option("--offline", help="Other packages come from the folder too, none by network."),
    ] = False,
) -> int:
    """Install plugins of this project, with what they need, from a folder of its wheels.

    pip is given files of this project, never their names, and constraints.txt of the folder. In a
    checkout `make add` installs them.
    """
    if is_checkout():
        chosen = shlex.quote(" ".join(names))
        raise InputError(f"this is the deid of {CHECKOUT}: run there `make add PLUGIN={chosen}`")
    folder = (wheels or find_wheel_folder() or Path()).absolute()
    if wheels is None and find_wheel_folder() is None:
        raise InputError("--wheels: name the folder that `make wheels` wrote, dist in a checkout")
    files = files_for(names, read_wheels(folder))
    constraints = folder / CONSTRAINTS
    options = ["--constraint", str(constraints)] if constraints.is_file() else []
    options += ["--no-index", "--find-links", str(folder)] if offline else []
    if find_spec("pip") is None:
        raise InputError(
            f"pip is not in {sys.prefix}; give {' '.join(files)} to what installs there"
        )
    command = [sys.executable, "-m", "pip", "install", *options, *files]
    say(f"running {shlex.join(command)}")
    if subprocess.run(command, check=False).returncode:  # noqa: S603 - our own wheels
        raise InputError("pip did not install them, and said why above")
    return 0


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r}: a plugin's name matches {_NAME.pattern}; choose another")
    if name in plugins.available():
        raise InputError(f"{name!r}: a detector of this name is installed; choose another name")
    if not _TEMPLATE.is_dir():
        raise InputError(
            f"{_TEMPLATE}: is not there; run the `deid` of a checkout, or of a wheel that `make"
            " wheels` built"
        )


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


def _how_to_install(folder: Path) -> str:
    if is_checkout():
        return f"install it once, in {CHECKOUT}: make add PLUGIN={_as_make_takes(folder)}"
    python = shlex.quote(sys.executable)
    return f"install it once: {python} -m pip install --editable {shlex.quote(str(folder))}"


def _as_make_takes(folder: Path) -> str:
    quoted = shlex.quote(str(folder))
    return quoted if quoted == str(folder) else f'"{quoted}"'
