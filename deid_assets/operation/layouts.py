"""Layouts of notes: how their lines look, as numbers without words, and clusters of them.

A note is a point with a figure from 0 to 1 for each of ``FEATURES``. The notes of a batch become
some clusters, each a centre and how many notes are near it; nothing else is kept of them. A note
whose cluster is far from every cluster of the batches before has a new layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log1p
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

RADIUS = 0.45
"""Further than so from a centre is another layout."""
MOST = 200
"""Clusters that are kept of all batches; what comes after them joins the nearest."""
MOST_OF_BATCH = 40
_DIGITS = 2
"""Of a centre's figures: more would tell single notes apart."""
_LABEL = re.compile(r"\s*[^\W\d_][^:\n]{0,40}:(\s|$)")
_LIST = re.compile(r"\s*([-*•‣◦]|[0-9]{1,2}[.)]|[A-Za-z][.)])\s")
_CELLS = re.compile(r"\S(\t| *\| *| {3,})(?=\S)")
_INDENTED = re.compile(r"\t| {2}")
_MOST_CHARS = 100_000
"""Of a note that are looked at."""
_SHORT, _WORDS_OF_PROSE, _WIDEST, _MOST_LINES = 25, 8, 1_000, 2_000
_LETTERS_OF_HEADING, _CHARS_OF_HEADING = 3, 60
_WRAPPED = 0.85


def _is_heading(line: str) -> bool:
    letters = sum(map(str.isalpha, line))
    is_wide = letters >= _LETTERS_OF_HEADING and len(line.strip()) <= _CHARS_OF_HEADING
    return is_wide and line == line.upper() and line != line.lower()


_OF_LINE: Mapping[str, Callable[[str], bool]] = {
    "labels": lambda line: _LABEL.match(line) is not None,
    "capital_lines": _is_heading,
    "tables": lambda line: len(_CELLS.findall(line)) > 1,
    "lists": lambda line: _LIST.match(line) is not None,
    "prose": lambda line: len(line.split()) >= _WORDS_OF_PROSE,
    "short": lambda line: len(line.strip()) < _SHORT,
    "indented": lambda line: _INDENTED.match(line) is not None,
}
"""What a line is, for the share of lines that are."""
FEATURES = (
    *_OF_LINE,
    *("empty", "width", "spread", "wrapped", "lines", "capitals", "digits", "marks"),
)


def layout_of(text: str) -> tuple[float, ...]:
    """Return how the lines of a text look: a figure from 0 to 1 for each of ``FEATURES``."""
    text = text[:_MOST_CHARS]
    every = text.splitlines()
    lines = [line for line in every if line.strip()]
    if not lines:
        return (0.0,) * len(FEATURES)
    widths = [len(line.rstrip()) for line in lines]
    mean = sum(widths) / len(widths)
    deviation = (sum((width - mean) ** 2 for width in widths) / len(widths)) ** 0.5
    return (
        *(sum(map(holds, lines)) / len(lines) for holds in _OF_LINE.values()),
        1 - len(lines) / len(every),
        min(1.0, log1p(mean) / log1p(_WIDEST)),
        min(1.0, deviation / mean / 2),
        _measure_wrapped(widths),
        min(1.0, log1p(len(lines)) / log1p(_MOST_LINES)),
        *_of_characters(text),
    )


def _measure_wrapped(widths: Sequence[int]) -> float:
    """Return the share of lines that end near the widest of several."""
    edge = max(widths)
    near = sum(width >= _WRAPPED * edge for width in widths)
    return near / len(widths) if len(widths) > 1 else 0.0


def _of_characters(text: str) -> tuple[float, float, float]:
    """Return the shares of capitals among letters, and of digits and marks among all but blanks."""
    shown = "".join(text.split())
    letters = sum(map(str.isalpha, shown))
    digits = sum(map(str.isdigit, shown))
    marks = len(shown) - letters - digits
    capitals = sum(map(str.isupper, shown))
    return (
        capitals / letters if letters else 0.0,
        min(1.0, 2 * digits / len(shown)),
        min(1.0, 2 * marks / len(shown)),
    )


Clusters = Sequence[Sequence[float]]
"""Of a batch: each how many notes, and its centre."""


@dataclass(slots=True)
class LayoutClusters:
    """Clusters that grow one point at a time.

    Args:
        most: Clusters. Until there are as many, a point further than half of ``RADIUS`` from
            every centre begins one of its own; then it joins the nearest however far.
    """

    most: int = MOST
    _centres: Any = field(default=None, repr=False)
    _notes: list[float] = field(default_factory=list, repr=False)

    def distance(self, point: Sequence[float]) -> float:
        """Return how far the nearest centre is; without any, infinity."""
        return self._nearest(point)[1]

    def add(self, point: Sequence[float], notes: float = 1) -> None:
        """Add some notes at a point: to the nearest cluster, or as a new one."""
        import numpy as np  # noqa: PLC0415 - the graph is loaded without it

        at, distance = self._nearest(point)
        if self._centres is None:
            self._centres = np.empty((self.most, len(point)))
        if distance > RADIUS / 2 and len(self._notes) < self.most:
            self._centres[len(self._notes)] = point
            self._notes.append(notes)
            return
        self._notes[at] += notes
        self._centres[at] += (np.asarray(point) - self._centres[at]) * notes / self._notes[at]

    def rows(self) -> list[list[float]]:
        """Return the clusters, the largest first, with rounded centres."""
        found = [
            [notes, *(round(float(figure), _DIGITS) for figure in self._centres[at])]
            for at, notes in enumerate(self._notes)
        ]
        return sorted(found, key=lambda row: (-row[0], row))

    def _nearest(self, point: Sequence[float]) -> tuple[int, float]:
        import numpy as np  # noqa: PLC0415 - the graph is loaded without it

        if not self._notes:
            return 0, float("inf")
        gaps: npt.NDArray[np.float64] = self._centres[: len(self._notes)] - np.asarray(point)
        squares = np.einsum("ij,ij->i", gaps, gaps)
        at = int(squares.argmin())
        return at, float(squares[at] ** 0.5)


def cluster_layouts(texts: Iterable[str]) -> list[list[float]]:
    """Return the clusters of the notes of a batch, each as its size and its centre."""
    clusters = LayoutClusters(MOST_OF_BATCH)
    for text in texts:
        clusters.add(layout_of(text))
    return clusters.rows()


def new_layout_shares(batches: Sequence[Clusters]) -> list[float]:
    """Return for each batch the share of its notes whose layout no batch before it had.

    Args:
        batches: Clusters of each, in the order of arrival.

    Returns:
        1 for the first that has notes, and 0 for those without.
    """
    known = LayoutClusters()
    shares: list[float] = []
    for clusters in batches:
        notes = sum(row[0] for row in clusters)
        new = sum(row[0] for row in clusters if known.distance(row[1:]) > RADIUS)
        shares.append(new / notes if notes else 0.0)
        for row in clusters:
            known.add(row[1:], row[0])
    return shares
