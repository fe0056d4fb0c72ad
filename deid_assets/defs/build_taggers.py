"""The part of the graph that trains taggers."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial

import dagster as dg

from deid_assets.assets import exporting, training, training_corpus
from deid_assets.assets.declarations import AssetDeclaration
from deid_assets.config import Settings
from deid_assets.core.assets import Family, family_of
from deid_assets.defs.audit import build_audited_asset
from deid_assets.defs.jobs import TAGGERS_GROUP
from deid_assets.operation.pools import pool_of
from deid_assets.plugins import Plugin
from deid_assets.reports.advice import FIRST
from deid_assets.runtime.snapshot import software_version
from deid_assets.runtime.taggers import FILES, model_asset, name_asked, name_asset
from deid_assets.training import Recipe


def tagger_assets(
    settings: Settings, recipes: Sequence[Recipe], plugins: Mapping[str, Plugin]
) -> list[dg.AssetsDefinition]:
    """Return the corpus, a tagger per recipe and an export per network.

    Nothing where no recipe can be trained.
    """
    trained = [
        recipe
        for recipe in recipes
        if recipe.plugin in plugins and not plugins[recipe.plugin].fault
    ]
    if not trained:
        return []
    names = sorted(
        {*(name for recipe in trained for name in (*recipe.corpora, *recipe.raw, recipe.label_map))}
    )
    corpus = build_audited_asset(
        partial(training_corpus.make_training_corpus, recipes=trained),
        AssetDeclaration(
            key=training_corpus.TRAINING_CORPUS,
            checks=training_corpus.CORPUS_CHECKS,
            deps=[],
            code_version=(
                f"{software_version()}+{_digest(*names)}+{settings.digest('training_share')}"
            ),
            group=TAGGERS_GROUP,
            description=(
                "Training sets of the taggers: each corpus that a recipe names, with its"
                " annotations. Networks and their `onnx_<recipe>` are here where a recipe asks for"
                " one and its plugin is installed; by default none is."
            ),
            kinds={"parquet", "restricted"},
            schema=training_corpus.CORPORA,
            partitioned=False,
            automatic=False,
        ),
    )
    return [corpus, *(asset for recipe in trained for asset in _tagger(settings, recipe, plugins))]


def _tagger(
    settings: Settings, recipe: Recipe, plugins: Mapping[str, Plugin]
) -> list[dg.AssetsDefinition]:
    plugin = plugins[recipe.plugin]
    asked = plugins.get(name_asked(recipe))
    versions = "+".join(one.code_version for one in (plugin, asked) if one)
    tagger = build_audited_asset(
        partial(training.make_tagger, recipe=recipe),
        AssetDeclaration(
            key=name_asset(recipe, plugins),
            checks=training.TAGGER_CHECKS,
            deps=[training_corpus.TRAINING_CORPUS],
            code_version=(
                f"{software_version()}+{recipe.digest[:12]}"
                f"+{_digest(versions)}+{settings.digest('gates')}"
            ),
            group=TAGGERS_GROUP,
            description=f"Model of recipe `{recipe.name}`. {recipe.description} {FIRST}",
            kinds={"tagger", *plugin.keywords[:1], "restricted"},
            schema=FILES,
            partitioned=False,
            automatic=False,
            tags=_tags(recipe),
            pool=pool_of(settings, recipe.name, plugin),
        ),
    )
    if family_of(model_asset(recipe, plugins)) is not Family.ONNX or plugin.runner not in plugins:
        return [tagger]
    return [tagger, _onnx(recipe, _digest(versions, plugins[plugin.runner].code_version))]


def _onnx(recipe: Recipe, versions: str) -> dg.AssetsDefinition:
    """Return the export of a recipe's network, with a digest of the plugins that make it."""
    return build_audited_asset(
        partial(exporting.make_onnx, recipe=recipe),
        AssetDeclaration(
            key=Family.ONNX.of(recipe.name),
            checks=exporting.ONNX_CHECKS,
            deps=[training_corpus.TRAINING_CORPUS, Family.TAGGER.of(recipe.name)],
            code_version=f"{software_version()}+{versions}+{recipe.onnx}",
            group=TAGGERS_GROUP,
            description=(
                f"The network of recipe `{recipe.name}` as ONNX, compared with it on the"
                " development notes."
            ),
            kinds={"onnx", "model", "restricted"},
            schema=FILES,
            partitioned=False,
            automatic=False,
            tags=_tags(recipe),
        ),
    )


def _tags(recipe: Recipe) -> dict[str, str]:
    return {"deid/recipe": recipe.name}


def _digest(*values: str) -> str:
    return hashlib.sha256(" ".join(values).encode()).hexdigest()[:12]
