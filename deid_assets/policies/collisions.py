"""Surrogates that are no real value.

Of the same note always, of the batch where its values are given.

A surrogate is the first of a row of draws that is nobody's. The row follows from the key, the
patient and the value alone, and what a draw is compared with is a set, so neither the order of the
notes nor the number of workers changes the result. Nearly always the first draw is taken: a batch
of a million numbers of ten digits meets one draw in ten thousand. Then, and only then, a batch that
holds the real value writes another surrogate than one that does not. Never writing a real value
comes first; whoever needs the same surrogate over all batches as well gives every run the digests
of the whole corpus, ``merge`` from those of its batches. Names are drawn once only, and the tag
takes the place of one that is somebody's: a person who changes names between two notes is worse
than one who is not named in one.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Self

from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.policies.drawing import characters_of, fold

DIGEST_BYTES = 8
"""Two of a million values share a digest with a chance of 3 in 10^8.

Then a draw is refused that is nobody's.
"""

NUMBERS = frozenset(
    (
        Phi.NATIONAL_ID,
        Phi.MRN,
        Phi.HEALTH_PLAN,
        Phi.ACCOUNT,
        Phi.LICENSE,
        Phi.VEHICLE,
        Phi.DEVICE,
        Phi.BIOMETRIC,
        Phi.ID,
    )
)
"""Categories of numbers and codes that somebody gave out."""

IDENTIFIERS = NUMBERS | {Phi.PHONE, Phi.FAX}
"""Categories whose values are looked for among all others', whatever the category.

An account may be a record.
"""

PERSONAL = frozenset((Phi.NAME, Phi.USERNAME, Phi.EMAIL))
"""Categories whose values are one person's."""


def read_covered(note: Note, span: Span) -> str:
    """Return the text of a span."""
    return note.text[span.start : span.end]


class Originals(Container[str]):
    """Keyed digests of real values; holds no text, and eight bytes per value.

    Args:
        key: The key of the surrogates; digests under another key are of no use.
        digests: Sorted, each once.
    """

    __slots__ = ("_digests", "_secret")

    def __init__(self, key: Key, digests: array[int] | None = None) -> None:
        self._secret = key.derive("originals")
        self._digests = array("Q") if digests is None else digests

    @classmethod
    def of(
        cls,
        key: Key,
        batch: Iterable[tuple[Note, SpanSet]],
        *,
        labels: frozenset[Phi] = IDENTIFIERS,
        read: Sequence[Callable[[Note, Span], str | None]] = (read_covered,),
    ) -> Self:
        """Return the digests of the values of a batch, read once and note by note.

        Args:
            key: Of the surrogates.
            batch: Notes with their spans.
            labels: Categories whose values are looked at.
            read: What is digested of a span; ``None`` where its value is nobody's alone.
        """
        empty = cls(key)
        found = ((note, span) for note, spans in batch for span in spans if span.label in labels)
        values = (value_of(note, span) for note, span in found for value_of in read)
        return cls(
            key, array("Q", sorted({empty._digest(value) for value in values if value is not None}))
        )

    @classmethod
    def merge(cls, key: Key, parts: Iterable[Self]) -> Self:
        """Return the digests of several batches under one key."""
        return cls(key, array("Q", sorted(set().union(*(part._digests for part in parts)))))  # noqa: SLF001 - of its own class

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        digest = self._digest(value)
        place = bisect_left(self._digests, digest)
        return place < len(self._digests) and self._digests[place] == digest

    def __len__(self) -> int:
        return len(self._digests)

    def __repr__(self) -> str:
        return f"Originals({len(self)} values)"

    def _digest(self, value: str) -> int:
        made = hashlib.blake2b(normal(value).encode(), digest_size=DIGEST_BYTES, key=self._secret)
        return int.from_bytes(made.digest())


def normal(value: str) -> str:
    """Return the value for comparison: its letters and digits, folded, without separators."""
    if value.isascii():
        return characters_of(value).lower()
    return "".join(char for char in fold(value) if char.isalnum())
