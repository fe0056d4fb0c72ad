"""Synthetic corpora that plugins make after a site's annotated notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid_assets.core.trainer import Document


@dataclass(frozen=True, slots=True)
class CopyGate:
    """A limit on what a corpus may have of its source.

    Args:
        holds: Whether it is kept.
        said: Figure and limit, in words; no text of a note.
    """

    holds: bool
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticCorpus:
    """Notes made after a site's, and what was measured of them.

    Args:
        documents: The notes with gold.
        asked_for: How many were to be made.
        ngrams: On the n-grams of the source that they have, above those of who never saw it.
        passages: On the longest passage of one patient.
        near: On the notes nearest to one of a patient.
        report: What was learnt of the source and measured, as JSON; no text of a note.
        counts: Numbers for the receipt.
    """

    documents: Sequence[Document] = field(repr=False)
    asked_for: int
    ngrams: CopyGate
    passages: CopyGate
    near: CopyGate
    report: Mapping[str, Any] = field(repr=False)
    counts: Mapping[str, int | float | str] = field(default_factory=dict)
