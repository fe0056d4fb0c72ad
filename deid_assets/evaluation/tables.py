"""Tables that a plugin makes of its own detectors, over the notes with gold of an installation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A number of a row, with its 95 % interval where there is one.

    Args:
        system: What was scored.
        lang: In notes of which language.
        name: Of the number.
        value: It; ``None`` where nothing was to be counted.
        low: Lower end of the interval.
        high: Upper end.
        notes: How many it is of.
    """

    system: str
    lang: str
    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    notes: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot as PNG."""

    title: str
    png: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class DetectorTable:
    """The result of a table maker.

    Args:
        scores: A row of the table per system and language, a column per name, in the order in which
            they come.
        pictures: Plots.
        counts: Of notes and the like, among them those left out, each under its reason.
    """

    scores: Sequence[Score]
    pictures: Sequence[Picture] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


TableMaker = Callable[
    [Mapping[str, Mapping[str, Any]], Sequence[Document], Mapping[str, Sequence[SpanSet]]],
    DetectorTable,
]
"""Function of the plugin's detectors by name with their options, annotated notes, and the spans
that other detectors found in these; what an entry point in the group ``deid_assets.tables`` names.
"""
