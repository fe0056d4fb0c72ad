"""evaluation_report_<detector> and bakeoff.

Pages about detectors, over every batch that has gold, as a plugin makes them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.detection import read_notes_of, read_outcomes
from deid_assets.assets.display import Markdown, show_pages, show_png, show_scores
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.repeats import find_annotated_repeats, gold_batches, read_scored
from deid_assets.assets.scoring import gold_covered, list_scored_batches
from deid_assets.assets.shadow import gold_of_sample
from deid_assets.core.assets import Family
from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError, PluginError
from deid_assets.core.note import Note
from deid_assets.core.phi import profile
from deid_assets.core.span import SpanSet
from deid_assets.evaluation.pages import AnnotatedNotes, MadePage, PageInput
from deid_assets.evaluation.score import evaluate_corpus
from deid_assets.plugins import Plugin, load_declaration
from deid_assets.quality import Verdict
from deid_assets.reports import leaderboard_png
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import Receipt
from deid_assets.store.frames import scores_to_table
from deid_assets.system.atomic import atomic_file

BAKEOFF = "bakeoff"
BAKEOFF_CHECKS = (
    Check(
        "all_took_part",
        "Every usable detector has spans in every batch with annotated notes.",
        blocking=False,
    ),
    Check(
        "all_ran",
        "Every one that took part loaded and answered within the time limit.",
        blocking=False,
    ),
)


@dataclass(frozen=True, slots=True)
class AnnotatedOutcomes:
    """Notes with gold of several batches.

    Ids are unique in a batch only, so each is ``batch/id`` here.
    """

    annotated: AnnotatedNotes
    outcomes: Mapping[str, Mapping[str, SpanSet | Failed]]
    sources: Sequence[Receipt]


def read_answers(
    installation: Installation, batches: Sequence[str], detectors: Sequence[str]
) -> AnnotatedOutcomes:
    """Return the notes with gold of some batches, and what detectors with spans in all of them
    found.
    """
    notes: dict[str, Note] = {}
    gold: dict[str, SpanSet] = {}
    outcomes: dict[str, dict[str, SpanSet | Failed]] = {name: {} for name in detectors}
    repeated = find_annotated_repeats(installation)
    for batch in batches:
        of_notes = read_notes_of(batch, installation)
        stored = {
            name: read_outcomes(Family.SPANS.of(name), batch, installation) for name in detectors
        }
        of_batch = read_scored(batch, installation, of_notes, repeated)
        for name in detectors:
            of_batch = gold_of_sample(
                of_batch, stored[name], installation.files.receipt(Family.SPANS.of(name), batch)
            )
        for note in of_notes:
            if note.note_id in of_batch:
                name = f"{batch}/{note.note_id}"
                notes[name] = replace(note, note_id=name)
                gold[name] = replace(of_batch[note.note_id], note_id=name)
        for detector in detectors:
            found = stored[detector]
            for note_id in of_batch:
                if note_id in found:
                    outcomes[detector][f"{batch}/{note_id}"] = replace(
                        found[note_id], note_id=f"{batch}/{note_id}"
                    )
    assets = (RAW_NOTES, GOLD, *(Family.SPANS.of(name) for name in detectors))
    sources = [installation.files.receipt(asset, batch) for batch in batches for asset in assets]
    return AnnotatedOutcomes(AnnotatedNotes(notes=notes, gold=gold), outcomes, sources)


def make_evaluation_report(
    _batch: str, installation: Installation, *, plugin: Plugin, detector: str
) -> AssetOutput:
    """Write the page and the document on one detector, over every batch that has gold and its
    spans.

    A note that it failed on counts as one where it found nothing. The page shows shapes of what was
    missed, no text.
    """
    done, with_gold = (
        list_scored_batches(installation, Family.SPANS.of(detector)),
        gold_batches(installation),
    )
    found = read_answers(installation, done, [detector])
    gold = found.annotated.gold
    spans = {name: _answer(gold[name], found.outcomes[detector].get(name)) for name in gold}
    total = evaluate_corpus(
        ((gold[name], spans[name]) for name in gold),
        profile=profile(installation.settings.profile),
        lengths=found.annotated.lengths,
    )
    pages = {}
    if total.labels and any(map(len, gold.values())):
        answered = replace(found, outcomes={detector: spans})
        made = _make_page(plugin, installation, answered, Family.EVALUATION_REPORT.of(detector))
        pages = _pages(installation, f"evaluation-{detector}", made)
    return AssetOutput(
        tables={"scores": scores_to_table({detector: total})},
        sources=found.sources,
        verdicts=[gold_covered(with_gold, done)],
        counts={"batches": len(done), "annotated_notes": len(gold), "pages": len(pages)},
        metadata={
            **show_scores(total, title=f"{detector} on annotated notes"),
            **show_pages(pages),
        },
        publish=lambda _: _write(pages),
    )


def _answer(gold: SpanSet, outcome: SpanSet | Failed | None) -> SpanSet:
    return outcome if isinstance(outcome, SpanSet) else SpanSet(gold.note_id, gold.digest)


def make_bakeoff(
    _batch: str, installation: Installation, *, plugin: Plugin, detectors: Sequence[str]
) -> AssetOutput:
    """Put every detector with spans in all batches with gold side by side, and time each on a
    sample of the notes.

    Raises:
        InputError: There is no gold, or no detector has spans in every batch that has it.
    """
    batches = gold_batches(installation)
    ordered = sorted(
        detectors, key=lambda name: name not in installation.settings.ensemble
    )  # which others are compared with
    present = list_complete(installation, ordered, batches)
    if not present:
        raise InputError(
            "no detector has spans in every batch with annotated notes; annotate notes, and"
            " back-fill a detector"
        )
    found = read_answers(installation, batches, present)
    made = _make_page(plugin, installation, found, BAKEOFF)
    pages = _pages(installation, BAKEOFF, made)
    title = "Annotated spans covered, with 95 % intervals"
    return AssetOutput(
        tables={"scores": scores_to_table(made.evaluations)},
        sources=found.sources,
        verdicts=[
            warn_of_missing(
                "all_took_part",
                len(detectors) - len(present),
                "Back-fill the detectors that miss batches.",
            ),
            warn_of_missing("all_ran", made.faults, "The page says why one did not run."),
        ],
        counts={
            "detectors": len(present),
            "annotated_notes": len(found.annotated.gold),
            **made.counts,
        },
        metadata={
            **{name: Markdown(table) for name, table in made.shown.items()},
            "plot": show_png(leaderboard_png(made.evaluations, title=title), title=title),
            **show_pages(pages),
        },
        publish=lambda _: _write(pages),
    )


def list_complete(
    installation: Installation, detectors: Iterable[str], batches: Sequence[str]
) -> list[str]:
    """Return the detectors that have spans in every one of the batches with gold; none where there
    is no such batch.
    """
    return [
        name
        for name in detectors
        if batches and list_scored_batches(installation, Family.SPANS.of(name)) == batches
    ]


def _make_page(
    plugin: Plugin, installation: Installation, found: AnnotatedOutcomes, asset: str
) -> MadePage:
    """Return what a plugin makes of answers.

    Raises:
        PluginError: What it names makes no page.
    """
    make = load_declaration(plugin, "page")
    if not callable(make):
        raise PluginError(f"page {plugin.name!r}: what its plugin names is no function")
    made = make(
        PageInput(
            profile=profile(installation.settings.profile),
            annotated=found.annotated,
            outcomes=found.outcomes,
            detectors={name: installation.taggers.locate(name) for name in found.outcomes},
            inputs=[
                {"name": one.name, "role": "receipt", "sha256": one.digest} for one in found.sources
            ],
            command=f"dagster asset materialize --select {asset}",
        )
    )
    if not isinstance(made, MadePage):
        raise PluginError(f"page {plugin.name!r}: what its function returns is no page")
    return made


def warn_of_missing(name: str, short: int, description: str) -> Verdict:
    """Return a verdict that stops nothing, and passes where nothing is missing."""
    return Verdict(
        name, passed=not short, blocking=False, counts={"missing": short}, description=description
    )


def _pages(installation: Installation, name: str, made: MadePage) -> dict[Path, str]:
    folder = installation.settings.reports
    text = json.dumps(made.document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return {folder / f"{name}.html": made.html, folder / f"{name}.json": text}


def _write(pages: Mapping[Path, str]) -> None:
    for path, text in pages.items():
        with atomic_file(path) as file:
            file.write(text.encode())
