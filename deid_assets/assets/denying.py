"""Checks on rules of people: each still finds its value, and no release holds a denied one."""

from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc

from deid_assets.assets.declarations import Check
from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.pipeline.leaks import LeakedValues
from deid_assets.quality import Verdict
from deid_assets.runtime.installation import Installation
from deid_assets.store.denials import Denials, DenyList

RULES_HOLD = Check(
    "deny_rules_hold", "Every deny and allow rule finds its value in the cases kept with it."
)
NO_DENIED_VALUE = Check("no_denied_value", "No value that somebody denied is left in the text.")
_KEPT = "; where one stands in what the policy wrote, give its category another action"

Ranges = dict[str, list[tuple[int, int]]]


def rules_hold(denials: DenyList) -> Verdict:
    """Check that every rule finds its value where it stood when the rule was made."""
    missed = denials.count_missed()
    return Verdict(
        RULES_HOLD.name,
        passed=not missed,
        blocking=True,
        counts={
            "rules": len(denials.rules),
            "allow_rules": len(denials.allowed),
            "cases": len(denials.cases),
            "missed": missed,
        },
        description="Each rule was tried on what it was made for.",
        reasons=[f"{missed:,} cases of rules are found no more: lift them and make them again"]
        if missed
        else [],
    ).unless(not (denials.rules or denials.allowed), "no value was ever denied or allowed")


def no_denied_value(
    batch: str, installation: Installation, notes: pa.Table, edits: pa.Table
) -> Verdict:
    """Check that no denied value is readable in redacted notes, outside of what was replaced.

    Args:
        batch: Partition.
        installation: The installation, or a study's.
        notes: Redacted notes.
        edits: What was replaced in them.

    Raises:
        ProvenanceError: The rules are gone or altered.
    """
    denials = Denials(installation.files).read()
    values = denials.values
    rows = zip(*(notes.column(name).to_pylist() for name in ("note_id", "text")), strict=True)
    found = [
        (note_id, text)
        for note_id, text in (rows if denials.rules else ())
        if any(True for _ in values.places(text))
    ]
    replaced = _find_replaced(batch, installation, found, edits, values)
    left = [
        place for note_id, text in found for place in values.places(text, replaced.get(note_id, ()))
    ]
    remedy = f"{len(left):,} places hold a denied value: materialize merged_spans of batch {batch}"
    return Verdict(
        NO_DENIED_VALUE.name,
        passed=not left,
        blocking=True,
        counts={"rules": len(denials.rules), "notes": notes.num_rows, "left": len(left)},
        description="Looked for whatever their case, accents, blanks and punctuation.",
        reasons=[f"{remedy} and what follows from it{_KEPT}"] if left else [],
    ).unless(not denials.rules, "no value was ever denied")


def _find_replaced(
    batch: str,
    installation: Installation,
    found: list[tuple[str, str]],
    edits: pa.Table,
    values: LeakedValues,
) -> Ranges:
    """Return, by note id, the ranges of redacted text that are not the original's.

    A surrogate that keeps a denied value of what it stands for is not among them.
    """
    if not found:
        return {}
    texts = dict(found)
    ids = pa.array(list(texts))
    raw = installation.files.read(RAW_NOTES, batch, "notes")
    raw = raw.filter(pc.is_in(raw.column("note_id"), value_set=ids))
    originals = dict(
        zip(raw.column("note_id").to_pylist(), raw.column("text").to_pylist(), strict=True)
    )
    ranges: Ranges = defaultdict(list)
    for row in edits.filter(pc.is_in(edits.column("note_id"), value_set=ids)).to_pylist():
        name, start, end = row["note_id"], row["new_start"], row["new_end"]
        before, after = originals[name][row["start"] : row["end"]], texts[name][start:end]
        if before != after and not _names(values, before) & _names(values, after):
            ranges[name].append((start, end))
    return {name: sorted(of_note) for name, of_note in ranges.items()}


def _names(values: LeakedValues, text: str) -> set[str]:
    return {place.name for place in values.places(text)}
