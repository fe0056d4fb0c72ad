"""Where the placeholders of an output stand in its source, exactly, also where other words were
changed.

First the plain reading is tried: what stands between the placeholders stands in the source, in this
order and to the last character. Where that fails, words are aligned at the lowest cost, and a
stretch between two words that match is read plainly again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from deid_assets.extending.measuring import Range, is_touched, union
from deid_generative.costs import DELETED, EMPTY_HOLE, HOLE, INSERTED, MATCH, Step, cheapest
from deid_generative.placeholders import TextUnit, words


@dataclass(frozen=True, slots=True)
class OutputEdit:
    """A stretch of the source, outside what was removed, that the output has otherwise.

    Args:
        start: First code point in the source; ``start == end`` where words were inserted.
        end: One past the last.
        output_start: First code point in the output.
        output_end: One past the last.
    """

    start: int
    end: int
    output_start: int
    output_end: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """An output laid over its source.

    Args:
        removed: What each placeholder stands for, in order, without blanks at its ends.
        tags: The placeholder of each.
        edits: What else differs, blanks apart.
        kept: Source words that stand in the output as they were.
        words: Source words outside what was removed.
        spurious: Placeholders that stand for nothing.
    """

    removed: list[Range] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    edits: list[OutputEdit] = field(default_factory=list)
    kept: int = 0
    words: int = 0
    spurious: int = 0


def align(source: str, output: str) -> Alignment:
    """Return how an output lies over its source.

    Raises:
        DetectorError: The two differ so much over so many words that it would take too long to
            tell.
    """
    before, after = words(source), words(output)
    exact = _plain(source, output, [word for word in after if word.is_hole], 0, 0)
    if exact is not None:
        found = _Found(source)
        holes = [word for word in after if word.is_hole]
        for place, hole in zip(exact, holes, strict=True):
            found.remove(place, hole.text)
        return found.close(before, kept=None, holes=len(holes))
    return _Costed(source, output, before, after).alignment()


def _plain(
    source: str, output: str, holes: Sequence[TextUnit], start: int, out_start: int
) -> list[Range] | None:
    """Return what each placeholder stands for if all between them is in the source to the last
    character.

    Args:
        source: The source, or a stretch of it.
        output: The output, or a stretch of it.
        holes: Its placeholders, with offsets of the whole output.
        start: Where the stretch begins in the whole source.
        out_start: Where it begins in the whole output.
    """
    borders = [0, *(at - out_start for hole in holes for at in (hole.start, hole.end)), len(output)]
    literals = [output[borders[n] : borders[n + 1]] for n in range(0, len(borders), 2)]
    if not holes:
        return [] if source == output else None
    if not source.startswith(literals[0]) or not source.endswith(literals[-1]):
        return None
    cursor, last = len(literals[0]), len(source) - len(literals[-1])
    ranges: list[Range] = []
    for literal in literals[1:-1]:
        at = source.find(literal, cursor + 1, last) if literal else -1
        if at < 0:
            return None
        ranges.append((start + cursor, start + at))
        cursor = at + len(literal)
    if cursor >= last:
        return None
    return [*ranges, (start + cursor, start + last)]


def trim(text: str, place: Range) -> Range | None:
    """Return a range without blanks at its ends; ``None`` where there is nothing else."""
    start, end = place
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


@dataclass(slots=True)
class _Found:
    """An alignment while it is read."""

    source: str
    removed: list[Range] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    edits: list[OutputEdit] = field(default_factory=list)

    def remove(self, place: Range, tag: str) -> None:
        inner = trim(self.source, place)
        if inner is not None and self.source[slice(*inner)] != tag:
            self.removed.append(inner)
            self.tags.append(tag)

    def close(self, before: Sequence[TextUnit], *, kept: int | None, holes: int) -> Alignment:
        """Return the alignment.

        Where ``kept`` is not given, all source words outside what was removed were kept.
        """
        cover = union(self.removed)
        outside = sum(not is_touched((word.start, word.end), cover) for word in before)
        kept = outside if kept is None else min(kept, outside)
        return Alignment(
            self.removed, self.tags, self.edits, kept, outside, holes - len(self.removed)
        )


class _Costed:
    """The cheapest alignment of words."""

    def __init__(
        self, source: str, output: str, before: Sequence[TextUnit], after: Sequence[TextUnit]
    ) -> None:
        self._source, self._output, self._before, self._after = source, output, before, after

    def alignment(self) -> Alignment:
        found = _Found(self._source)
        kept = 0
        for run in _runs(self._steps()):
            if run[0][0] == MATCH:
                kept += 1
            else:
                self._read(run, found)
        return found.close(self._before, kept=kept, holes=sum(word.is_hole for word in self._after))

    def _steps(self) -> list[Step]:
        """Return the steps from the first word to the last.

        What both begin and end with is matched at once.
        """
        before, after = self._before, self._after
        least = min(len(before), len(after))
        head = next((n for n in range(least) if not _is_same(before[n], after[n])), least)
        most = least - head
        tail = next((n for n in range(most) if not _is_same(before[-1 - n], after[-1 - n])), most)
        steps = [(MATCH, n, n, n) for n in range(head)]
        steps += cheapest(before[head : len(before) - tail], after[head : len(after) - tail], head)
        return steps + [
            (MATCH, len(before) - n, len(before) - n, len(after) - n) for n in range(tail, 0, -1)
        ]

    def _read(self, run: Sequence[Step], found: _Found) -> None:
        """Add what a run of steps between two matching words removes and changes."""
        place, out_place = self._stretch(run)
        holes = [self._after[step[3]] for step in run if step[0] in {HOLE, EMPTY_HOLE}]
        if holes and any(step[0] != HOLE for step in run):
            parts = self._source[slice(*place)], self._output[slice(*out_place)]
            exact = _plain(*parts, holes, place[0], out_place[0])
            if exact is not None:
                for where, hole in zip(exact, holes, strict=True):
                    found.remove(where, hole.text)
                return
        for kind, first, last, at in run:
            if kind == HOLE:
                where = self._before[first].start, self._before[last].end
                found.remove(where, self._after[at].text)
        found.edits.extend(self._edits(run))

    def _stretch(self, run: Sequence[Step]) -> tuple[Range, Range]:
        """Return the code points between the words that match on both sides."""
        sources: list[int] = []
        for kind, first, last, _ in run:
            if kind not in {INSERTED, EMPTY_HOLE}:
                sources += (first, last)
        outputs = [at for kind, _, _, at in run if kind != DELETED]
        first = last = run[0][1]
        if sources:
            first, last = min(sources), max(sources) + 1
        out_first = out_last = run[0][3]
        if outputs:
            out_first, out_last = min(outputs), max(outputs) + 1
        place = _end_before(self._before, first), _start_of(self._before, last, self._source)
        out_place = (
            _end_before(self._after, out_first),
            _start_of(self._after, out_last, self._output),
        )
        return trim(self._source, place) or place, trim(self._output, out_place) or out_place

    def _edits(self, run: Sequence[Step]) -> Iterator[OutputEdit]:
        """Yield the changes of a run, those that touch as one."""
        group: list[Step] = []
        for step in [*run, (HOLE, 0, 0, 0)]:
            if step[0] not in {HOLE, EMPTY_HOLE}:
                group.append(step)
            elif group:
                yield self._edit(group)
                group = []

    def _edit(self, group: Sequence[Step]) -> OutputEdit:
        sources = [self._before[n] for kind, n, _, _ in group if kind != INSERTED]
        outputs = [self._after[at] for kind, _, _, at in group if kind != DELETED]
        start = sources[0].start if sources else _start_of(self._before, group[0][1], self._source)
        end = sources[-1].end if sources else start
        out_start = (
            outputs[0].start if outputs else _start_of(self._after, group[0][3], self._output)
        )
        return OutputEdit(start, end, out_start, outputs[-1].end if outputs else out_start)


def _is_same(word: TextUnit, other: TextUnit) -> bool:
    return not word.is_hole and not other.is_hole and word.text == other.text


def _end_before(found: Sequence[TextUnit], index: int) -> int:
    return found[index - 1].end if 0 < index <= len(found) else 0


def _start_of(found: Sequence[TextUnit], index: int, text: str) -> int:
    return found[index].start if index < len(found) else len(text)


def _runs(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Yield each match alone, and what is between two matches together."""
    run: list[Step] = []
    for step in steps:
        if step[0] != MATCH:
            run.append(step)
            continue
        if run:
            yield run
        run = []
        yield [step]
    if run:
        yield run
