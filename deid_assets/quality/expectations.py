"""Runs contracts with Great Expectations, and keeps nothing of it but yes or no.

Great Expectations' own results quote cells in most formats, its exceptions in all of them. So it is asked for a
boolean, and the numbers are counted here. It is imported when the first contract runs: that takes about 3 s.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from deid_assets.core.errors import InputError
from deid_assets.quality.contracts import Contract, Expectation
from deid_assets.quality.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

TEXT_COLUMNS = frozenset({"text", "value", "meta"})
"""Columns that a frame handed to Great Expectations must not have."""


def run(contract: Contract, frame: pd.DataFrame) -> list[Verdict]:
    """Return one verdict per expectation, in order.

    A verdict's counts are ``rows`` and ``bad``; of a frame without rows it is not applicable. An expectation that cannot be evaluated, because a column is
    missing or holds another type, is a failed blocking verdict with ``not_evaluated`` alone.

    Raises:
        InputError: The frame has a column of text.
    """
    found = sorted(TEXT_COLUMNS.intersection(frame.columns))
    if found:
        raise InputError(f"contract {contract.name!r}: the frame has column {', '.join(found)}; drop it first")
    batch = _batch(frame)
    return [_verdict(expectation, frame, batch) for expectation in contract.expectations]


def _batch(frame: pd.DataFrame) -> Any:
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations  # noqa: PLC0415 - takes 3 s to import
    from great_expectations.data_context.types.base import ProgressBarsConfig  # noqa: PLC0415 - as above

    context = great_expectations.get_context(mode="ephemeral")
    # Bars would be written to the captured output of every step.
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("frames").add_dataframe_asset("frame")
    definition = asset.add_batch_definition_whole_dataframe("whole")
    return definition.get_batch(batch_parameters={"dataframe": frame})


def _verdict(expectation: Expectation, frame: pd.DataFrame, batch: Any) -> Verdict:
    from great_expectations import expectations  # noqa: PLC0415 - takes 3 s to import

    try:
        bad = int(expectation.bad(frame).sum())
        result = batch.validate(getattr(expectations, expectation.kind)(**expectation.options), **_FORMAT)
        evaluated = not _raised(result.exception_info)
    except Exception:  # noqa: BLE001 - whatever it is, the check did not pass, and the message may quote a cell
        evaluated = False
    if not evaluated:
        return Verdict(
            expectation.name,
            passed=False,
            blocking=True,
            counts={"not_evaluated": 1},
            description=f"Could not be evaluated: {expectation.description}",
        )
    return Verdict(
        expectation.name,
        # Both must agree: Great Expectations passes over missing values.
        passed=bool(result.success) and bad == 0,
        blocking=expectation.blocking,
        counts={"rows": len(frame), "bad": bad},
        description=expectation.description,
    ).unless(frame.empty, "no rows to judge")


_FORMAT = {"result_format": "BOOLEAN_ONLY"}


def _raised(exception_info: Any) -> bool:
    """Whether evaluating raised; the information is one record, or one per metric."""
    if not exception_info:
        return False
    if "raised_exception" in exception_info:
        return bool(exception_info["raised_exception"])
    return any(bool(record.get("raised_exception", True)) for record in exception_info.values())
