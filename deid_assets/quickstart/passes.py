"""The order in which ``make run`` makes everything.

A tagger is trained only where something asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg
from rich.console import Console

from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.assets.repeats import gold_batches
from deid_assets.core.assets import Family
from deid_assets.defs.build_tables import TABLES_JOB
from deid_assets.defs.jobs import MAIN_JOB, NIGHTLY_JOB, TRAINING_JOB, approve_job_of
from deid_assets.defs.runs import Graph, Pass, PassSelection, RunOutcome
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.taggers import model_asset, name_asset
from deid_assets.store.approvals import find_approval

INTAKE = frozenset({dg.AssetKey(RAW_NOTES), dg.AssetKey(GOLD)})


def make_all(graph: Graph, known: Sequence[str], console: Console) -> RunOutcome:
    """Make what is not up to date: taggers, batches, scores.

    A tagger outside the ensemble changes no output. Where no note is annotated it cannot be scored
    either, and its training would be most of the time: it is not trained before notes with gold
    arrive, for which new batches are read first.
    """
    installation = graph.installation
    read = _read_first(graph, known, console)
    if read.stopped:
        return read
    idle = idle_taggers(installation)
    if idle:
        console.print(
            f"Not trained: {', '.join(idle)}. No note is annotated, so that a tagger outside the"
            " ensemble could not be scored.",
            style="dim",
            markup=False,
            highlight=False,
        )
    training = [] if len(idle) == len(installation.taggers.recipes) else [Pass(TRAINING_JOB)]
    per_batch = [Pass(job, batch) for batch in known for job in _jobs_of(installation, batch)]
    tables = [Pass(TABLES_JOB)] if installation.settings.tables else []
    passes = [*training, *per_batch, *tables, Pass(NIGHTLY_JOB)]
    outcome = graph.make(passes, console, PassSelection(without=_assets_of(installation, idle)))
    outcome.faults = list(dict.fromkeys([*read.faults, *outcome.faults]))
    return outcome


def idle_taggers(installation: Installation) -> list[str]:
    """Return the recipes that nothing asks for.

    Those outside the ensemble, while no batch has annotated notes.
    """
    if gold_batches(installation):
        return []
    return [
        name for name in installation.taggers.recipes if name not in installation.settings.ensemble
    ]


def is_approved(installation: Installation, batch: str) -> bool:
    """Whether somebody let a batch leave, where somebody is asked."""
    return (
        installation.settings.release.approval
        and find_approval(installation.files, batch, installation.names) is not None
    )


def _read_first(graph: Graph, known: Sequence[str], console: Console) -> RunOutcome:
    """Read new batches until one has annotated notes, where that decides whether a tagger is
    trained.
    """
    installation = graph.installation
    if not idle_taggers(installation):
        return RunOutcome()
    unread = [
        Pass(MAIN_JOB, batch) for batch in known if installation.files.find(GOLD, batch) is None
    ]
    return graph.make(
        unread, console, PassSelection(only=INTAKE), until=lambda: bool(gold_batches(installation))
    )


def _jobs_of(installation: Installation, batch: str) -> list[str]:
    studies = [installation.of_study(name) for name in installation.snapshot.studies]
    approved = [one for one in (installation, *studies) if is_approved(one, batch)]
    return [MAIN_JOB, *(approve_job_of(one.names) for one in approved)]


def _assets_of(installation: Installation, names: Sequence[str]) -> set[dg.AssetKey]:
    """Return the assets of taggers: models and spans."""
    recipes, plugins = installation.taggers.recipes, installation.snapshot.installed
    assets = set()
    for name in names:
        recipe = recipes[name]
        assets |= {name_asset(recipe, plugins), model_asset(recipe, plugins)}
        assets.add(Family.SPANS.of(name))
    return {dg.AssetKey(asset) for asset in assets}
