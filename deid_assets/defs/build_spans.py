"""The part of the graph from what arrived to the spans that are redacted."""

import hashlib
from collections.abc import Sequence
from functools import partial

import dagster as dg

from deid_assets.assets import detection, ingest, merging, shadow
from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy
from deid_assets.defs import build_scores
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.placing import LANDING, place
from deid_assets.operation.pools import pool_of
from deid_assets.pipeline.resolving import LEAVABLE, MERGED_SPANS
from deid_assets.plugins import Plugin
from deid_assets.reports.advice import FIRST
from deid_assets.runtime.histories import ExpectedSpans
from deid_assets.runtime.snapshot import Snapshot, software_version
from deid_assets.store import frames


def unusable_detectors(snapshot: Snapshot) -> list[dg.AssetSpec]:
    """Return placeholders of detectors that have a fault, or that the ensemble names in vain."""
    return [_unusable(name, fault) for name, fault in _faults(snapshot).items()]


def _faults(snapshot: Snapshot) -> dict[str, str]:
    """Return why detectors cannot be used, by name."""
    plugins = snapshot.detectors
    faults = {plugin.name: plugin.fault for plugin in plugins.values() if plugin.fault}
    for name in snapshot.settings.ensemble:
        if name not in plugins:
            faults[name] = "the ensemble names it, and it is not installed"
    return faults


def list_expected_spans(snapshot: Snapshot) -> dict[str, ExpectedSpans]:
    """Return what the spans of every detector are made by now, by its name."""
    usable = {
        name: ExpectedSpans(plugin.code_version, _version_of_spans(snapshot, plugin))
        for name, plugin in snapshot.detectors.items()
        if not plugin.fault
    }
    broken = {
        name: ExpectedSpans(
            snapshot.detectors[name].code_version if name in snapshot.detectors else "",
            fault=fault,
        )
        for name, fault in _faults(snapshot).items()
    }
    return usable | broken


def _version_of_spans(snapshot: Snapshot, plugin: Plugin) -> str:
    """Return the code version of a detector's spans."""
    return (
        f"{plugin.code_version}+{snapshot.digest_of_detector(plugin.name)}+{snapshot.software}"
        f"+sample-{shadow.sample_size(snapshot.settings, plugin.name)}"
    )


def detector_family(
    snapshot: Snapshot, plugin: Plugin, *, model: str = ""
) -> list[dg.AssetsDefinition]:
    """Return the assets of one detector.

    Its spans, a group of their own in the UI, and its score card.

    Args:
        snapshot: Of the installation.
        plugin: The detector.
        model: Asset whose model it runs, where the graph trains it.
    """
    name, settings = plugin.name, snapshot.settings
    role = "ensemble" if name in settings.ensemble else "shadow"
    tags = {"deid/detector": name, "deid/role": role}
    said = "of the ensemble" if role == "ensemble" else "scored, not used"
    about = {"plugin": f"{plugin.distribution} {plugin.version}", "plugin_digest": plugin.digest}
    return [
        build_audited_asset(
            partial(detection.make_spans, detector=name, model=model),
            AssetDeclaration(
                key=Family.SPANS.of(name),
                checks=detection.CHECKS,
                deps=[ingest.RAW_NOTES, *([model] if model else [])],
                code_version=_version_of_spans(snapshot, plugin),
                group=f"detector_{name}",
                description=(
                    f"Spans found by `{name}`, {said}. {plugin.summary}. Offsets, labels and"
                    " scores, no text."
                ),
                kinds={"spans", *plugin.keywords[:2]},
                schema=frames.SPANS,
                tags=tags,
                metadata=about,
                pool=pool_of(settings, name, plugin),
            ),
        ),
        *build_scores.scores_of(
            settings,
            name,
            page=snapshot.page(Family.EVALUATION_REPORT),
            tags=tags,
            rewrites=plugin.trains_adapters,
        ),
    ]


def intake(settings: Settings, format_versions: str) -> list[dg.AssetsDefinition]:
    """Return what arrived: notes, and people's annotations of them."""
    software = f"{software_version()}+{format_versions}"
    return [
        build_audited_asset(
            ingest.make_raw_notes,
            AssetDeclaration(
                key=ingest.RAW_NOTES,
                checks=ingest.RAW_NOTES_CHECKS,
                deps=[LANDING],
                code_version=(
                    f"{software}+{settings.digest('languages', 'labels', 'gates', 'intake')}"
                ),
                group="intake",
                description=(
                    "Notes as they arrived, one row per note. What cannot be read is listed, not"
                    " lost."
                ),
                kinds={"parquet", "restricted"},
                schema=frames.NOTES,
                automatic=False,
            ),
        ),
        build_audited_asset(
            ingest.make_gold_annotations,
            AssetDeclaration(
                key=ingest.GOLD,
                checks=ingest.GOLD_CHECKS,
                deps=[ingest.RAW_NOTES],
                code_version=f"{software}+{settings.digest('labels', 'intake')}",
                group="intake",
                description=(
                    "Annotations by people that came with the notes; empty where there are none."
                    f" {FIRST}"
                ),
                kinds={"parquet", "annotations"},
                schema=frames.SPANS,
            ),
        ),
    ]


def redaction_start(settings: Settings, policies: Sequence[Policy]) -> list[dg.AssetsDefinition]:
    """Return the ensemble's spans in one."""
    yielding = LEAVABLE.union(*(policy.may_leave for policy in policies))
    ensemble = [Family.SPANS.of(name) for name in settings.ensemble]
    return [
        build_audited_asset(
            partial(merging.make_merged_spans, yielding=yielding),
            AssetDeclaration(
                key=MERGED_SPANS,
                checks=merging.checks_of(settings.gates),
                deps=[ingest.RAW_NOTES, ingest.GOLD, *ensemble],
                code_version=(
                    f"{software_version()}"
                    f"+{settings.digest('ensemble', 'resolve', 'profile', 'gates')}"
                    f"+{_digest_of(yielding)}"
                ),
                group="redaction",
                description=(
                    f"Spans of the ensemble ({', '.join(settings.ensemble)}), overlaps resolved by"
                    f" `{settings.resolve}`, and each value covered wherever else it occurs in the"
                    " patient's notes."
                ),
                kinds={"parquet"},
                schema=frames.SPANS,
            ),
        ),
    ]


def _digest_of(labels: frozenset[Phi]) -> str:
    """Return a short digest of categories, for code versions."""
    return hashlib.sha256(" ".join(sorted(labels)).encode()).hexdigest()[:12]


def _unusable(name: str, fault: str) -> dg.AssetSpec:
    """Return a placeholder for a detector that cannot be used, so that it is seen and hides no
    other.

    Nothing makes its spans, so what needs them stops with an error that names them.
    """
    return dg.AssetSpec(
        place().key(Family.SPANS.of(name)),
        group_name=place().name("unusable_detectors"),
        description=f"Not usable: {fault}.",
        metadata={"fault": fault},
    )
