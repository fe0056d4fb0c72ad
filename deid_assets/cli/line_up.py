"""The detectors that a command names, and their opinions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from deid_assets import plugins
from deid_assets.core.detector import Detector, Failed
from deid_assets.core.detector import detect as run_detector
from deid_assets.core.errors import ConfigError, DeidError
from deid_assets.core.note import Note
from deid_assets.core.resolve import POLICIES, LineUp, resolve
from deid_assets.core.span import SpanSet


@dataclass(frozen=True, slots=True)
class Detection:
    """Detectors, and what becomes of their overlaps.

    Args:
        detectors: The first has the highest priority.
        resolve_by: Overlap policy, or ``None`` to keep every opinion.
    """

    detectors: Sequence[Detector]
    resolve_by: str | None

    @classmethod
    def load(cls, specs: Sequence[str], options: Sequence[str], resolve_by: str | None) -> Self:
        """Load detectors as the command line names them.

        Args:
            specs: ``NAME`` or ``NAME=MODEL``.
            options: ``NAME.OPTION=VALUE``, the value as in TOML; a bare word is a string.
            resolve_by: Overlap policy.

        Raises:
            ConfigError: An option is misspelt or for a detector that is not named, a detector is named twice, or
                the policy is unknown.
            PluginError: A detector is not installed or does not load.
        """
        if resolve_by is not None and resolve_by not in POLICIES:
            raise ConfigError(f"unknown overlap policy {resolve_by!r}; choose one of {', '.join(POLICIES)}")
        chosen: dict[str, dict[str, Any]] = {}
        for spec in specs:
            name, _, model = spec.partition("=")
            if name in chosen:
                raise ConfigError(f"detector {name!r} is named twice; name it once")
            chosen[name] = {"model": model} if model else {}
        for option in options:
            owner, key, value = _parsed(option)
            if owner not in chosen:
                raise ConfigError(f"option {option!r} is for {owner!r}, but the detectors are {', '.join(chosen)}")
            chosen[owner][key] = value
        return cls([plugins.load(name, options=found) for name, found in chosen.items()], resolve_by)

    def opinions(self, notes: Sequence[Note]) -> Iterator[SpanSet | Failed]:
        """Yield the spans of all detectors on each note, or the first failure of one."""
        runs = [run_detector(detector, notes) for detector in self.detectors]
        line_up = LineUp([detector.name for detector in self.detectors])
        for note, outcomes in zip(notes, zip(*runs, strict=True), strict=True):
            failed = next((outcome for outcome in outcomes if isinstance(outcome, Failed)), None)
            yield failed or self._merged(note, [found for found in outcomes if isinstance(found, SpanSet)], line_up)

    def _merged(self, note: Note, span_sets: Sequence[SpanSet], line_up: LineUp) -> SpanSet | Failed:
        if self.resolve_by is None:
            return SpanSet.of(note, (span for spans in span_sets for span in spans))
        try:
            return resolve(note, span_sets, policy=self.resolve_by, line_up=line_up)
        except DeidError as error:
            return Failed(note.note_id, "resolve", type(error).__name__)


def _parsed(option: str) -> tuple[str, str, Any]:
    place, equals, value = option.partition("=")
    owner, dot, key = place.partition(".")
    if not (equals and dot and key.isidentifier()):
        raise ConfigError(f"option {option!r} must read NAME.OPTION=VALUE, as in rules.profile=i2b2")
    try:
        return owner, key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return owner, key, value  # a bare word is a string
