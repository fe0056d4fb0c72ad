"""Errors on purpose: spans dropped at a chosen rate, so that leaks can be drawn against recall."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from deid_assets.core.errors import InputError
from deid_assets.core.phi import Phi
from deid_assets.core.span import DisjointSpans, Span


@dataclass(frozen=True, slots=True)
class Injector:
    """Drops spans at random, the same ones for one seed.

    The draws do not depend on the share, so what is dropped at a recall of 0.99 is dropped at 0.95
    too, and curves are monotone. Spans are dropped independently of each other and of their text:
    real detectors miss what is rare or unusual, and miss it again.

    Args:
        share: Share dropped, in [0, 1].
        shares: Other shares per category.
        seed: Another seed drops others.

    Raises:
        InputError: A share is outside [0, 1].
    """

    share: float
    shares: Mapping[Phi, float] = field(default_factory=dict)
    seed: int = 1

    def __post_init__(self) -> None:
        for share in (self.share, *self.shares.values()):
            if not 0 <= share <= 1:
                raise InputError(f"a share to drop is in [0, 1], got {share}")

    def drops(self, note_id: str, span: Span) -> bool:
        """Whether a span is dropped."""
        lot = hashlib.blake2b(
            f"{self.seed}/{note_id}/{span.start}/{span.end}".encode(), digest_size=8
        ).digest()
        return int.from_bytes(lot) < self.shares.get(span.label, self.share) * 2**64

    def keep(self, spans: DisjointSpans) -> DisjointSpans:
        """Return the spans that are left."""
        left = tuple(span for span in spans if not self.drops(spans.note_id, span))
        return DisjointSpans(spans.note_id, spans.digest, left)
