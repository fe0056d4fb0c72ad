"""What assets show in the Dagster UI: counts as tables and plots, never text from notes."""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from deid_assets.core.span import SpanSet
from deid_assets.evaluation.counts import Evaluation
from deid_assets.intake.arrivals import Arrival
from deid_assets.quality.verdict import Bound
from deid_assets.reports import plots, tables
from deid_assets.reports.page import picture

SERVED = "DEID_REPORTS_URL"
"""Environment variable with the address of ``quickstart.reports_server``, which serves the reports.

``make`` sets it.
"""


class Markdown(str):
    """Text that the UI shows as Markdown."""

    __slots__ = ()


class Link(str):
    """Address that the UI links."""

    __slots__ = ()


Shown = dict[str, Markdown | Link | Path | datetime | int]
"""Entries of ``AssetOutput.metadata``."""


def label_counts(span_sets: Iterable[SpanSet]) -> dict[str, int]:
    """Return spans per category, the categories in alphabetical order."""
    counts: dict[str, int] = {}
    for spans in span_sets:
        for span in spans:
            counts[span.label.value] = counts.get(span.label.value, 0) + 1
    return dict(sorted(counts.items()))


def show_labels(counts: Mapping[str, int], *, title: str) -> Shown:
    """Return a label distribution as a table and a plot."""
    return {
        "labels": Markdown(tables.labels_md(counts)),
        "plot": show_png(plots.labels_png(counts, title=title), title=title),
    }


def show_counts(counts: Mapping[str, int], *, of: str = "Notes") -> Markdown:
    """Return small counts, such as faults by kind, as a table.

    ``of`` heads the column of counts.
    """
    rows = [f"| {name} | {count:,} |" for name, count in sorted(counts.items())]
    return Markdown("\n".join([f"| Kind | {of} |", "| :-- | --: |", *rows]))


def show_lines(lines: Sequence[str]) -> Markdown:
    """Return one line each, such as faults with their remedies, as a list."""
    return Markdown("\n".join(f"- {line}" for line in lines) or "none")


def in_words(bounds: Iterable[Bound]) -> str:
    """Return what a check compared with what, as a sentence; empty where nothing."""
    told = [
        f"{one.name} {one.value:,} ({one.kind} {one.bound:,})".replace("_", " ") for one in bounds
    ]
    return f"Judged: {'; '.join(told)}." if told else ""


def show_arrival(arrival: Arrival) -> Shown:
    """Return when a batch arrived, and how large it was."""
    return {
        "arrived": datetime.fromisoformat(arrival.arrived_at),
        "files": len(arrival.files),
        "bytes": sum(file.bytes for file in arrival.files),
        "attempt": arrival.attempt,
    }


def show_scores(evaluation: Evaluation, *, title: str) -> Shown:
    """Return scores per category as a table and a plot with intervals."""
    return {
        "scores": Markdown(tables.scores_md(evaluation)),
        "plot": show_png(plots.recall_png(evaluation, title=title), title=title),
    }


def show_page(path: Path, *, name: str = "report") -> Shown:
    """Return a page that was written.

    Its path, and a link to it where ``DEID_REPORTS_URL`` says who serves it.

    A browser opens no file that a page from a web server links, and Dagster's serves none.
    """
    file = path.absolute()
    served = os.environ.get(SERVED)
    return (
        {name: Link(f"{served.rstrip('/')}/{path.name}"), f"{name}_file": file}
        if served
        else {name: file}
    )


def show_pages(paths: Iterable[Path]) -> Shown:
    """Return the files of a report, each under its kind, such as ``html`` and ``json``, as
    ``show_page`` does.
    """
    return {
        name: value
        for path in paths
        for name, value in show_page(path, name=path.suffix[1:]).items()
    }


def show_png(png: bytes, *, title: str) -> Markdown:
    """Return an image inside Markdown, which is how the UI shows one."""
    return Markdown(f"![{title}]({picture(png)})")
