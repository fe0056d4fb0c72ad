"""Wheels of all distributions, and what a folder of them needs to be installed from.

``make wheels`` calls it. Beside the wheels lie ``constraints.txt``, versions of other packages that
were tested together, and ``quickstart.txt``, what `make run` installs, as files of that folder:
names of this project are never given to pip, see ``requirements.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hatchling.build import build_wheel
from requirements import ROOT, closure, list_shipped

QUICKSTART = "quickstart"
"""The extra with the plugins that ``make run`` installs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the folder, and say how to install from it.

    Returns:
        0.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args(arguments).out.absolute()
    files = write_wheels(out)
    print(f"{len(files)} wheels in {out}. In an environment of its own, in that folder:")
    print(f"  pip install --constraint constraints.txt --requirement {QUICKSTART}.txt")
    return 0


def write_wheels(out: Path) -> dict[Path, Path]:
    """Write wheels, constraints and the requirements of the main job, in place of older ones.

    Args:
        out: Folder; what else lies there stays.

    Returns:
        Folder of each distribution to its wheel.
    """
    out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("SOURCE_DATE_EPOCH", commit_time())
    with tempfile.TemporaryDirectory(dir=out, prefix=".wheels-") as part:
        built = {folder: Path(part, build(folder, Path(part))) for folder in _folders()}
        for old in out.glob("deid_*.whl"):
            old.unlink()
        files = {folder: path.rename(out / path.name) for folder, path in built.items()}
    shutil.copyfile(ROOT / "constraints.txt", out / "constraints.txt")
    lines = main_requirements(files)
    (out / f"{QUICKSTART}.txt").write_text("".join(f"{one}\n" for one in lines), "utf-8")
    return files


def main_requirements(files: Mapping[Path, Path]) -> list[str]:
    """Return what `make run` installs as paths of wheels, relative to their folder."""
    chosen = closure([QUICKSTART], own=ROOT)
    named = [(files[folder].name, extras) for folder, extras in chosen.items()]
    return [
        f"./{name}" + (f"[{','.join(sorted(extras))}]" if extras else "")
        for name, extras in sorted(named)
    ]


def commit_time() -> str:
    """Return the time of the last commit in seconds, so that a commit has one wheel.

    That of the format's beginning where this is no repository.
    """
    command = ["git", "log", "-1", "--format=%ct"]
    told = ""
    with contextlib.suppress(OSError):
        told = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()
    return told or "315532800"


def _folders() -> list[Path]:
    return [ROOT, *(one.folder for one in list_shipped())]


def build(folder: Path, out: Path) -> str:
    """Build the wheel of a distribution as pip does, and return the name of its file.

    The same files at the same ``SOURCE_DATE_EPOCH`` give the same bytes.
    """
    with contextlib.chdir(folder):
        return build_wheel(str(out))


if __name__ == "__main__":
    raise SystemExit(main())
