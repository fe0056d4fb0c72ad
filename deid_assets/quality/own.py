"""An installation's own suites: asked of what an asset stores, before it is stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from deid_assets.quality.expectations import TEXT_COLUMNS, run
from deid_assets.quality.frames import n_broken
from deid_assets.quality.suites import Suite
from deid_assets.quality.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BLOCKING, WARNING = "own_expectations", "own_warnings"


def list_own_checks(suite: Suite) -> dict[str, bool]:
    """Return the checks that a suite of one's own is folded into, each with whether it stops a
    batch.
    """
    blocking = {each.is_blocking for each in suite.expectations}
    return {
        name: is_blocking
        for name, is_blocking in ((BLOCKING, True), (WARNING, False))
        if is_blocking in blocking
    }


def main_table(names: Collection[str]) -> str:
    """Return which table of an asset a suite of one's own is about.

    Its spans, else its notes, else the first.
    """
    return next((name for name in ("spans", "notes") if name in names), min(names))


def judge_own(suite: Suite, tables: Mapping[str, pa.Table]) -> list[Verdict]:
    """Return one verdict for the expectations that stop a batch and one for the others.

    Args:
        suite: Of the installation.
        tables: What the asset made; the suite is asked of ``main_table``, see ``text_free``.
    """
    folded = tuple(
        replace(each, check=BLOCKING if each.is_blocking else WARNING)
        for each in suite.expectations
    )
    return run(replace(suite, expectations=folded), text_free(tables[main_table(tables)]))


def text_free(table: pa.Table) -> pd.DataFrame:
    """Return a table without its columns of text.

    Of ``text`` there are ``n_chars``, its length in code points, and ``broken_chars``, the number
    of replacement and control characters in it.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - the code location loads without it

    frame: pd.DataFrame = table.drop_columns(
        sorted(TEXT_COLUMNS.intersection(table.column_names))
    ).to_pandas()
    if "text" not in table.column_names:
        return frame
    text = table.column("text")
    frame["n_chars"] = pc.utf8_length(text).to_pandas()
    frame["broken_chars"] = [n_broken(each.as_py()) for each in text]
    return frame
