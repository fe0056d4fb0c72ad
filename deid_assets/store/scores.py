"""Evaluations as tables: counts per label and scheme, which add up over batches."""

import json
from collections.abc import Mapping

import pyarrow as pa

from deid_assets.evaluation.score import Evaluation

SCORES = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("name", "evaluation")])


def scores_to_table(evaluations: Mapping[str, Evaluation]) -> pa.Table:
    """Return one row per evaluation, its counts as JSON."""
    rows = [
        {"name": name, "evaluation": json.dumps(found.to_json())}
        for name, found in evaluations.items()
    ]
    return pa.Table.from_pylist(rows, SCORES)


def scores_from_table(table: pa.Table) -> dict[str, Evaluation]:
    """Return the evaluations of a table by name."""
    return {
        row["name"]: Evaluation.from_json(json.loads(row["evaluation"]))
        for row in table.to_pylist()
    }
