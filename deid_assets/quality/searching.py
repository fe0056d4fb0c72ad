"""The verdict on what the ensemble found in redacted text."""

from __future__ import annotations

from collections.abc import Sequence

from deid_assets.config import Gates
from deid_assets.core.detector import Failed
from deid_assets.pipeline.batch import SearchResult
from deid_assets.pipeline.searching import upper_bound
from deid_assets.quality.verdict import Verdict

CHECK = "no_residual_hits"


def search_verdict(found: SearchResult, done: Sequence[str], gates: Gates) -> Verdict:
    """Check that no note with a find is let through, and that enough notes were searched.

    Args:
        found: The search of the batch.
        done: Ids of the notes that are let through.
        gates: The limit for notes that were not searched.
    """
    bound = upper_bound(found.drawn_hits, found.drawn)
    counted = [found.hits_of(note_id) for note_id in done]
    failed = sum(isinstance(hit, Failed) for hit in counted)
    left = sum(len(hit) for hit in counted if hit and not isinstance(hit, Failed))
    return Verdict(
        CHECK,
        passed=not left and not failed and (found.is_whole or bound <= gates.residual),
        blocking=True,
        counts={
            "notes": len(done),
            "hits": left,
            "failed": failed,
            "notes_searched": len(found.hits),
            "notes_with_hits": sum(map(bool, found.hits.values())),
            "notes_withheld": len(found.withheld(CHECK)),
            **(_of_draw(found, bound, gates) if found.drawn < found.notes else {}),
        },
        description=_description(found, bound, limit=gates.residual),
    ).unless(not found.hits, "no redacted note to search")


def _of_draw(found: SearchResult, bound: float, gates: Gates) -> dict[str, int | float]:
    return {
        "notes_drawn": found.drawn,
        "drawn_with_hits": found.drawn_hits,
        "upper_bound": round(bound, 5),
        "limit": gates.residual,
    }


def _description(found: SearchResult, bound: float, *, limit: float) -> str:
    ran = "The ensemble ran again on the redacted text of"
    again = (
        f"What it found in {sum(map(bool, found.hits.values())):,} was covered too; "
        f"{len(found.withheld(CHECK)):,} notes in which something was found again are withheld."
    )
    if found.drawn == found.notes:
        return f"{ran} all {found.notes:,} notes. {again}"
    drawn = f"{found.drawn_hits:,} of {found.drawn:,} drawn by key had hits"
    share = f"with 95 % confidence at most {bound:.2%} of all have"
    if found.is_whole:
        return (
            f"{ran} all {found.notes:,} notes, because {drawn}: {share}, more than {limit:.2%}."
            f" {again}"
        )
    return f"{ran} {found.drawn:,} of {found.notes:,} notes: {drawn}, {share}. {again}"
