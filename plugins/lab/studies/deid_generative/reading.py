"""What an output says.

A parser for well-formed and malformed ones, and the guard that holds it to the source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from deid_assets.extending import DetectorError
from deid_assets.extending.measuring import Range, union
from deid_generative.align import Alignment, OutputEdit, align
from deid_generative.placeholders import words


class Status(StrEnum):
    """What became of an output. Only the first two may be used."""

    REWRITTEN = "rewritten"
    ANONYMOUS = "anonymous"
    """It says that there is nothing to remove."""
    EMPTY = "empty"
    TRUNCATED = "truncated"
    """It was cut off before its end."""
    CONFLICT = "conflict"
    """It says that there is nothing to remove, and removes something."""
    ECHOED = "echoed"
    """It says that there is nothing to remove, in a word that the note itself has.

    The note may have said it.
    """
    REFUSED = "refused"
    """The model declines."""
    UNLIKE = "unlike"
    """It is another text than the note."""
    NO_ANSWER = "no_answer"
    """The server gave none, or something else than an answer."""
    SWALLOWED = "swallowed"
    """A placeholder stands for more than an identifier can be."""

    @property
    def is_usable(self) -> bool:
        """Whether spans may be made of it."""
        return self in {Status.REWRITTEN, Status.ANONYMOUS}


@dataclass(frozen=True, slots=True)
class Limits:
    """Beyond which an output is not trusted.

    Args:
        kept: Least share of the source words outside placeholders that it has, in (0, 1].
        added: Most words that it adds, as a share of the source's.
        longest: Most characters that a placeholder stands for.
    """

    kept: float = 0.7
    added: float = 0.3
    longest: int = 300


@dataclass(frozen=True, slots=True)
class OutputReading:
    """An output read against its source.

    Args:
        status: What became of it.
        removed: Source ranges of the placeholders, in order.
        tags: The placeholder of each.
        covered: Source ranges that the output dropped or replaced without a placeholder, and that
            may identify: they are to be covered too, as the model may have removed them in its own
            way.
        edits: Whatever the output changed outside placeholders; nothing of it reaches the released
            text.
    """

    status: Status
    removed: list[Range] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    covered: list[Range] = field(default_factory=list)
    edits: list[OutputEdit] = field(default_factory=list)

    @property
    def cover(self) -> list[Range]:
        """Ranges to remove, sorted, without overlap."""
        return union([*self.removed, *self.covered])


_SPECIAL = re.compile(r"</?s>|<\|[a-z_]{1,30}\|>|<(?:end|start)_of_turn>|\[/?INST\]|<eos>|\ufeff")
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[a-z]*\n?(.*?)\n?```", re.DOTALL)
_ANONYMOUS = re.compile(r"[\W_]*anonym(?:ous|e|is[eé]e?|ized|ised)?[\W_]*", re.IGNORECASE)
_SAYS_ANONYMOUS = re.compile(r"\banonym(?:ous|e|is[eé]e?|ized|ised)?\b", re.IGNORECASE)
_LABEL = re.compile(r"\s*#*\s*[^\n:.]{0,60}:[ \t]*\n?")
_REFUSAL = re.compile(
    r"\b(?:sorry|cannot|can't|unable to|as an ai|désolée?|ne (?:peux|puis) pas|lo siento|kann"
    r" (?:ich )?nicht)\b",
    re.IGNORECASE,
)
_QUOTES = ('"', "'", "`", "\u00ab\u00bb", "\u201c\u201d", "\u201d", "\u2019")
_IDENTIFYING = re.compile(
    r"[^\W\d_]*[A-ZÀ-ÖØ-ÞŽŠŒ]\w*|\w*\d{5,}\w*|\d+\W\d+\W\d+|\S+@\S+|\w*\d\w*[^\W\d_]\w*\d\w*"
)
"""A word with a capital, a long number, a date, an address of mail, letters between digits."""


def read_output(
    source: str, output: str, *, finished: bool = True, limits: Limits | None = None
) -> OutputReading:
    """Return what an output removes from its source, or why it is of no use.

    Args:
        source: What the model was given.
        output: What it wrote.
        finished: Whether it came to its own end.
        limits: Beyond which it is not trusted.
    """
    limits = limits or Limits()
    if not source.strip():
        return OutputReading(Status.REWRITTEN)  # there is nothing to remove, whatever was written
    if not finished:
        return OutputReading(Status.TRUNCATED)
    bare = _SPECIAL.sub("", _THINKING.sub("", output)).strip()
    if not bare:
        return OutputReading(Status.EMPTY)
    if _ANONYMOUS.fullmatch(bare.partition("\n")[0]) or _ANONYMOUS.fullmatch(_unwrap(bare)):
        return _anonymous(source, bare)
    best = _closest(source, bare, limits)
    return _guard(source, bare, best, limits) if best else OutputReading(_classify(bare))


def _closest(source: str, bare: str, limits: Limits) -> Alignment | None:
    """Return the alignment that changes the source least; none where nothing can be laid over."""
    fitting = (text for text in _candidates(bare, source, limits) if _fits(source, text, limits))
    try:
        return min((align(source, text) for text in fitting), key=_change, default=None)
    except DetectorError:
        return None


def _anonymous(source: str, bare: str) -> OutputReading:
    rest = bare.partition("\n")[2]
    if any(word.is_hole for word in words(rest)):
        return OutputReading(Status.CONFLICT)
    if _SAYS_ANONYMOUS.search(source):
        return OutputReading(Status.ECHOED)
    return OutputReading(Status.ANONYMOUS)


def _fits(source: str, text: str, limits: Limits) -> bool:
    """Whether a text is short enough to be the note rewritten, told without laying it over it.

    Whatever it has beyond the source's own characters it added.
    """
    added = _visible(text) - _visible(source)
    return added <= limits.added * len(source) + _SLACK


def _visible(text: str) -> int:
    """Return the characters of a text that are neither blanks nor in placeholders."""
    return sum(len(word.text) for word in words(text) if not word.is_hole)


def _classify(bare: str) -> Status:
    return Status.REFUSED if _REFUSAL.search(bare) else Status.UNLIKE


def _candidates(bare: str, source: str, limits: Limits) -> Iterator[str]:
    """Yield what may be the rewritten note within an output; the output as it is first."""
    yield bare
    if not _fits(source, bare, limits) or align(source, bare).edits:
        yield from dict.fromkeys(found for found in _inner(bare) if found and found != bare)


def _inner(bare: str) -> Iterator[str]:
    for match in _FENCE.finditer(bare):
        yield match[1].strip()
    inner = _unwrap(bare)
    label = _LABEL.match(inner)
    body = inner[label.end() :].strip() if label else inner
    for text in dict.fromkeys((inner, body)):
        before, blank, _ = text.rpartition("\n\n")
        for found in (text, before.strip() if blank else text):
            yield found
            yield _unwrap(found)


def _unwrap(text: str) -> str:
    """Return a text out of its quotation marks, or out of the one string of a JSON object."""
    if text.startswith("{") and text.endswith("}"):
        try:
            values = [value for value in json.loads(text).values() if isinstance(value, str)]
        except (ValueError, AttributeError, RecursionError):
            return text
        return values[0].strip() if len(values) == 1 else text
    for marks in _QUOTES:
        if len(text) > 1 and text[0] == marks[0] and text[-1] == marks[-1]:
            return text[1:-1].strip()
    return text


def _change(found: Alignment) -> tuple[int, int]:
    """Return how many characters an alignment takes for changed, and how many for removed."""
    changed = sum(
        edit.end - edit.start + edit.output_end - edit.output_start for edit in found.edits
    )
    return changed, sum(end - start for start, end in found.removed)


def _guard(source: str, bare: str, found: Alignment, limits: Limits) -> OutputReading:
    added = sum(edit.output_end - edit.output_start for edit in found.edits)
    too_long = added > limits.added * len(source) + _SLACK
    if (
        (found.words and found.kept < limits.kept * found.words)
        or too_long
        or not (found.kept or found.removed)
    ):
        return OutputReading(_classify(bare), edits=found.edits)
    if any(end - start > limits.longest for start, end in found.removed):
        return OutputReading(Status.SWALLOWED, edits=found.edits)
    covered = [
        (edit.start, edit.end)
        for edit in found.edits
        if _may_identify(source[edit.start : edit.end])
    ]
    return OutputReading(Status.REWRITTEN, found.removed, found.tags, covered, found.edits)


_SLACK = 30
"""Characters that may be added to a note however short it is."""


def _may_identify(text: str) -> bool:
    """Whether what the output dropped or replaced may have been removed as an identifier.

    Words in lower case and short numbers, such as a dose, are put back.
    """
    return _IDENTIFYING.search(text) is not None
