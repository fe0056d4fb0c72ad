"""Redaction: replace spans and leave every other character as it was, with a map between the two
texts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Protocol

from deid_assets.core.errors import OffsetError, PolicyError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span


@dataclass(slots=True)
class Context:
    """Context that a replacer may use besides the covered text; made for each note.

    Args:
        note: The note being redacted.
        key: Secret for keyed replacers.
        numbers: Counters and assignments that live as long as the note, for numbered tags.
        policy: The policy being carried out, for values that hold another category's, such as a
            birth date.
        spans: The note's spans, whose values a surrogate must not be.
        originals: The batch's values, whose value a surrogate must not be either.
        fallbacks: Per category, how often the tag stands because the policy's action could not be
            carried out.
    """

    note: Note = field(repr=False)
    key: Key = field(repr=False)
    numbers: dict[object, int] = field(default_factory=dict, repr=False)
    policy: Policy | None = field(default=None, repr=False)
    spans: DisjointSpans | None = field(default=None, repr=False)
    originals: Container[str] = field(default=(), repr=False)
    fallbacks: dict[Phi, int] = field(default_factory=dict)


class Replacer(Protocol):
    """Callable that returns the replacement of one span.

    Deterministic for one key, and never its input.

    A replacer whose answer depends on the value, such as the over-89 age rule, may give its input
    back if it has the attribute ``may_keep = True``. One that takes more than the span has a method
    ``borders(text) -> list[int]``, sorted: what stands between the two borders around the span is
    replaced.
    """

    def __call__(self, text: str, span: Span, context: Context) -> str:
        """Return what stands in place of ``text``."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """A redaction policy: the action for each category.

    A category that is not named is redacted by the default.

    Args:
        name: Part of the asset key, ``^[a-z][a-z0-9_]{0,40}$``.
        default: Used for every category that ``actions`` and ``keep`` do not name.
        actions: Replacer per category.
        keep: Categories left as they are; each has to be written out.
        digest: SHA-256 of the policy's content, recorded with every release.

    Raises:
        PolicyError: A category is both kept and replaced.
    """

    name: str
    default: Replacer
    actions: Mapping[Phi, Replacer] = field(default_factory=dict)
    keep: frozenset[Phi] = frozenset()
    digest: str = ""

    def __post_init__(self) -> None:
        if both := self.keep & self.actions.keys():
            raise PolicyError(
                f"policy {self.name!r}: {', '.join(sorted(both))} both kept and replaced;"
                " choose one"
            )

    @property
    def may_leave(self) -> frozenset[Phi]:
        """Categories of which a value may stand in the redacted text.

        Kept ones, and those judged by their value.
        """
        return self.keep | {
            label for label in Phi if getattr(self.action(label), "may_keep", False)
        }

    def action(self, label: Phi) -> Replacer | None:
        """The replacer of a category, or ``None`` where it is kept."""
        return None if label in self.keep else self.actions.get(label, self.default)


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """One replacement: ``[start, end)`` of the original became ``[new_start, new_end)`` of the
    redacted text.
    """

    start: int
    end: int
    new_start: int
    new_end: int
    label: Phi


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted note and the map between its offsets and the original's.

    Args:
        note_id: Of the note.
        text: What may leave.
        edits: One per replacement, in order.
        fallbacks: Per category, how many replacements are tags because the policy's action could
            not be carried out.
    """

    note_id: str
    text: str = field(repr=False)
    edits: tuple[Edit, ...]
    fallbacks: Mapping[Phi, int] = field(default_factory=dict)

    def to_redacted(self, offset: int) -> int:
        """Map an original offset; inside a replaced span it becomes the replacement's start."""
        return _shift(offset, self.edits, _ORIGINAL, _REDACTED)

    def to_original(self, offset: int) -> int:
        """Map a redacted offset; inside a replacement it becomes the replaced span's start."""
        return _shift(offset, self.edits, _REDACTED, _ORIGINAL)


