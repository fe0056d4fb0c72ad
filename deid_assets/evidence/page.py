"""The evidence file as one HTML page: no script, nothing fetched, every value escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deid_assets.evidence.document import CitedSource, EvidenceFile, FlowStage, MeasureStanding
from deid_assets.evidence.regimes import WORDS
from deid_assets.reports.page import render

_STEP, _BOX, _LONGEST = 66, 48, 60
_STATES = {
    MeasureStanding.PASSED: "passed",
    MeasureStanding.WARNED: "warned",
    MeasureStanding.UNMEASURED: "warned",
    MeasureStanding.FAILED: "failed",
}
_TOLD = {
    MeasureStanding.PASSED: "All that was measured passed",
    MeasureStanding.WARNED: "Passed with warnings",
    MeasureStanding.UNMEASURED: "Not enough was measured",
    MeasureStanding.FAILED: "Something that was measured failed",
}


@dataclass(frozen=True, slots=True)
class DrawnStage:
    """A stage with its place in the drawing, in CSS pixels from the top."""

    top: int
    title: str
    detail: str
    stage: FlowStage


def evidence_html(document: EvidenceFile) -> str:
    """Return the page: the verdict, what the law asks for, the sections, and the appendix."""
    words = WORDS[document.regime]
    numbers = {section.name: at for at, section in enumerate(document.sections, start=1)}
    return render(
        "evidence.html.j2",
        package="deid_assets.evidence",
        document=document,
        words=words,
        numbers=numbers,
        drawn=_draw_stages(document.flow),
        box=_BOX,
        height=_STEP * len(document.flow) - (_STEP - _BOX) + 2,
        state=_STATES[document.verdict],
        states=_STATES,
        headline=_TOLD[document.verdict],
        worst=_worst(document),
        links=_links,
    )


def _worst(document: EvidenceFile) -> str:
    """Return which results are as bad as the verdict; empty where all are as good."""
    found = [one.measure for one in document.results if one.standing is document.verdict]
    return "" if document.verdict is MeasureStanding.PASSED else ", ".join(found)


def _draw_stages(flow: Sequence[FlowStage]) -> list[DrawnStage]:
    return [
        DrawnStage(1 + at * _STEP, f"{stage.title}: {stage.figure}", _cut(stage.detail), stage)
        for at, stage in enumerate(flow)
    ]


def _cut(text: str) -> str:
    """Return a text that fits into its box; the table beside the drawing has all of it."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip(' ,;')}…"


def _links(sources: Sequence[CitedSource]) -> list[tuple[str, str, str]]:
    """Return target, number and name of each source; of more than six in a row, the ends alone are
    numbered.
    """
    ordered = sorted(sources, key=lambda source: source.number)
    return [(source.anchor, str(source.number), source.name) for source in ordered]
