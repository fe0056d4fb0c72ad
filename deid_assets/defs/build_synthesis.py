"""The part of the graph that makes synthetic corpora: one asset for each generator."""

from collections.abc import Mapping
from functools import partial

import dagster as dg

from deid_assets.assets import synthesizing
from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.assets.ingest import GOLD, RAW_NOTES
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.jobs import ON_DEMAND
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.plugins import Plugin
from deid_assets.runtime.snapshot import software_version
from deid_assets.store.frames import NOTES


def synthetic_corpora(settings: Settings, found: Mapping[str, Plugin]) -> list[dg.AssetsDefinition]:
    """Return a corpus for each generator that can be used.

    Args:
        settings: Of the installation.
        found: Generators by name.
    """
    return [_corpus(settings, plugin) for plugin in found.values() if not plugin.fault]


def _corpus(settings: Settings, plugin: Plugin) -> dg.AssetsDefinition:
    return build_audited_asset(
        partial(synthesizing.make_synthetic_corpus, plugin=plugin),
        AssetDeclaration(
            key=Family.SYNTHETIC_CORPUS.of(plugin.name),
            checks=synthesizing.CHECKS,
            deps=[RAW_NOTES, GOLD, MERGED_SPANS],
            code_version=f"{plugin.code_version}+{software_version()}+{settings.digest('ensemble')}",
            group="synthetic_corpora",
            description=(
                f"Annotated notes of the generator `{plugin.name}` that look like the site's and"
                " hold none of its words. Made when asked for."
            ),
            kinds={"table"},
            schema=NOTES,
            partitioned=False,
            automatic=False,
            tags=ON_DEMAND,
            metadata={
                "plugin": f"{plugin.distribution} {plugin.version}",
                "plugin_digest": plugin.digest,
            },
        ),
    )
