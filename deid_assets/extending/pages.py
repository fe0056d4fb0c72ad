"""HTML pages of a plugin's own templates in the look of the others.

One file each, every value escaped.
"""

from deid_assets.cli.restricted import check_restricted, write_files
from deid_assets.evaluation.numbers import Estimate, amount, axis_floor, estimate, ratio
from deid_assets.reports.page import (
    MARK_MARGIN,
    MARK_WIDTH,
    Mark,
    chance,
    data,
    mark,
    number,
    picture,
    render,
    script,
)
from deid_assets.reports.release_diff import release_diff_html
from deid_assets.reports.tables import escape_name, table_md

__all__ = [
    "MARK_MARGIN",
    "MARK_WIDTH",
    "Estimate",
    "Mark",
    "amount",
    "axis_floor",
    "chance",
    "check_restricted",
    "data",
    "escape_name",
    "estimate",
    "mark",
    "number",
    "picture",
    "ratio",
    "release_diff_html",
    "render",
    "script",
    "table_md",
    "write_files",
]