_Range = Callable[[Edit], tuple[int, int]]
_ORIGINAL: _Range = attrgetter("start", "end")
_REDACTED: _Range = attrgetter("new_start", "new_end")


def redact(
    note: Note, spans: DisjointSpans, policy: Policy, *, key: Key, originals: Container[str] = ()
) -> Redacted:
    """Return the note with each span replaced as the policy says.

    Where a replacer takes more than its span, spans in what it takes have no edit of their own.

    Args:
        note: The note.
        spans: What is replaced.
        policy: What with.
        key: For keyed replacers.
        originals: Values that no surrogate may be, such as those of the whole batch.

    Raises:
        DigestError: The spans were made for another text.
        OffsetError: A span ends after the note does.
        PolicyError: A replacer returned its input for a category the policy does not keep.
    """
    spans.check_against(note)
    context = Context(note, key, policy=policy, spans=spans, originals=originals)
    parts: list[str] = []
    edits: list[Edit] = []
    cursor = size = 0
    actions = {label: policy.action(label) for label in {span.label for span in spans}}
    for span in _widen(note.text, spans, actions):
        replacer = actions[span.label]
        if replacer is None:
            continue
        kept, original = note.text[cursor : span.start], note.text[span.start : span.end]
        replacement = replacer(original, span, context)
        if replacement == original and not getattr(replacer, "may_keep", False):
            raise PolicyError(
                f"note {note.note_id!r}: policy {policy.name!r} left {span.label} [{span.start},"
                f" {span.end}) unchanged; write it under keep if that is meant"
            )
        parts += (kept, replacement)
        new_start = size + len(kept)
        size = new_start + len(replacement)
        edits.append(Edit(span.start, span.end, new_start, size, span.label))
        cursor = span.end
    parts.append(note.text[cursor:])
    return Redacted(note.note_id, "".join(parts), tuple(edits), context.fallbacks)


def _widen(
    text: str, spans: DisjointSpans, actions: Mapping[Phi, Replacer | None]
) -> Iterable[Span]:
    """Return the spans, sorted and disjoint.

    Those of a replacer with borders reach to the borders around them.
    """
    finders = {label: getattr(replacer, "borders", None) for label, replacer in actions.items()}
    found = {
        finder: _outside(finder(text), spans)
        for finder in set(finders.values())
        if finder is not None
    }
    if not found:
        return spans
    borders = {label: found[finder] for label, finder in finders.items() if finder is not None}
    wide: list[Span] = []
    for span in spans:
        grown = _grow(span, borders[span.label], len(text)) if span.label in borders else span
        while wide and grown.start < wide[-1].end:
            last = wide.pop()
            taker = last if last.label in borders else grown
            grown = replace(taker, start=min(last.start, grown.start), end=max(last.end, grown.end))
        wide.append(grown)
    return wide


def _outside(borders: Iterable[int], spans: DisjointSpans) -> list[int]:
    """Return the borders that no span reaches over."""
    starts = [span.start for span in spans]
    before = ((border, bisect_left(starts, border) - 1) for border in borders)
    return [border for border, place in before if place < 0 or spans.spans[place].end <= border]


def _grow(span: Span, borders: list[int], size: int) -> Span:
    before, after = bisect_right(borders, span.start), bisect_left(borders, span.end)
    start = borders[before - 1] if before else 0
    return replace(span, start=start, end=borders[after] if after < len(borders) else size)


def _shift(offset: int, edits: Sequence[Edit], source: _Range, target: _Range) -> int:
    if offset < 0:
        raise OffsetError(f"offset {offset} is negative")
    before = bisect_right(edits, offset, key=lambda edit: source(edit)[0]) - 1
    if before < 0:
        return offset
    (start, end), (new_start, new_end) = source(edits[before]), target(edits[before])
    if start <= offset < end:
        return new_start
    return offset - end + new_end
