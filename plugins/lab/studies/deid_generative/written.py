"""What a model makes of a note, window by window: ranges to remove, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from deid_assets.extending import Window, windows
from deid_assets.extending.measuring import Range, union
from deid_generative.reading import OutputReading, Status

OVERLAP = 8
"""A window shares this part of its length with the next, one eighth."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A range of a text to be removed.

    Args:
        start: First code point.
        end: One past the last.
        score: Probability that the model gave it, in [0, 1].
        tag: Label of a typed placeholder, or empty.
    """

    start: int
    end: int
    score: float = 1.0
    tag: str = ""


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """What became of one text.

    Args:
        status: Of the output.
        holes: To be removed, where the status can be used.
        edits: Changes outside placeholders, none of which is released.
        tokens: Written.
        steps: Runs of the network.
        output: The text itself, where a caller wants to score it; it may quote the note.
    """

    status: Status
    holes: Sequence[Hole] = ()
    edits: int = 0
    tokens: int = 0
    steps: int = 0
    output: str = field(default="", repr=False)


class OutputWriter(Protocol):
    """What writes outputs.

    Attributes:
        version: Changes whenever an output may change.
        room: Units that one text may have.
    """

    version: str
    room: int

    def units(self, text: str) -> Sequence[Range]:
        """Return the units that a text is counted in, such as tokens, as ranges."""
        ...

    def write(self, texts: Sequence[str]) -> list[WrittenOutput]:
        """Return what becomes of each text; each has room."""
        ...


def cut(text: str, backend: OutputWriter) -> list[Window]:
    """Return the windows that a text is read through, in characters; one where it fits."""
    units = backend.units(text)
    if len(units) <= backend.room:
        return [Window(0, len(text), 0, len(text))]
    found = windows(len(units), size=backend.room, overlap=backend.room // OVERLAP)

    def at(unit: int) -> int:
        if unit == 0:
            return 0
        return units[unit][0] if unit < len(units) else len(text)

    return [Window(at(one.start), at(one.end), at(one.own_start), at(one.own_end)) for one in found]


def stitch(parts: Sequence[tuple[Window, Sequence[Hole]]]) -> list[Hole]:
    """Return what windows remove, in the text's offsets.

    A window has its say where it owns a character; what overlaps is one, out to the borders of
    both, under the tag and score of the surer.
    """
    owned: list[Hole] = []
    for one, holes in parts:
        for hole in holes:
            start, end = hole.start + one.start, hole.end + one.start
            if start < one.own_end and end > one.own_start:
                owned.append(Hole(start, end, hole.score, hole.tag))
    found: list[Hole] = []
    for hole in sorted(owned, key=lambda hole: (hole.start, hole.end)):
        if found and hole.start < found[-1].end:
            surer = max(found[-1], hole, key=lambda one: one.score)
            found[-1] = Hole(found[-1].start, max(found[-1].end, hole.end), surer.score, surer.tag)
        else:
            found.append(hole)
    return found


def of_reading(
    reading: OutputReading, *, tokens: int = 0, steps: int = 0, output: str = ""
) -> WrittenOutput:
    """Return what a free output makes of a text, by its reading."""
    tags = dict(zip(reading.removed, reading.tags, strict=True))
    holes = [
        Hole(start, end, tag=tags.get((start, end), ""))
        for start, end in [*reading.removed, *reading.covered]
    ]
    usable = holes if reading.status.is_usable else []
    return WrittenOutput(
        judge_claim(reading.status, usable), usable, len(reading.edits), tokens, steps, output
    )


def judge_claim(status: Status, holes: Sequence[Hole]) -> Status:
    """Return what an output claims.

    One that removes nothing says that there is nothing, whatever was written.
    """
    return Status.ANONYMOUS if status is Status.REWRITTEN and not holes else status


def find_doubted(
    cuts: Sequence[Window], outputs: Sequence[WrittenOutput], found: Sequence[Range]
) -> list[Window]:
    """Return the windows in which a model found less than another detector.

    It removes fewer ranges, or touches less than half of the other's: as many words that are no
    identifiers would hide a copy.

    Args:
        cuts: The windows.
        outputs: What became of each.
        found: By the other detector.
    """
    merged = union(found)
    doubts = []
    for one, written in zip(cuts, outputs, strict=True):
        places = [place for place in merged if is_in(one, place)]
        touched = sum(any(_touches(one, hole, place) for hole in written.holes) for place in places)
        if len(written.holes) < len(places) or 2 * touched < len(places):
            doubts.append(one)
    return doubts


def _touches(window: Window, hole: Hole, place: Range) -> bool:
    return hole.start + window.start < place[1] and place[0] < hole.end + window.start


def is_in(window: Window, place: Range) -> bool:
    """Whether a window has any character of a range."""
    return place[0] < window.end and window.start < place[1]
