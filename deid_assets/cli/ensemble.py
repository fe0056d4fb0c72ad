"""The detectors that a command names, and their predictions."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Self, TypeVar

from deid_assets import plugins
from deid_assets.core.detector import Detector, Failed
from deid_assets.core.detector import detect as run_detector
from deid_assets.core.errors import ConfigError, DetectorError
from deid_assets.core.note import Note
from deid_assets.core.resolve import POLICIES, Ensemble
from deid_assets.core.span import SpanSet
from deid_assets.pipeline.batch import Outcome
from deid_assets.pipeline.resolving import LEAVABLE, by_note, resolve_all
from deid_assets.plugins.environments import ENVIRONMENT, plugin_in
from deid_assets.runtime.processes import WorkerDied, stream_parts
from deid_assets.system.silence import silence_output

_T = TypeVar("_T")
_Work = Callable[["Detection", list[Note]], _T]


@dataclass(frozen=True, slots=True)
class Named:
    """Detectors as the command line names them.

    Args:
        specs: ``NAME`` or ``NAME=MODEL``, the first with the highest priority.
        options: ``NAME.KEY=VALUE``, the value as in TOML; a bare word is a string.
        resolve_by: Overlap policy, or ``None`` to keep every prediction.
        jobs: Processes, at least 1; each loads the detectors.
    """

    specs: Sequence[str]
    options: Sequence[str]
    resolve_by: str | None
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Detection:
    """Detectors, and what becomes of their overlaps.

    Args:
        named: What they were loaded from, so that a worker can load them too.
        detectors: The first has the highest priority.
    """

    named: Named
    detectors: Sequence[Detector]

    @classmethod
    def load(cls, named: Named) -> Self:
        """Load detectors as the command line names them.

        Raises:
            ConfigError: An option is misspelt or for a detector that is not named, a detector is
                named twice, or the policy is unknown.
            PluginError: A detector is not installed or does not load.
        """
        if named.resolve_by is not None and named.resolve_by not in POLICIES:
            raise ConfigError(
                f"unknown overlap policy {named.resolve_by!r}; choose one of {', '.join(POLICIES)}"
            )
        chosen: dict[str, dict[str, Any]] = {}
        for spec in named.specs:
            name, _, model = spec.partition("=")
            if name in chosen:
                raise ConfigError(f"detector {name!r} is named twice; name it once")
            chosen[name] = {"model": model} if model else {}
        for option in named.options:
            owner, key, value = parse_option(option)
            if owner not in chosen:
                raise ConfigError(
                    f"option {option!r} is for {owner!r}, but the detectors are {', '.join(chosen)}"
                )
            chosen[owner][key] = value
        return cls(named, [plugins.load(name, options=found) for name, found in chosen.items()])

    def detect(self, chunks: Iterable[list[Note]]) -> Iterator[tuple[list[Note], list[Outcome]]]:
        """Yield each chunk with one outcome per note, in order.

        With several jobs a few chunks ahead.
        """
        return self._each(chunks, Detection.predictions)

    def apart(
        self, chunks: Iterable[list[Note]]
    ) -> Iterator[tuple[list[Note], list[list[Outcome]]]]:
        """Yield each chunk with the outcomes of each detector, which has one per note.

        Ahead as ``detect``.
        """
        return self._each(chunks, Detection.runs)

    def _each(
        self, chunks: Iterable[list[Note]], work: _Work[_T]
    ) -> Iterator[tuple[list[Note], _T]]:
        if self.named.jobs == 1:
            for chunk in chunks:
                yield chunk, work(self, chunk)
            return
        try:
            yield from stream_parts(
                partial(_run_in_worker, self.named, work), chunks, workers=self.named.jobs
            )
        except WorkerDied:
            raise DetectorError(
                "a detecting process ended early, perhaps for want of memory; use fewer --jobs"
            ) from None

    def runs(self, notes: Sequence[Note]) -> list[list[Outcome]]:
        """Return the outcomes of each detector, one per note."""
        with silence_output():  # what a detector says may quote a note
            return [run_detector(detector, notes) for detector in self.detectors]

    def predictions(self, notes: Sequence[Note]) -> list[Outcome]:
        """Return the spans of all detectors on each note, or the first failure of one."""
        sources = [detector.name for detector in self.detectors]
        runs = self.runs(notes)
        if self.named.resolve_by is not None:
            predictions = {source: by_note(run) for source, run in zip(sources, runs, strict=True)}
            ensemble = Ensemble(sources, yielding=LEAVABLE)
            by = self.named.resolve_by
            return [*resolve_all(notes, predictions, resolve_by=by, ensemble=ensemble)]
        return [
            _every_prediction(note, outcomes)
            for note, outcomes in zip(notes, zip(*runs, strict=True), strict=True)
        ]


def _every_prediction(note: Note, outcomes: Sequence[Outcome]) -> Outcome:
    failed = next((one for one in outcomes if isinstance(one, Failed)), None)
    if failed is not None:
        return failed
    return SpanSet.of(note, (span for one in outcomes if isinstance(one, SpanSet) for span in one))


@lru_cache(maxsize=1)
def _open_detection(named: Named) -> Detection:
    return Detection.load(named)


def _run_in_worker(named: Named, work: _Work[_T], notes: list[Note]) -> _T:
    return work(_open_detection(named), notes)


def versions_of(named: Named) -> dict[str, str]:
    """Return the version of each detector, with digests of its source and, where it has some, of
    model and options.
    """
    installed = plugins.available()
    versions: dict[str, str] = {}
    for spec in named.specs:
        name = spec.partition("=")[0]
        chosen = sorted(option for option in named.options if option.startswith(f"{name}."))
        given_apart = [option for option in chosen if option.startswith(f"{name}.{ENVIRONMENT}=")]
        if given_apart:
            installed[name] = plugin_in(str(parse_option(given_apart[0])[2]), name)
        version = installed[name].code_version if name in installed else ""
        given = [spec, *chosen] if "=" in spec or chosen else []
        versions[name] = (
            f"{version}, options {hashlib.sha256(repr(given).encode()).hexdigest()[:8]}"
            if given
            else version
        )
    return versions


def parse_option(option: str) -> tuple[str, str, Any]:
    """Return detector, key and value of ``NAME.KEY=VALUE``, the value read as TOML, or as text
    where it is none.

    Raises:
        ConfigError: It is not of that form.
    """
    place, equals, value = option.partition("=")
    owner, dot, key = place.partition(".")
    if not (equals and dot and key.isidentifier()):
        raise ConfigError(f"option {option!r} must read NAME.KEY=VALUE, as in rules.profile=i2b2")
    try:
        return owner, key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return owner, key, value  # a bare word is a string
