"""What assets show in the Dagster UI: counts as tables and plots, never text from notes."""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import dagster as dg

from deid_assets.core.span import SpanSet
from deid_assets.evaluation.counts import Evaluation
from deid_assets.intake.arrivals import Arrival
from deid_assets.quality.verdict import Bound
from deid_assets.reports import plots, tables
from deid_assets.reports.embedding import picture

SERVED = "DEID_REPORTS_URL"
"""Environment variable with the address under which ``reports.server`` serves the reports; ``make`` sets it."""


def label_counts(span_sets: Iterable[SpanSet]) -> dict[str, int]:
    """Return spans per category, the categories in alphabetical order."""
    counts: dict[str, int] = {}
    for spans in span_sets:
        for span in spans:
            counts[span.label.value] = counts.get(span.label.value, 0) + 1
    return dict(sorted(counts.items()))


def show_labels(counts: Mapping[str, int], *, title: str) -> dict[str, dg.MetadataValue]:
    """Return a label distribution as a table and a plot."""
    return {
        "labels": dg.MetadataValue.md(tables.labels_md(counts)),
        "plot": show_png(plots.labels_png(counts, title=title), title=title),
    }


def show_counts(counts: Mapping[str, int], *, of: str = "Notes") -> dg.MetadataValue:
    """Return small counts, such as faults by kind, as a table; ``of`` heads the column of counts."""
    rows = [f"| {name} | {count:,} |" for name, count in sorted(counts.items())]
    return dg.MetadataValue.md("\n".join([f"| Kind | {of} |", "| :-- | --: |", *rows]))


def show_lines(lines: Sequence[str]) -> dg.MetadataValue:
    """Return one line each, such as faults with their remedies, as a list."""
    return dg.MetadataValue.md("\n".join(f"- {line}" for line in lines) or "none")


def in_words(bounds: Iterable[Bound]) -> str:
    """Return what a check compared with what, as a sentence; empty where nothing."""
    told = [f"{one.name} {one.value:,} ({one.kind} {one.bound:,})".replace("_", " ") for one in bounds]
    return f"Judged: {'; '.join(told)}." if told else ""


def show_arrival(arrival: Arrival) -> dict[str, dg.MetadataValue]:
    """Return when a batch arrived, and how large it was."""
    return {
        "arrived": dg.MetadataValue.timestamp(datetime.fromisoformat(arrival.arrived_at)),
        "files": dg.MetadataValue.int(len(arrival.files)),
        "bytes": dg.MetadataValue.int(sum(file.bytes for file in arrival.files)),
        "attempt": dg.MetadataValue.int(arrival.attempt),
    }


def show_scores(evaluation: Evaluation, *, title: str) -> dict[str, dg.MetadataValue]:
    """Return scores per category as a table and a plot with intervals."""
    return {
        "scores": dg.MetadataValue.md(tables.scores_md(evaluation)),
        "plot": show_png(plots.recall_png(evaluation, title=title), title=title),
    }


def show_page(path: Path, *, name: str = "report") -> dict[str, dg.MetadataValue]:
    """Return a page that was written: its path, and a link to it where ``DEID_REPORTS_URL`` says who serves it.

    A browser opens no file that a page from a web server links, and Dagster's serves none.
    """
    file = dg.MetadataValue.path(str(path.absolute()))
    served = os.environ.get(SERVED)
    return (
        {name: dg.MetadataValue.url(f"{served.rstrip('/')}/{path.name}"), f"{name}_file": file}
        if served
        else {name: file}
    )


def show_pages(paths: Iterable[Path]) -> dict[str, dg.MetadataValue]:
    """Return the files of a report, each under its kind, such as ``html`` and ``json``, as ``show_page`` does."""
    return {name: value for path in paths for name, value in show_page(path, name=path.suffix[1:]).items()}


def show_png(png: bytes, *, title: str) -> dg.MetadataValue:
    """Return an image inside Markdown, which is how the UI shows one."""
    return dg.MetadataValue.md(f"![{title}]({picture(png)})")
