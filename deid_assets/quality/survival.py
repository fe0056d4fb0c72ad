"""The verdict on what is left of known values in redacted notes."""

from __future__ import annotations

from collections.abc import Collection

from deid_assets.pipeline.surviving import Survival
from deid_assets.quality.verdict import Verdict


def survival_verdict(found: Collection[Survival], *, values: int, limit: int = 0, blocking: bool = True) -> Verdict:
    """Check that no known identifier of a patient is left in the kept text of any of that patient's notes.

    Args:
        found: What is left in each note, as ``survival_by_note`` says.
        values: How many values were sought.
        limit: Survivors that pass; above 0 only where the known PHI is known to be noisy.
        blocking: Whether a failure stops the materialization.

    Returns:
        Counts ``notes``, ``values`` sought, ``survivors``, their ``limit``, ``notes_with_survivors``, ``lower_case``, ``name_parts``.
    """
    left = sum(one.survivors for one in found)
    return Verdict(
        "survivors",
        passed=left <= limit,
        blocking=blocking,
        counts={
            "notes": len(found),
            "values": values,
            "survivors": left,
            "limit": limit,
            "notes_with_survivors": sum(one.survivors > 0 for one in found),
            "lower_case": sum(one.lower_case for one in found),
            "name_parts": sum(one.name_parts for one in found),
        },
        description="No known identifier is readable outside the replacements.",
    ).unless(not values or not found, "no known value to look for")
