"""Residual hits: the ensemble on redacted text, in a keyed draw of the notes, or in all where the draw has hits.

As in ``parts``, nothing here imports Dagster.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.assets.parts import PART_CHARS, redacted_of, split
from deid_assets.config import Gates, Settings
from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy
from deid_assets.core.resolve import Ensemble
from deid_assets.core.span import DisjointSpans, Span
from deid_assets.pipeline.resolving import by_note, resolve_all
from deid_assets.pipeline.searching import Hits, Search, hits_in
from deid_assets.quality.verdict import Verdict

if TYPE_CHECKING:
    from deid_assets.runtime.detectors import Detect
    from deid_assets.runtime.installation import Installation

CHECK = "no_residual_hits"
Texts = tuple[pa.Table, pa.Table]
"""Redacted notes and their edits, in the same order."""


def judge_search(found: Search, done: Sequence[str], gates: Gates) -> Verdict:
    """Check that no note is let through in which the ensemble found something, and that enough were searched.

    Args:
        found: The search of the batch.
        done: Ids of the notes that are let through.
        gates: The limit for notes that were not searched.
    """
    counted = [found.hits_of(note_id) for note_id in done]
    failed = sum(isinstance(hit, Failed) for hit in counted)
    left = sum(len(hit) for hit in counted if hit and not isinstance(hit, Failed))
    return Verdict(
        CHECK,
        passed=not left and not failed and (found.is_whole or found.bound <= gates.residual),
        blocking=True,
        counts={
            "notes": len(done),
            "hits": left,
            "failed": failed,
            "notes_searched": len(found.hits),
            "notes_with_hits": sum(map(bool, found.hits.values())),
            "notes_withheld": len(found.withheld(CHECK)),
            **(_of_draw(found, gates) if found.drawn < found.notes else {}),
        },
        description=_description(found, limit=gates.residual),
    ).unless(not found.hits, "no redacted note to search")


def _of_draw(found: Search, gates: Gates) -> dict[str, int | float]:
    return {
        "notes_drawn": found.drawn,
        "drawn_with_hits": found.drawn_hits,
        "upper_bound": round(found.bound, 5),
        "limit": gates.residual,
    }


def _description(found: Search, *, limit: float) -> str:
    ran = "The ensemble ran again on the redacted text of"
    again = (
        f"What it found in {sum(map(bool, found.hits.values())):,} was covered too; "
        f"{len(found.withheld(CHECK)):,} notes in which something was found again are withheld."
    )
    if found.drawn == found.notes:
        return f"{ran} all {found.notes:,} notes. {again}"
    drawn = f"{found.drawn_hits:,} of {found.drawn:,} drawn by key had hits"
    share = f"with 95 % confidence at most {found.bound:.2%} of all have"
    if found.is_whole:
        return (
            f"{ran} all {found.notes:,} notes, because {drawn}: {share}, more than {limit:.2%}."
            f" {again}"
        )
    return f"{ran} {found.drawn:,} of {found.notes:,} notes: {drawn}, {share}. {again}"


def _only(texts: Texts, chosen: npt.NDArray[np.bool_]) -> Texts:
    notes, edits = texts
    return notes.filter(pa.array(chosen)), edits.filter(
        pa.array(np.repeat(chosen, notes.column("n_edits").to_numpy()))
    )


def search(
    texts: Texts,
    note_ids: Collection[str],
    installation: Installation,
    *,
    policy: Policy,
    stage: str,
) -> Hits:
    """Return what the ensemble finds in the kept text of redacted notes, over the worker processes.

    Args:
        texts: Of the batch.
        note_ids: The notes that are searched.
        installation: The installation.
        policy: The texts were redacted with; what it keeps is no hit.
        stage: Named by failures.
    """
    chosen = pc.is_in(texts[0].column("note_id"), value_set=pa.array(note_ids, pa.string()))
    notes, edits = _only(texts, chosen.to_numpy(zero_copy_only=False))
    if not notes.num_rows:
        return {}
    ends = np.cumsum(pc.utf8_length(notes.column("text")).to_numpy())
    number = ends // PART_CHARS
    number = np.searchsorted(np.unique(number), number)
    of_edits = np.repeat(number, notes.column("n_edits").to_numpy())
    count = int(number.max()) + 1
    parts = list(zip(split(notes, number, count), split(edits, of_edits, count), strict=True))
    work = partial(search_part, policy=policy, settings=installation.settings, stage=stage)
    hits: dict[str, tuple[Span, ...] | Failed] = {}
    for found in installation.detectors.map_detecting(
        work, parts, names=installation.settings.ensemble
    ):
        hits |= found
    return hits


def search_part(
    texts: Texts, detect: Detect, *, policy: Policy, settings: Settings, stage: str
) -> Hits:
    """Return, per note, what the ensemble finds in text that was kept of the original."""
    ensemble = Ensemble(settings.ensemble, yielding=policy.keep)

    def resolved(notes: Sequence[Note]) -> list[DisjointSpans | Failed]:
        predictions = {
            name: by_note(detect(name, notes, stage=stage)) for name in settings.ensemble
        }
        return resolve_all(notes, predictions, resolve_by=settings.resolve, ensemble=ensemble)

    return hits_in(list(redacted_of(*texts)), resolved, policy)
