"""One file by which a grid is run again: plan, versions, digests and scores.

And the second run set beside the first.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.files import atomic_file, digest_of_files, digest_of_package
from deid_privacy.utility.comparing import rows
from deid_privacy.utility.running import MAJORITY, Grid, Plan
from deid_privacy.utility.tasks import task_data
from deid_privacy.utility.tuning import TuningSettings

BUNDLE, VERSION = "reproduce.json", 1
_NAMED = frozenset({"numpy", "safetensors", "scipy", "tokenizers", "torch", "transformers"})
"""Packages, beside this project's, of which results depend."""
_CODE = ("deid_assets", "deid_audits", "deid_causal", "deid_privacy")
_SHOWN = 16
"""Characters of a digest."""


@dataclass(frozen=True, slots=True)
class MeanPair:
    """A mean of the first run against that of the second.

    Args:
        name: Task and setting.
        first: F1.
        second: F1; none where the second run has none.
    """

    name: str
    first: float
    second: float | None

    def within(self, tolerance: float) -> bool:
        """Whether they differ by no more."""
        return self.second is not None and abs(self.first - self.second) <= tolerance


def write_bundle(grid: Grid, results: Sequence[Mapping[str, Any]], *, command: str) -> Path:
    """Write the bundle into a grid's folder and return its path; it holds no text."""
    found = {
        "version": VERSION,
        "command": command,
        "plan": asdict(grid.plan),
        "machine": {"architecture": platform.machine(), "python": platform.python_version()},
        "packages": packages(),
        "code": {package: code(package) for package in _CODE},
        "commit": commit(Path(__file__).parent),
        "notes": {task: notes(task, grid.plan) for task in grid.plan.tasks},
        "models": {name: digest for name in grid.plan.models if (digest := weights(name))},
        "f1": means(results),
    }
    with atomic_file(grid.folder / BUNDLE) as file:
        file.write(f"{json.dumps(found, indent=1, sort_keys=True)}\n".encode())
    return grid.folder / BUNDLE


def read_bundle(path: Path) -> tuple[Plan, dict[str, Any]]:
    """Return the plan of a bundle, and all of it.

    Raises:
        InputError: It is none.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
        if found["version"] != VERSION:
            raise InputError(
                f"{path.name}: a bundle of version {found['version']}; this reads {VERSION}"
            )
        plan = Plan(**found["plan"] | {"tuning": TuningSettings(**found["plan"]["tuning"])})
        return plan, found | {
            "f1": {str(name): float(value) for name, value in found["f1"].items()}
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path.name}: no bundle; deid privacy grid, end-to-end and sweep write {BUNDLE}"
        ) from None


def differences(bundle: Mapping[str, Any], plan: Plan) -> list[str]:
    """Return in a line each what is not as it was: notes, models, packages, code.

    The first two forbid a comparison.
    """
    own = {
        "notes": {task: notes(task, plan) for task in plan.tasks},
        "model": {name: digest for name in plan.models if (digest := weights(name))},
        "package": packages(),
    }
    known = {"notes": bundle["notes"], "model": bundle["models"], "package": bundle["packages"]}
    told: list[str] = []
    for kind, now in own.items():
        then = known[kind]
        told += [
            f"{kind} {name}: {then.get(name, 'none')} then, {now.get(name, 'none')} now"
            for name in sorted({*now, *then})
            if now.get(name) != then.get(name)
        ]
    told += [
        f"code {package}: other; commit {bundle['commit'] or 'unknown'} then"
        for package in _CODE
        if bundle["code"].get(package) != code(package)
    ]
    return told


def compare_means(
    bundle: Mapping[str, Any], results: Sequence[Mapping[str, Any]]
) -> list[MeanPair]:
    """Return every mean of the bundle beside that of a second run."""
    own = means(results)
    return [MeanPair(name, first, own.get(name)) for name, first in bundle["f1"].items()]


def means(results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean F1 of each task and setting."""
    return {
        f"{task}: {one.setting}": one.mean for task, own in rows(results).items() for one in own
    }


def packages() -> dict[str, str]:
    """Return the versions of what results depend on, by name."""
    known = {str(one.metadata["Name"]).lower(): one.version for one in distributions()}
    return {
        name: version
        for name, version in sorted(known.items())
        if name in _NAMED or name.startswith("deid-")
    }


def code(package: str) -> str:
    """Return a digest of a package's files, its lists and grammars too."""
    return digest_of_package(package)[0][:_SHOWN]


def commit(folder: Path) -> str:
    """Return the commit of a checkout, with ``+`` where it was changed since.

    Nothing where it is none.
    """
    git = shutil.which("git")
    if git is None:
        return ""
    head, status = (
        subprocess.run(  # noqa: S603 - no shell
            [git, "-C", str(folder), *words], capture_output=True, text=True, check=False
        )
        for words in (["rev-parse", "HEAD"], ["status", "--porcelain"])
    )
    if head.returncode:
        return ""
    return f"{head.stdout.strip()}+" if status.stdout.strip() else head.stdout.strip()


def notes(task: str, plan: Plan) -> str:
    """Return a digest of the notes of a task."""
    total = hashlib.sha256()
    for one in task_data(task, documents=plan.documents, seed=plan.seed).examples:
        for part in (one.note_id.encode(), one.text.encode()):
            total.update(len(part).to_bytes(8) + part)
    return total.hexdigest()[:_SHOWN]


def weights(model: str) -> str:
    """Return a digest of the weights of an encoder that is a folder, ``NAME=FOLDER``.

    Nothing of one that is made.
    """
    folder = Path(model.partition("=")[2].removesuffix("/epochs"))
    if model == MAJORITY or "=" not in model:
        return ""
    return digest_of_files(
        (str(path.relative_to(folder)), path) for path in folder.rglob("*.safetensors")
    )[:_SHOWN]
