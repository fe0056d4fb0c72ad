"""Several audits of one material.

Each written as it ends, and kept when the run is stopped and made again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.audits import (
    AuditResult,
    Material,
    Outcome,
    Sealer,
    estimate_seconds,
    find_installed_audits,
    is_signed,
    not_run,
    read_result,
    run_named,
)
from deid_assets.extending.commands import say
from deid_assets.extending.corpora import count_read
from deid_assets.extending.files import atomic_file

PAGE = "privacy.html"
_SHORT = 20.0
"""Seconds below which an estimate is not told."""


@dataclass(frozen=True, slots=True)
class AuditRun:
    """Audits to be made of one material.

    Args:
        material: What they are given.
        options: Keyword options by audit.
        out: Folder of a JSON file per audit, of plots and of the page.
        signed: Whether the material's key is a secret one.
    """

    material: Material
    options: Mapping[str, Mapping[str, Any]]
    out: Path
    signed: bool
    _digests: dict[str, str] = field(default_factory=dict)

    def results(self, names: Sequence[str]) -> list[AuditResult]:
        """Return the result of each audit, those that were made of the same material before among
        them.
        """
        sealer = Sealer.of(self.material, read=_read_by(self.material), signed=self.signed)
        found: dict[str, AuditResult] = {}
        for name in names:
            if (kept := self._read_kept(name, sealer)) is not None:
                found[name] = kept
                say(f"{name}: kept as it was made before")
        left = [name for name in names if name not in found]
        self._say_estimates(left)
        for number, name in enumerate(left, 1):
            say(f"{name} ({number} of {len(left)}) ...")
            result = run_named(
                name, replace(self.material, report=_make_teller(name)), self.options.get(name)
            )
            found[name] = self._seal(sealer, result)
            write_result(self.out, found[name])
            write_page(self.out / PAGE, [found.get(one) or not_run(one) for one in names])
        if not left:
            write_page(self.out / PAGE, [found[name] for name in names])
        return [found[name] for name in names]

    def _seal(self, sealer: Sealer, result: AuditResult) -> AuditResult:
        """Return a result bound to the material, to the plugin's code and to the options."""
        name = result.audit
        return sealer.seal(
            result, self.options.get(name), plugin=find_installed_audits()[name].digest
        )

    def _read_kept(self, name: str, sealer: Sealer) -> AuditResult | None:
        """Return a verdict that is there already, of this very material, code and options."""
        path = self.out / f"{name}.json"
        try:
            result = next(read_results(self.out, [path])) if path.is_file() else None
        except InputError:
            return None
        if result is None or result.audit != name or result.outcome is Outcome.NOT_ASSESSED:
            return None
        if result.subject != self._seal(sealer, result).subject:
            return None
        return result if not self.signed or is_signed(result, sealer.key) else None

    def _say_estimates(self, names: Sequence[str]) -> None:
        for name in names:
            seconds = estimate_seconds(name, self.material, self.options.get(name))
            if seconds is not None and seconds >= _SHORT:
                say(f"{name}: about {_duration(seconds)}")


def _read_by(material: Material) -> dict[str, int]:
    """Return of each set how many notes there are, and how many the model was trained on by its
    folder.
    """
    if material.model is None:
        return {}
    sets = {
        "training": list(material.training),
        "held_out": list(material.held_out),
        "annotated": [case.note for case in material.cases],
    }
    sizes = {name: len(notes) for name, notes in sets.items() if notes}
    read = {
        f"{name} read": count_read(material.model, notes) for name, notes in sets.items() if notes
    }
    return sizes | read


def _make_teller(name: str) -> Any:
    began = time.monotonic()

    def tell(done: int, steps: int, coming: str) -> None:
        say(
            f"  {name}: {done} of {steps} steps, {_duration(time.monotonic() - began)}; next:"
            f" {coming}"
        )

    return tell


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"


def write_result(out: Path, result: AuditResult) -> None:
    """Write a result, and its plots beside it as AUDIT-PLOT.png."""
    files = {f"{result.audit}-{plot.name}.png": plot.png for plot in result.plots}
    files[f"{result.audit}.json"] = f"{json.dumps(result.to_json(), indent=1)}\n".encode()
    for name, content in files.items():
        with atomic_file(out / name) as file:
            file.write(content)


def write_page(path: Path, results: Sequence[AuditResult]) -> None:
    """Write the page of results."""
    from deid_audits.page import model_html  # noqa: PLC0415 - loads Jinja

    with atomic_file(path) as file:
        file.write(model_html(results, None, None, title="Release").encode())


def read_folder(folder: Path) -> Iterator[AuditResult]:
    """Yield the results that ``deid privacy run`` wrote.

    Raises:
        InputError: There is none, or one is something else.
    """
    found = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not found:
        raise InputError(
            f"{folder}: no result of an audit in it; name a folder that deid privacy run wrote"
        )
    yield from read_results(folder, found)


def read_results(folder: Path, paths: Sequence[Path]) -> Iterator[AuditResult]:
    """Yield the results of files.

    Raises:
        InputError: One is something else.
    """
    for path in paths:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError):
            raise InputError(f"{path}: not JSON; run the audit again") from None
        if not isinstance(document, dict):
            raise InputError(f"{path}: not the result of an audit; run the audit again")
        names = [
            plot["name"]
            for plot in document.get("plots", [])
            if isinstance(plot, dict) and "name" in plot
        ]
        pictures = {name: folder / f"{path.stem}-{name}.png" for name in names}
        yield read_result(
            document, {name: file.read_bytes() for name, file in pictures.items() if file.is_file()}
        )
