"""What ``deid models add`` was asked for, and the folder it writes, all or nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deid_assets.extending import Phi
from deid_assets.extending.files import replace_folder
from deid_published.folder import CARD, FORMAT, sha256
from deid_published.labels import LabelChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What was asked for.

    Args:
        source: Folder, or hub name.
        name: Under which it is added.
        out: Folder to write.
        labels: Label map, by name or path; one that was written for this very model where empty.
        aggregation: In place of the map's.
        words: In place of the map's.
        window: In place of the map's or the model's.
        fetch: Whether a hub name may be fetched.
        revision: Commit on the hub.
        trust: Whether pickles may be read.
    """

    source: str
    name: str
    out: Path
    labels: str = ""
    aggregation: str = ""
    words: str = ""
    window: int = 0
    fetch: bool = False
    revision: str = ""
    trust: bool = False

    @property
    def proposal(self) -> Path:
        """File for a label map, where there is none."""
        return self.out.with_name(f"{self.name}.labels.toml")


def write_folder(  # noqa: PLR0917 - what a card is made of
    wanted: ImportRequest,
    source: str,
    labels: Mapping[str, Phi | None],
    choice: LabelChoice,
    fill: Callable[[Path], Mapping[str, Any]],
    check: Callable[[Path], Mapping[str, Any]],
) -> Mapping[str, Any]:
    """Write the folder of a model, all or nothing, and return its card.

    Args:
        wanted: As it was asked for.
        source: Name of the model, without its folder.
        labels: Every label of the model, decided.
        choice: The map that decided.
        fill: Writes the model into a folder and returns what the card says of it.
        check: Reads the added model as the detector will, and returns what the card says of that;
            it raises where the model cannot be used.
    """
    part = wanted.out.with_name(wanted.out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True, mode=0o700)
    try:
        card: dict[str, Any] = {
            "format": FORMAT,
            "name": wanted.name,
            "source": source,
            "trusted": wanted.trust,
            "labels": {
                label: category.value if category else None for label, category in labels.items()
            },
            "label_map": choice.name,
            "facts": dict(choice.facts),
            "added_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        card |= fill(part)
        card["files"] = {name: sha256(part / name) for name in sorted(files_of(part))}
        _write(part, card)
        card |= check(part)
        _write(part, card)
        replace_folder(part, wanted.out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return card


def files_of(folder: Path) -> set[str]:
    """Return the files of a folder, by their paths in it."""
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def _write(folder: Path, card: Mapping[str, Any]) -> None:
    (folder / CARD).write_text(
        json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
