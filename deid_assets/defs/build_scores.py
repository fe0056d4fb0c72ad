"""The part of the graph that measures detectors.

Score cards, reports, the leaderboard and the bake-off.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import dagster as dg

from deid_assets.assets import evaluating, ingest, scoring, tables
from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.jobs import ON_DEMAND
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.plugins import Plugin
from deid_assets.runtime.snapshot import software_version
from deid_assets.store.frames import SCORES


def scores_of(
    settings: Settings,
    name: str,
    *,
    page: Plugin | None,
    tags: Mapping[str, str],
    rewrites: bool = False,
) -> list[dg.AssetsDefinition]:
    """Return what is measured of one detector, over every batch that has gold.

    More of one that rewrites notes.

    Args:
        settings: Of the installation.
        name: The detector.
        page: What makes its report, where a plugin does.
        tags: Of its assets.
        rewrites: Whether it rewrites notes.
    """
    measured = [_scorecard(settings, name, tags=tags, rewrites=rewrites)]
    if page is not None:
        measured.append(_evaluation_report(settings, name, page, tags=tags))
    return measured


def _scorecard(
    settings: Settings, name: str, *, tags: Mapping[str, str], rewrites: bool
) -> dg.AssetsDefinition:
    is_candidate = name not in settings.ensemble
    judged_by = ("profile", *(("ensemble", "resolve") if is_candidate else ()))
    return build_audited_asset(
        partial(scoring.make_scorecard, detector=name, rewrites=rewrites),
        AssetDeclaration(
            key=Family.SCORECARD.of(name),
            checks=scoring.scorecard_checks(settings, name),
            deps=[ingest.GOLD, Family.SPANS.of(name)],
            code_version=f"{software_version()}+{settings.digest(*judged_by)}",
            group="scores",
            description=(
                f"`{name}` on the annotated notes of every batch that has any: counts per"
                " category, with intervals."
            ),
            kinds={"scores"},
            schema=SCORES,
            partitioned=False,
            tags=tags,
        ),
    )


def _evaluation_report(
    settings: Settings, name: str, page: Plugin, *, tags: Mapping[str, str]
) -> dg.AssetsDefinition:
    return build_audited_asset(
        partial(evaluating.make_evaluation_report, plugin=page, detector=name),
        AssetDeclaration(
            key=Family.EVALUATION_REPORT.of(name),
            checks=scoring.SCORECARD_CHECKS,
            deps=[ingest.GOLD, Family.SPANS.of(name), Family.SCORECARD.of(name)],
            code_version=f"{page.code_version}+{software_version()}+{settings.digest('profile')}",
            group="scores",
            description=(
                f"Page and document on `{name}`: every metric, subgroups, and errors as"
                " shapes without text."
            ),
            kinds={"evaluation", "html"},
            schema=SCORES,
            partitioned=False,
            tags=tags,
        ),
    )


def summaries(
    settings: Settings, detectors: Sequence[str], page: Plugin | None
) -> list[dg.AssetsDefinition]:
    """Return the detectors side by side.

    From their score cards, and on demand with what each costs.

    Args:
        settings: Of the installation.
        detectors: All that can be used.
        page: What makes the page on demand, where a plugin does.
    """
    summed = [_leaderboard(settings, detectors)]
    if page is not None:
        summed.append(_bakeoff(settings, detectors, page))
    return summed


def _leaderboard(settings: Settings, detectors: Sequence[str]) -> dg.AssetsDefinition:
    return build_audited_asset(
        partial(scoring.make_leaderboard, detectors=detectors),
        AssetDeclaration(
            key=scoring.LEADERBOARD,
            checks=scoring.LEADERBOARD_CHECKS,
            deps=[*(Family.SCORECARD.of(name) for name in detectors), MERGED_SPANS],
            code_version=f"{software_version()}+{settings.digest('ensemble', 'profile')}",
            group="scores",
            description=(
                "All detectors side by side, the one that covers most first, with 95 %"
                " intervals, and what each adds to the others."
            ),
            kinds={"report"},
            schema=SCORES,
            partitioned=False,
        ),
    )


def _bakeoff(settings: Settings, detectors: Sequence[str], page: Plugin) -> dg.AssetsDefinition:
    spans = [Family.SPANS.of(name) for name in detectors]
    return build_audited_asset(
        partial(evaluating.make_bakeoff, plugin=page, detectors=detectors),
        AssetDeclaration(
            key=evaluating.BAKEOFF,
            checks=evaluating.BAKEOFF_CHECKS,
            deps=[ingest.RAW_NOTES, ingest.GOLD, *spans],
            code_version=(
                f"{page.code_version}+{software_version()}"
                f"+{settings.digest('profile', 'detectors')}"
            ),
            group="scores",
            description=(
                "Every detector side by side on the annotated notes: scores from stored"
                " spans, speed, memory and start-up from a timed sample. Made on demand:"
                " materialize it."
            ),
            kinds={"report", "html"},
            schema=SCORES,
            partitioned=False,
            automatic=False,
            tags=ON_DEMAND,
        ),
    )


def plugin_tables(
    settings: Settings,
    found: Mapping[str, Plugin],
    *,
    origins: Mapping[str, str],
    usable: Sequence[str],
) -> list[dg.AssetsDefinition]:
    """Return the tables that plugins make of their own detectors.

    None of a plugin without a usable one.

    Args:
        settings: Of the installation.
        found: Tables by name.
        origins: Detector to the package of its plugin, or of the plugin of its recipe.
        usable: Detectors.
    """
    made = []
    for plugin in found.values():
        own = [name for name in usable if origins.get(name) == plugin.package]
        if plugin.fault or not own:
            continue
        beside = [name for name in settings.ensemble if name in usable and name not in own]
        made.append(_plugin_table(settings, plugin, own, beside))
    return made


def _plugin_table(
    settings: Settings, plugin: Plugin, own: Sequence[str], beside: Sequence[str]
) -> dg.AssetsDefinition:
    spans = [Family.SPANS.of(name) for name in (*own, *beside)]
    return build_audited_asset(
        partial(tables.make_table, plugin=plugin, detectors=own, beside=beside),
        AssetDeclaration(
            key=plugin.name,
            checks=tables.CHECKS,
            deps=[ingest.RAW_NOTES, ingest.GOLD, *spans],
            code_version=(
                f"{plugin.code_version}+{software_version()}+{settings.digest('detectors')}"
            ),
            group="scores",
            description=(
                f"{', '.join(f'`{name}`' for name in own)} by language, over annotated"
                " notes that they were not calibrated on, beside chance and the ensemble."
                " Made on demand: materialize it."
            ),
            kinds={"report"},
            schema=tables.SCORES,
            partitioned=False,
            automatic=False,
            tags=ON_DEMAND,
            metadata={
                "plugin": f"{plugin.distribution} {plugin.version}",
                "plugin_digest": plugin.digest,
            },
        ),
    )
