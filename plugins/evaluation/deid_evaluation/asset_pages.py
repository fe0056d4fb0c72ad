"""The pages of the graph: one detector against gold, and all of them side by side."""

from __future__ import annotations

from collections.abc import Sequence

import deid_assets
from deid_assets.extending import Note, SpanSet
from deid_assets.extending.scoring import MadePage, PageInput, best_subset_text, write_titled_md
from deid_evaluation import bakeoff
from deid_evaluation.bench import Contestant, ContestantRun
from deid_evaluation.bench_scores import ReferenceSpans
from deid_evaluation.pages.bench import bench_html
from deid_evaluation.pages.bench_tables import side_by_side, tabulate_added
from deid_evaluation.pages.report import report_html
from deid_evaluation.report import ProfiledNotes, ReportOptions, System, build_report

SAMPLE_NOTES = 200
"""Notes that detectors are timed on; scores are of all notes with gold, from stored spans."""
LIMIT_S = 600.0
"""Wall time that a detector may take for the sample, in seconds."""


def evaluation_report(found: PageInput) -> MadePage:
    """Return the page on one detector."""
    ((detector, outcomes),) = found.outcomes.items()
    annotated = found.annotated
    annotations = ProfiledNotes(
        notes=annotated.notes, gold=annotated.gold, profile=found.profile, overlaps_allowed=True
    )
    options = ReportOptions(
        title=f"{detector} on annotated notes",
        facts={
            "software": f"deid-assets {deid_assets.__version__}",
            "annotations": f"{len(annotated.gold):,} annotated notes",
        },
        inputs=[dict(one) for one in found.inputs],
        commands=[found.command],
    )
    spans = {name: one for name, one in outcomes.items() if isinstance(one, SpanSet)}
    document = build_report(annotations, [System(detector, spans)], options=options)
    return MadePage(html=report_html(document), document=document)


def side_by_side_page(found: PageInput) -> MadePage:
    """Return the page on all detectors, each timed on a sample of the notes."""
    annotated = found.annotated
    sample = sorted(annotated.notes.values(), key=lambda note: note.digest)[:SAMPLE_NOTES]
    runs = _time_runs(found, sample)
    result = bakeoff.judge(
        runs,
        profile=found.profile,
        lengths=annotated.lengths,
        gold=ReferenceSpans(annotated.gold, annotated.lengths, None, annotated.patients),
        gold_in_words=f"{len(annotated.gold):,} annotated notes, {len(sample):,} of them timed",
        outcomes=found.outcomes,
    )
    page = bench_html(
        result, title="Detectors on this installation's notes", provenance=bakeoff.conditions()
    )
    marginal = "\n\n".join(
        filter(None, (write_titled_md(tabulate_added(result)), best_subset_text(result.coverage)))
    )
    return MadePage(
        html=page,
        document=bakeoff.to_json(result, runs),
        evaluations={entry.name: entry.evaluation for entry in result.entries if entry.evaluation},
        shown={
            "table": write_titled_md(side_by_side(result)),
            "marginal_value": marginal or "One detector alone.",
        },
        counts={"timed_notes": len(sample)},
        faults=sum(bool(run.fault) for run in runs),
    )


def _time_runs(found: PageInput, sample: Sequence[Note]) -> list[ContestantRun]:
    contestants = [Contestant(name, *found.detectors[name]) for name in found.outcomes]
    return bakeoff.run_all(contestants, sample, limit_s=LIMIT_S)
