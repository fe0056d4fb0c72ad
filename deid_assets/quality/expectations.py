"""Great Expectations judges frames by suites; only success and numbers are kept of what it says.

Its results quote cells in most formats, and its exceptions in all of them. So it is asked for
counts, and whatever is neither a count nor a mean is dropped here. It is imported when the first
suite runs: that takes about 3 s.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

from deid_assets.core.errors import InputError
from deid_assets.quality.suites import Expectation, Suite
from deid_assets.quality.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

TEXT_COLUMNS = frozenset({"text", "value", "meta"})
"""Columns that a frame handed to Great Expectations must not have."""

RESULT_FORMAT = {"result_format": "BASIC", "partial_unexpected_count": 0}
"""Counts of what is unexpected, and none of the values."""

NUMBERS = (
    "element_count",
    "unexpected_count",
    "unexpected_percent",
    "missing_count",
    "missing_percent",
)


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """What Great Expectations said of one expectation.

    Args:
        expectation: What was asked.
        met: Whether it holds; an expectation that could not be evaluated is not met.
        evaluated: Whether it could be: not where a column is missing or holds another type.
        numbers: ``NUMBERS`` as far as they apply, and ``observed_value`` where it is a number.
    """

    expectation: Expectation
    met: bool
    evaluated: bool
    numbers: Mapping[str, int | float]

    @property
    def bad(self) -> int:
        """The number of rows that break it, or 1 where it is not about rows."""
        return 0 if self.met else max(1, int(self.numbers.get("unexpected_count", 1)))

    @property
    def line(self) -> str:
        """What was expected and what was found, in one line without values of the data."""
        if not self.evaluated:
            return (
                f"not evaluated: {self.expectation.description} (is a column missing, or of another"
                " type?)"
            )
        numbers = ", ".join(
            f"{name} {self.numbers[name]:g}"
            for name in ("unexpected_count", "element_count", "observed_value")
            if name in self.numbers
        )
        return f"not met: {self.expectation.description}" + (f" ({numbers})" if numbers else "")


def run(suite: Suite, frame: pd.DataFrame, **parameters: Sequence[str]) -> list[Verdict]:
    """Return one verdict for each check of a suite, in the order in which the suite names them.

    A verdict's counts are ``rows`` and ``bad``; of a frame without rows it is not applicable. A
    check with an expectation that cannot be evaluated is a failed blocking verdict with
    ``not_evaluated`` alone.

    Args:
        suite: What must hold.
        frame: One row per note or span; no column of text.
        parameters: What stands for each ``$PARAMETER`` of the suite.

    Raises:
        InputError: The frame has a column of text.
    """
    answers = {id(answer.expectation): answer for answer in ask(suite, frame, **parameters)}
    return [
        _verdict(check, [answers[id(each)] for each in expectations], rows=len(frame))
        for check, expectations in suite.checks.items()
    ]


def ask(suite: Suite, frame: pd.DataFrame, **parameters: Sequence[str]) -> list[ExpectationResult]:
    """Return what Great Expectations says of each expectation, in order; see ``run``."""
    found = sorted(TEXT_COLUMNS.intersection(frame.columns))
    if found:
        raise InputError(
            f"suite {suite.name!r}: the frame has column {', '.join(found)}; drop it first"
        )
    batch = _definition().get_batch(batch_parameters={"dataframe": frame})
    return [_answer(each, batch, parameters) for each in suite.expectations]


@cache
def _definition() -> Any:
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations  # noqa: PLC0415 - takes 3 s to import
    from great_expectations.data_context.types.base import (  # noqa: PLC0415 - as above
        ProgressBarsConfig,
    )

    context = great_expectations.get_context(mode="ephemeral")
    # Bars would be written to the captured output of every step.
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("frames").add_dataframe_asset("frame")
    return asset.add_batch_definition_whole_dataframe("whole")


def _answer(
    expectation: Expectation, batch: Any, parameters: Mapping[str, Sequence[str]]
) -> ExpectationResult:
    from great_expectations.expectations.expectation_configuration import (  # noqa: PLC0415 - takes 3 s to import
        ExpectationConfiguration,
    )

    try:
        asked = ExpectationConfiguration(
            type=expectation.type, kwargs=dict(expectation.kwargs)
        ).to_domain_obj()
        values = {name: list(value) for name, value in parameters.items()}
        result = batch.validate(asked, result_format=RESULT_FORMAT, expectation_parameters=values)
        evaluated = not _has_raised(result.exception_info)
    except Exception:  # noqa: BLE001 - whatever it is, the expectation is not met, and the message may quote a cell
        evaluated = False
    if not evaluated:
        return ExpectationResult(expectation, met=False, evaluated=False, numbers={})
    said = {name: result.result.get(name) for name in (*NUMBERS, "observed_value")}
    numbers = {name: _number(value) for name, value in said.items() if _is_number(value)}
    return ExpectationResult(expectation, met=bool(result.success), evaluated=True, numbers=numbers)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _number(value: Any) -> int | float:
    return int(value) if float(value).is_integer() else round(float(value), 6)


def _verdict(check: str, answers: Sequence[ExpectationResult], *, rows: int) -> Verdict:
    description = "; ".join(answer.expectation.description for answer in answers)
    if not all(answer.evaluated for answer in answers):
        return Verdict(
            check,
            passed=False,
            blocking=True,
            counts={"not_evaluated": 1},
            description=f"Could not be evaluated: {description}",
            reasons=[answer.line for answer in answers if not answer.evaluated],
        )
    return Verdict(
        check,
        passed=all(answer.met for answer in answers),
        blocking=any(answer.expectation.is_blocking for answer in answers),
        counts={"rows": rows, "bad": sum(answer.bad for answer in answers)},
        description=description,
        reasons=[answer.line for answer in answers if not answer.met],
    ).unless(not rows, "no rows to judge")


def _has_raised(exception_info: Any) -> bool:
    """Whether evaluating raised; the information is one record, or one per metric."""
    if not exception_info:
        return False
    if "raised_exception" in exception_info:
        return bool(exception_info["raised_exception"])
    return any(bool(record.get("raised_exception", True)) for record in exception_info.values())
