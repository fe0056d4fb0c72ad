"""Histories of detectors: which batches each has spans of, made by which version of it.

Read from the store's folders without checking signatures: nothing here is released, and what is
made again is judged by signed receipts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from deid_assets.core.assets import Family
from deid_assets.core.errors import InputError
from deid_assets.store.files import RECEIPT
from deid_assets.store.zones import zone_of

_RAW = "raw_notes"
UNKNOWN = "unknown"
"""Version of spans whose receipt cannot be read."""
_Stamp = tuple[int, int, int]
_versions: dict[str, tuple[_Stamp, str]] = {}


class DetectorState(StrEnum):
    """State of a detector; the first that holds."""

    BROKEN = "broken"
    REMOVED = "removed"
    NEW = "new"
    INCOMPLETE = "incomplete"
    UPGRADED = "upgraded"
    STALE = "stale"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class ExpectedSpans:
    """What a detector's spans are made by now.

    Args:
        plugin: Version of its plugin, with the digest of its files.
        code: Code version of its spans; empty where it cannot be used.
        fault: Why it cannot be used; empty where it can.
        is_installed: Whether there is such a detector at all.
    """

    plugin: str = ""
    code: str = ""
    fault: str = ""
    is_installed: bool = True


@dataclass(frozen=True, slots=True)
class History:
    """History of one detector.

    Args:
        detector: Its name.
        expected: What its spans are made by now.
        batches: All batches whose notes were read.
        made: Those with spans by what is there now.
        lacking: Those without its spans.
        stopped: Those of them in which its spans failed a check, or it raised.
        older: Those with spans by anything else, by the version that made them.
    """

    detector: str
    expected: ExpectedSpans
    batches: int
    made: int = 0
    lacking: Sequence[str] = ()
    stopped: Sequence[str] = ()
    older: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def state(self) -> DetectorState:
        """What to call it."""
        if not self.expected.is_installed:
            return DetectorState.REMOVED
        if self.expected.fault:
            return DetectorState.BROKEN
        if self.batches and len(self.lacking) == self.batches:
            return DetectorState.NEW
        if self.lacking:
            return DetectorState.INCOMPLETE
        if any(version != self.expected.plugin for version in self.older):
            return DetectorState.UPGRADED
        return DetectorState.STALE if self.older else DetectorState.COMPLETE

    @property
    def stale(self) -> list[str]:
        """Batches whose spans something else than what is there now made, sorted."""
        return sorted(batch for found in self.older.values() for batch in found)

    @property
    def progress(self) -> str:
        """How far it is, as ``17 of 1,000 batches``."""
        return f"{self.made:,} of {self.batches:,} batches"

    @property
    def kept(self) -> str:
        """Which spans of earlier versions are kept, in words; empty where none are."""
        return ", ".join(
            f"{len(found):,} of version {version}" for version, found in sorted(self.older.items())
        )

    @property
    def remedy(self) -> str:
        """What to do about it, in words; empty where there is nothing to do."""
        shell = f"`deid backfill {Family.SPANS.of(self.detector)}`"
        job = f"launch the job detector__{self.detector} as a backfill, or {shell}"
        match self.state:
            case DetectorState.REMOVED:
                return (
                    "install it again to go on; else its spans stay as they are, and enter nothing"
                )
            case DetectorState.BROKEN:
                return f"{self.expected.fault}; then reload the code location"
            case DetectorState.NEW | DetectorState.INCOMPLETE if self._only_stopped:
                return f"see why it was stopped: `deid batches show {self.stopped[0]}`"
            case DetectorState.NEW | DetectorState.INCOMPLETE:
                return f"{job} for {len(self.lacking):,} batches"
            case DetectorState.UPGRADED | DetectorState.STALE:
                return f"{job} for the {len(self.stale):,} batches of before"
        return ""

    @property
    def _only_stopped(self) -> bool:
        return bool(self.stopped) and set(self.lacking) <= set(self.stopped)


def histories(
    root: Path, expected: Mapping[str, ExpectedSpans], *, without: Collection[str] = ()
) -> dict[str, History]:
    """Return the history of every detector, and of those that left spans and are gone, by name.

    Args:
        root: Of the store.
        expected: What each detector's spans are made by now, by its name.
        without: Batches that are being made just now, and lack nothing.
    """
    batches = set(_batches(root, _RAW)).difference(without)
    gone = {name: ExpectedSpans(is_installed=False) for name in list_left_behind(root, expected)}
    return {
        name: _history(root, name, wanted, batches)
        for name, wanted in sorted({**expected, **gone}.items())
    }


def list_left_behind(root: Path, known: Mapping[str, object]) -> list[str]:
    """Return the detectors that left spans in the store and that are not known, sorted."""
    pattern = Family.SPANS.of("*")
    folders = (root / zone_of(Family.SPANS.of("any"))).glob(pattern)
    names = {Family.SPANS.name_in(folder.name) for folder in folders}
    return sorted(
        name for name in names - known.keys() if next(_batches(root, Family.SPANS.of(name)), None)
    )


def history_of(root: Path, name: str, expected: ExpectedSpans) -> History:
    """Return the history of one detector."""
    return _history(root, name, expected, set(_batches(root, _RAW)))


def _history(root: Path, name: str, expected: ExpectedSpans, batches: set[str]) -> History:
    asset = Family.SPANS.of(name)
    older: dict[str, list[str]] = {}
    present, made = set(), 0
    for batch, path, stamp in _receipts(root, asset):
        if batch not in batches and expected.is_installed:
            continue
        present.add(batch)
        code = _code_version(path, stamp)
        if code and code == expected.code:
            made += 1
        else:
            older.setdefault(_plugin_version(code, expected.plugin), []).append(batch)
    lacking = sorted(batches - present)
    stopped = sorted(batches.intersection(lacking, _batches(root, Family.STOPS.of(asset))))
    return History(
        name,
        expected,
        batches=len(batches),
        made=made,
        lacking=lacking,
        stopped=stopped,
        older={version: sorted(found) for version, found in older.items()},
    )


def _plugin_version(code: str, present: str) -> str:
    """Return the plugin's part of a code version: its version and the digest of its files."""
    if present and code.startswith(f"{present}+"):
        return present
    return "+".join(code.split("+")[:2]) or UNKNOWN


def _batches(root: Path, asset: str) -> Iterator[str]:
    """Yield the batches of an asset that have a receipt."""
    return (batch for batch, _, _ in _receipts(root, asset))


def _receipts(root: Path, asset: str) -> Iterator[tuple[str, str, _Stamp]]:
    """Yield batch, path and stamp of every receipt of an asset; none where no asset has such a
    name. Strings and one call each: there are tens of thousands.
    """
    try:
        entries = os.scandir(root / zone_of(asset) / asset)
    except (InputError, FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            path = f"{entry.path}/{RECEIPT}"
            with suppress(FileNotFoundError, NotADirectoryError):
                state = os.stat(path)  # noqa: PTH116 - a string will do
                yield entry.name, path, (state.st_ino, state.st_size, state.st_mtime_ns)


def _code_version(path: str, stamp: _Stamp) -> str:
    """Return the code version in a receipt, read again only where the file changed; empty where
    it cannot be read.
    """
    known = _versions.get(path)
    if known and known[0] == stamp:
        return known[1]
    try:
        found = str(json.loads(Path(path).read_bytes())["code_version"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    _versions[path] = (stamp, found)
    return found
