"""Marginal value of each detector, over the notes that all of them were scored on."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from deid_assets.assets.records import seconds_per_note
from deid_assets.evaluation.marginal import Coverage, marginals
from deid_assets.reports.marginal import best_subset_text, marginal_table
from deid_assets.reports.tables import write_titled_md
from deid_assets.runtime.installation import Installation

SCHEMA = pa.schema(
    [
        pa.field("detector", pa.string(), nullable=False),
        pa.field("recall_gained", pa.float64(), nullable=False),
        pa.field("char_recall_gained", pa.float64(), nullable=False),
        pa.field("precision_lost", pa.float64()),
        pa.field("recall_alone", pa.float64(), nullable=False),
        pa.field("seconds_per_1000_notes", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class _MarginalTable:
    """Each detector's value, as a table to keep and one to show."""

    table: pa.Table
    shown: str


def marginal_value(installation: Installation, found: Coverage) -> _MarginalTable:
    """Return what each detector adds.

    Recall gained, precision lost, seconds spent, and the best subset.

    Args:
        installation: The installation.
        found: Who marks what in the notes that all detectors were scored on.
    """
    if not found.spans:
        return _MarginalTable(
            SCHEMA.empty_table(), "No annotated spans that all detectors were scored on."
        )
    seconds = {name: seconds_per_note(installation, name) for name in found.detectors}
    rows = []
    for one in marginals(found):
        spent = seconds[one.detector]
        row = {
            "detector": one.detector,
            "recall_gained": one.recall_gained,
            "char_recall_gained": one.char_recall_gained,
            "precision_lost": one.precision_lost,
            "recall_alone": one.alone.recall,
            "seconds_per_1000_notes": None if spent is None else 1_000 * spent,
        }
        rows.append(row)
    return _MarginalTable(pa.Table.from_pylist(rows, SCHEMA), _show_found(found, seconds))


def _show_found(found: Coverage, seconds: Mapping[str, float | None]) -> str:
    known = {name: 1_000 * spent for name, spent in seconds.items() if spent}
    table = write_titled_md(marginal_table(found, known))
    shown = "\n\n".join(filter(None, (table, best_subset_text(found)))) or "One detector alone."
    return (
        f"{shown}\n\nSeconds are of detection alone, on one process, over all batches: no start-up,"
        " no storing."
    )
