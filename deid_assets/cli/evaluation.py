"""``deid evaluate``: scores printed, and kept as a page and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from deid_assets import __version__
from deid_assets.cli.app import PARTIAL, say
from deid_assets.cli.streams import Withheld, annotated, spans_by_note
from deid_assets.core.errors import InputError
from deid_assets.core.label_maps import label_map
from deid_assets.core.phi import profile
from deid_assets.core.score import Evaluation, Scheme, evaluate_corpus, pair
from deid_assets.core.span import SpanSet
from deid_assets.reports import evaluation_html


def evaluate_files(
    gold: Path,
    pred: Path,
    out: Path,
    *,
    profile_name: str,
    source: str | None,
    format_name: str | None,
    labels: str,
    as_json: bool,
) -> int:
    """Score a spans file against annotated notes, write the report and print a table.

    Raises:
        InputError: No note is annotated, or gold and predictions are not for the same notes.
    """
    chosen, withheld = profile(profile_name), Withheld()
    notes = list(annotated(gold, withheld, format_name=format_name, labels=labels))
    golds = [found.spans for found in notes if found.spans is not None]
    if not golds:
        raise InputError(f"{gold}: no note is annotated; give notes with a spans field, or another format")
    found = {note_id: _from(spans, source) for note_id, spans in spans_by_note(pred).items()}
    scored = {spans.note_id for spans in golds}
    scope = None if labels == "phi" else label_map(labels).categories
    total = evaluate_corpus(
        pair(golds, (spans for note_id, spans in found.items() if note_id in scored)),
        profile=chosen,
        scope=scope,
        lengths={entry.note.note_id: len(entry.note.text) for entry in notes},
    )
    out.mkdir(parents=True, exist_ok=True)
    name = source or ", ".join(sorted({span.source for spans in found.values() for span in spans})) or "none"
    (out / "scores.json").write_text(json.dumps(total.to_json(), indent=1) + "\n", encoding="utf-8")
    page = evaluation_html(
        {name: total},
        title=f"{name} against {gold.name}",
        profile=chosen,
        provenance={"software": f"deid-assets {__version__}", "gold": gold.name, "predictions": pred.name},
        corpus=f"{len(golds):,} annotated notes, label map {labels}",
    )
    (out / "report.html").write_text(page, encoding="utf-8")
    _show(total, as_json=as_json)
    say(f"report written to {out / 'report.html'}")
    return PARTIAL if withheld.notes else 0


def _from(spans: SpanSet, source: str | None) -> SpanSet:
    if source is None:
        return spans
    return SpanSet(spans.note_id, spans.digest, tuple(span for span in spans if span.source == source))


def _show(total: Evaluation, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(total.to_json()))
        return
    table = Table("label", pad_edge=False)
    for heading in ("gold", "strict P", "R", "F1", "relaxed R", "F1", "chars covered"):
        table.add_column(heading, justify="right")
    for label in [*total.labels, None]:
        strict, relaxed, characters = (
            total.micro(scheme) if label is None else total.counts(label, scheme)
            for scheme in (Scheme.STRICT, Scheme.RELAXED, Scheme.CHARACTERS)
        )
        ratios = (strict.precision, strict.recall, strict.f1, relaxed.recall, relaxed.f1, characters.recall)
        cells = ["-" if ratio is None else f"{ratio:.3f}" for ratio in ratios]
        table.add_row(label or "all", f"{strict.gold:,}", *cells, end_section=label is None)
    notes = total.notes
    console = Console()
    console.print(table)
    console.print(
        f"{notes.covered:,} of {notes.with_phi:,} notes with PHI fully covered; "
        f"{notes.touched:,} of {notes.phi_free:,} notes without PHI touched; "
        f"{sum(total.out_of_scope.values()):,} spans in categories that this gold does not annotate",
        highlight=False,
    )
