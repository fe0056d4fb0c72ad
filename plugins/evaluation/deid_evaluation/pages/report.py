"""The page of an evaluation: everything in its document, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deid_assets.extending import InputError
from deid_assets.extending.pages import data, render, script
from deid_evaluation.pages.charts import HEIGHT, WIDTH
from deid_evaluation.pages.report_charts import curve_charts, overlay, ranking_charts
from deid_evaluation.pages.report_rows import (
    ENOUGH_SPANS,
    browser_rows,
    static_rows,
    tabulate_left,
    worst_label,
)

SCHEMA, VERSION = "deid-assets/evaluation-report", 2
"""The document that is shown."""
KINDS = ("missed", "boundary", "label", "spurious")
CAUSES: Mapping[str, str] = {
    "AB": "abbreviation",
    "AM": "ambiguity",
    "D": "debatable annotation",
    "S": "scarcity",
}


def report_html(report: Mapping[str, Any]) -> str:
    """Return one self-contained page of a document as ``build_report`` makes it.

    The page runs one script of its own, which its security policy names by digest, and loads
    nothing. It holds note text only where the document does.

    Raises:
        InputError: The document is of another kind or version.
    """
    if (report.get("schema"), report.get("version")) != (SCHEMA, VERSION):
        raise InputError(
            f"not a report of {SCHEMA}, version {VERSION}; make it again with this version of the"
            " software"
        )
    (own_script, digest), names = (
        script("report/report.js", package="deid_evaluation"),
        list(report["systems"]),
    )
    results = report["results"]
    return render(
        "report/report.html.j2",
        package="deid_evaluation",
        report=report,
        systems=[(name, results[name]) for name in names],
        first=results[names[0]],
        left=tabulate_left(report),
        worst={name: worst_label(results[name]) for name in names},
        enough=ENOUGH_SPANS,
        charts={name: ranking_charts(results[name]["ranking"]) for name in names},
        overlay=overlay(report),
        curves=curve_charts(report["curves"]),
        static=static_rows(report),
        kinds=KINDS,
        causes=CAUSES,
        script=own_script,
        script_digest=digest,
        data=data({"causes": CAUSES, "export": _export(report), **browser_rows(report)}),
        size={"width": WIDTH, "height": HEIGHT},
    )


def _export(report: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"schema": "deid-assets/error-causes", "version": 1, "title": report["title"]}
