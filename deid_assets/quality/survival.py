"""The verdict on what is left of known values in redacted notes."""

from __future__ import annotations

from collections.abc import Collection

from deid_assets.pipeline.batch import Survival
from deid_assets.quality.verdict import Verdict


def survival_verdict(found: Collection[Survival], *, values: int) -> Verdict:
    """Check that no known identifier of a patient is left in the kept text of any of that patient's
    notes.

    Args:
        found: What is left in each note, as ``survival_by_note`` says.
        values: How many values were sought.

    Returns:
        Counts ``notes``, ``values`` sought, ``missed``, ``notes_with_missed``, ``lower_case``,
        ``name_parts``.
    """
    left = sum(one.survivors for one in found)
    return Verdict(
        "survivors",
        passed=left == 0,
        blocking=True,
        counts={
            "notes": len(found),
            "values": values,
            "missed": left,
            "notes_with_missed": sum(one.survivors > 0 for one in found),
            "lower_case": sum(one.lower_case for one in found),
            "name_parts": sum(one.name_parts for one in found),
        },
        description="No known identifier is readable outside the replacements.",
    ).unless(not values or not found, "no known value to look for")
