"""Data Docs of Great Expectations.

A page per asset on what was expected and what was found, without text of notes.

The pages are rendered from ``ExpectationResult``, which holds counts alone. What they would load
from elsewhere is taken out, so that whoever opens one tells no server of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deid_assets.quality.expectations import ExpectationResult

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_STYLE = """
body {font: 15px/1.5 system-ui, sans-serif; color: #1c2430}
body {margin: 2rem auto; max-width: 70rem; padding: 0 1rem}
table {border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem} h1 {font-size: 1.5rem}
th, td {border: 1px solid #d5dae1; padding: .35rem .6rem; text-align: left; vertical-align: top}
ul {list-style: none; padding: 0}
.badge {background: #eef1f5; border-radius: .3rem; padding: 0 .35rem}
.text-success {color: #18794e} .text-danger, .fa-times {color: #b42318}
h5, h6 {font-size: 1rem; margin: .5rem 0}
.fa-check-circle::before {content: "\\2713\\00a0 met"}
.fa-times::before {content: "\\2717\\00a0 not met"}
"""
_DROPPED = (
    "//script|//link|//img|//iframe|//style|//nav|//footer|//button|//*[contains(@class,"
    " 'col-lg-2')]"
)
"""What a page would load from elsewhere, and the controls that work by it alone."""


def page(asset: str, batch: str, answers: Sequence[ExpectationResult]) -> str:
    """Return the Data Docs page on one asset of one batch, as HTML.

    Args:
        asset: Name of the asset.
        batch: Id.
        answers: What Great Expectations said of each expectation.
    """
    # It takes 3 s to import.
    from great_expectations.core import ExpectationSuiteValidationResult  # noqa: PLC0415
    from great_expectations.render.renderer.page_renderer import (  # noqa: PLC0415
        ValidationResultsPageRenderer,
    )
    from great_expectations.render.view.view import DefaultJinjaPageView  # noqa: PLC0415

    met = sum(answer.met for answer in answers)
    result = ExpectationSuiteValidationResult(
        success=met == len(answers),
        results=[_result(answer) for answer in answers if answer.evaluated],
        suite_name=asset,
        statistics={
            "evaluated_expectations": len(answers),
            "successful_expectations": met,
            "unsuccessful_expectations": len(answers) - met,
            "success_percent": 100 * met / len(answers) if answers else None,
        },
        meta={
            "run_id": {"run_name": batch, "run_time": None},
            "batch_spec": {},
            "active_batch_definition": {"data_asset_name": asset},
        },
    )
    document = ValidationResultsPageRenderer(run_info_at_end=True).render(result)
    unevaluated = [answer.line for answer in answers if not answer.evaluated]
    rendered = DefaultJinjaPageView().render(document)  # type: ignore[no-untyped-call]
    return _standalone(rendered, f"{asset}, batch {batch}", unevaluated)


def _result(answer: ExpectationResult) -> Any:
    from great_expectations.core import (  # noqa: PLC0415 - takes 3 s to import
        ExpectationValidationResult,
    )
    from great_expectations.expectations.expectation_configuration import (  # noqa: PLC0415 - takes 3 s to import
        ExpectationConfiguration,
    )
    from great_expectations.expectations.metadata_types import FailureSeverity  # noqa: PLC0415

    asked = answer.expectation
    return ExpectationValidationResult(
        success=answer.met,
        expectation_config=ExpectationConfiguration(
            type=asked.type,
            kwargs=json.loads(json.dumps(asked.kwargs)),
            # Where the file describes nothing, Great Expectations has a sentence of its own.
            description=None if asked.description.startswith(asked.type) else asked.description,
            severity=FailureSeverity.CRITICAL if asked.is_blocking else FailureSeverity.WARNING,
        ),
        result={"partial_unexpected_list": [], **answer.numbers},
        exception_info={
            "raised_exception": False,
            "exception_message": None,
            "exception_traceback": None,
        },
    )


def _standalone(document: str, title: str, unevaluated: Sequence[str]) -> str:
    """Return a page that loads nothing, with a style of its own and the lines on what could not be
    evaluated.
    """
    from lxml import html  # noqa: PLC0415 - not needed to judge

    tree: HtmlElement = html.document_fromstring(document)
    for element in tree.xpath(_DROPPED):
        if element.getparent() is not None:
            element.drop_tree()
    for anchor in tree.iter("a"):
        anchor.attrib.pop("href", None)
    heading, style = html.Element("h1"), html.Element("style")
    heading.text, style.text = title, _STYLE
    tree.body.insert(0, heading)
    for at, line in enumerate(unevaluated, start=1):
        paragraph = html.Element("p", {"class": "text-danger"})
        paragraph.text = line
        tree.body.insert(at, paragraph)
    tree.head.append(style)
    return str(html.tostring(tree, encoding="unicode", doctype="<!doctype html>"))
