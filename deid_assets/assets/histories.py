"""detector_histories: every detector there is or was, what became of it, and what to do."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.display import Markdown
from deid_assets.quality import Verdict
from deid_assets.reports.tables import write_titled_md
from deid_assets.runtime.histories import DetectorState, ExpectedSpans, History, histories
from deid_assets.runtime.installation import Installation

HISTORIES = "detector_histories"
CHECKS = (
    Check("usable", "Every detector that is installed can be used.", blocking=False),
    Check("complete", "Every detector has spans of every batch.", blocking=False),
    Check("up_to_date", "No spans were made by an earlier version.", blocking=False),
    Check("installed", "Every detector with spans in the store is installed.", blocking=False),
)
_FAULTS: Mapping[str, frozenset[DetectorState]] = {
    "usable": frozenset({DetectorState.BROKEN}),
    "complete": frozenset({DetectorState.NEW, DetectorState.INCOMPLETE}),
    "up_to_date": frozenset({DetectorState.UPGRADED, DetectorState.STALE}),
    "installed": frozenset({DetectorState.REMOVED}),
}
SCHEMA = pa.schema(
    [
        pa.field("detector", pa.string(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("version", pa.string(), nullable=False),
        pa.field("batches", pa.int64(), nullable=False),
        pa.field("made", pa.int64(), nullable=False),
        pa.field("older", pa.int64(), nullable=False),
        pa.field("remedy", pa.string(), nullable=False),
    ]
)


def make_histories(
    _batch: str, installation: Installation, *, expected: Mapping[str, ExpectedSpans]
) -> AssetOutput:
    """List the detectors, those that are broken or gone among them.

    Args:
        installation: The installation.
        expected: What each detector's spans are made by now.
    """
    found = [*histories(installation.settings.store, expected).values()]
    rows = [
        {
            "detector": one.detector,
            "state": one.state.value,
            "version": one.expected.plugin,
            "batches": one.batches,
            "made": one.made,
            "older": len(one.stale),
            "remedy": one.remedy,
        }
        for one in found
    ]
    return AssetOutput(
        tables={"detectors": pa.Table.from_pylist(rows, SCHEMA)},
        sources=[],
        verdicts=judge(found),
        counts={"detectors": len(found)},
        metadata={"detectors_by_state": Markdown(histories_md(found))},
    )


def judge(found: Sequence[History]) -> list[Verdict]:
    """Return a verdict for each of ``CHECKS``, with the remedies as reasons."""
    verdicts = []
    for check in CHECKS:
        wrong = [one for one in found if one.state in _FAULTS[check.name]]
        reasons = [f"{one.detector} ({one.state.value}): {one.remedy}" for one in wrong]
        counts = {"detectors": len(found), "wrong": len(wrong)}
        verdicts.append(
            Verdict(check.name, not wrong, False, counts, check.description, reasons=reasons)
        )
    return verdicts


def histories_md(found: Sequence[History]) -> str:
    """Return a row for each detector, as a Markdown table."""
    header = ["Detector", "State", "Made", "Earlier spans", "What to do"]
    rows = [
        [one.detector, one.state.value, one.progress, one.kept or "none", one.remedy or "nothing"]
        for one in found
    ]
    return write_titled_md((header, rows))
