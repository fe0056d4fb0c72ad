"""The page of an evaluation: everything in its document, for people."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from deid_assets.core.errors import InputError
from deid_assets.reports.charts import HEIGHT, WIDTH
from deid_assets.reports.page import render
from deid_assets.reports.report_charts import curve_charts, overlay, ranking_charts
from deid_assets.reports.report_rows import ENOUGH_SPANS, browser_rows, left_rows, static_rows, worst_label

if TYPE_CHECKING:
    from markupsafe import Markup

SCHEMA, VERSION = "deid-assets/evaluation-report", 1
"""The document that is shown."""
KINDS = ("missed", "boundary", "label", "spurious")
CAUSES: Mapping[str, str] = {"AB": "abbreviation", "AM": "ambiguity", "D": "debatable annotation", "S": "scarcity"}


def report_html(report: Mapping[str, Any]) -> str:
    """Return one self-contained page of a document as ``build_report`` makes it.

    The page runs one script of its own, which its security policy names by digest, and loads nothing. It holds note
    text only where the document does.

    Raises:
        InputError: The document is of another kind or version.
    """
    if (report.get("schema"), report.get("version")) != (SCHEMA, VERSION):
        raise InputError(
            f"not a report of {SCHEMA}, version {VERSION}; make it again with this version of the software"
        )
    script, names = _script(), list(report["systems"])
    results = report["results"]
    return render(
        "report/report.html.j2",
        report=report,
        systems=[(name, results[name]) for name in names],
        first=results[names[0]],
        left=left_rows(report),
        worst={name: worst_label(results[name]) for name in names},
        enough=ENOUGH_SPANS,
        charts={name: ranking_charts(results[name]["ranking"]) for name in names},
        overlay=overlay(report),
        curves=curve_charts(report["curves"]),
        static=static_rows(report),
        kinds=KINDS,
        causes=CAUSES,
        script=script,
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=_data({"causes": CAUSES, "export": _export(report), **browser_rows(report)}),
        size={"width": WIDTH, "height": HEIGHT},
    )


def _export(report: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"schema": "deid-assets/error-causes", "version": 1, "title": report["title"]}


@cache
def _script() -> Markup:
    from markupsafe import Markup  # noqa: PLC0415 - loaded with the first page

    source = files("deid_assets.reports").joinpath("templates/report/report.js").read_text(encoding="utf-8")
    return Markup(source)  # noqa: S704 - a file of this package


def _data(value: Any) -> Markup:
    """Return JSON that cannot end the element it stands in."""
    from markupsafe import Markup  # noqa: PLC0415 - loaded with the first page

    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 - no character of markup is left
