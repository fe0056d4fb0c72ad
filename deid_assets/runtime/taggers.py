"""Detectors of an installation.

Installed plugins, and one for each recipe, whose model the graph trains.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from deid_assets.config import Settings
from deid_assets.core.assets import Family, family_of
from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.note import Note
from deid_assets.plugins import Plugin, available
from deid_assets.plugins.environments import plugin_in, set_apart
from deid_assets.store.files import ALL, Receipt, StoreFiles
from deid_assets.store.retraining import RetrainMarks
from deid_assets.training import CARD, Card, Recipe, load_recipe, read_card
from deid_assets.training.card import close_folder
from deid_assets.training.corpora import GOLD, owner_of

PLUGIN = "plugin"
"""Option of a detector that names its plugin, where it is called otherwise."""
FILES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("content", pa.large_binary(), nullable=False),
    ]
)
"""A model folder as a table, so that it has a receipt as everything else."""


def recipes_of(settings: Settings) -> dict[str, Recipe]:
    """Return the recipes that an installation trains, by name.

    Raises:
        ConfigError: One is wrong, or does not exist.
    """
    return {recipe.name: recipe for recipe in map(load_recipe, settings.recipes)}


def find_installed_detectors(
    settings: Settings, found: Mapping[str, Plugin] | None = None
) -> dict[str, Plugin]:
    """Return the installed detectors by entry-point name, with those that the settings run in an
    environment of their own as they are there.

    Args:
        settings: Of the installation.
        found: What ``available`` returns, where that was asked already.
    """
    found = {**(available() if found is None else found)}
    for name, options in settings.detectors.items():
        environment, _ = set_apart(options)
        if environment and PLUGIN not in options:
            found[name] = plugin_in(environment, name)
    return found


def list_known_detectors(
    settings: Settings,
    *,
    plugins: Mapping[str, Plugin] | None = None,
    recipes: Mapping[str, Recipe] | None = None,
) -> dict[str, Plugin]:
    """Return what can detect: plugins by their name, and the tagger of each recipe by the recipe's.

    A plugin that needs a model and has none is left out, unless the settings name it: then it has a
    ``fault``, and so has a recipe whose plugin is not installed.
    """
    plugins = find_installed_detectors(settings) if plugins is None else plugins
    recipes = recipes_of(settings) if recipes is None else recipes
    named = {*settings.ensemble, *settings.detectors}
    found = {
        name: _configure(settings, plugin)
        for name, plugin in plugins.items()
        if name not in recipes and (name in named or plugin.fault or not plugin.needs_model)
    }
    for name, options in settings.detectors.items():
        if PLUGIN in options and name not in plugins and name not in recipes:
            found[name] = _name_plugin(name, options, plugins)
    for recipe in recipes.values():
        found[recipe.name] = _tagger(recipe, plugins)
    return found


def _configure(settings: Settings, plugin: Plugin) -> Plugin:
    if (
        not plugin.needs_model
        or plugin.fault
        or settings.detectors.get(plugin.name, {}).get("model")
    ):
        return plugin
    return replace(
        plugin,
        fault=f"it needs a model; set model under [detectors.{plugin.name}], or add a recipe",
    )


def _name_plugin(name: str, options: Mapping[str, Any], plugins: Mapping[str, Plugin]) -> Plugin:
    """Return a plugin under the name that ``[detectors.NAME]`` with ``plugin = "…"`` gives it."""
    plugin, (environment, _) = str(options[PLUGIN]), set_apart(options)
    if environment:
        return replace(plugin_in(environment, plugin), name=name)
    if plugin not in plugins:
        return Plugin(
            name, f"deid-{plugin}", "0", "", (), "", f"its plugin {plugin} is not installed"
        )
    return replace(plugins[plugin], name=name)


def _tagger(recipe: Recipe, plugins: Mapping[str, Plugin]) -> Plugin:
    trainer = plugins.get(recipe.plugin)
    if trainer is None:
        missing = f"its plugin {recipe.plugin} is not installed"
        return Plugin(
            recipe.name, f"deid-{recipe.plugin}", "0", recipe.description, (), "", missing
        )
    runner = plugins.get(trainer.runner) if trainer.exports_onnx else trainer
    if runner is None:
        return replace(
            trainer,
            name=recipe.name,
            fault=f"it runs as ONNX, and plugin {trainer.runner} is not installed",
        )
    # A tagger that asks another detector gives something else when that one changes.
    asked = plugins.get(name_asked(recipe))
    made_of = "".join(plugin.digest for plugin in (trainer, runner, asked) if plugin)
    digest = hashlib.sha256(made_of.encode()).hexdigest()
    return replace(
        runner, name=recipe.name, digest=digest, summary=recipe.description or trainer.summary
    )


def model_asset(recipe: Recipe, plugins: Mapping[str, Plugin]) -> str:
    """Return the asset whose model folder a recipe's detector runs.

    The export where there is one.
    """
    trainer = plugins.get(recipe.plugin)
    return (
        Family.ONNX.of(recipe.name)
        if trainer and trainer.exports_onnx
        else name_asset(recipe, plugins)
    )


def name_asset(recipe: Recipe, plugins: Mapping[str, Plugin]) -> str:
    """Return the asset that training a recipe makes.

    ``adapter_NAME`` where that is one, else ``tagger_NAME``.
    """
    trainer = plugins.get(recipe.plugin)
    family = Family.ADAPTER if trainer and trainer.trains_adapters else Family.TAGGER
    return family.of(recipe.name)


def name_asked(recipe: Recipe) -> str:
    """Return the detector that a recipe's tagger asks, by name, or nothing."""
    return str(recipe.settings.get("predictions_of") or recipe.settings.get("checker") or "")


class TaggerModels:
    """The trained models of an installation, taken out of the store when they are needed.

    Args:
        settings: Options of the detectors, and the ensemble.
        files: Where the models are stored.
        recipes: By name.
        plugins: Installed detectors.
    """

    def __init__(
        self,
        settings: Settings,
        files: StoreFiles,
        *,
        recipes: Mapping[str, Recipe],
        plugins: Mapping[str, Plugin],
    ) -> None:
        self._settings = settings
        self._files = files
        self._whole: set[Path] = set()
        self.recipes = recipes
        self._assets = {name: model_asset(recipe, plugins) for name, recipe in recipes.items()}
        self._trained = {name: name_asset(recipe, plugins) for name, recipe in recipes.items()}
        self._runners = {
            name: plugins[recipe.plugin].runner
            for name, recipe in recipes.items()
            if recipe.plugin in plugins
        }
        self._installed = {name for name, recipe in recipes.items() if recipe.plugin in plugins}
        self.learns_from_gold = any(GOLD in recipe.corpora for recipe in self.recipes.values())

    def locate(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the plugin and the keyword options that give a detector.

        Raises:
            ProvenanceError: It is a recipe's, and its model was not trained yet, or was altered.
        """
        options = dict(self._settings.detectors.get(name, {}))
        recipe = self.recipes.get(name)
        if recipe is None:
            return str(options.pop(PLUGIN, name)), options
        asset = self._assets[name]
        if family_of(asset) is Family.ONNX:
            return self._runners[name], {
                "precision": recipe.onnx,
                **options,
                "model": str(self.unpack(asset)),
            }
        return recipe.plugin, {**options, "model": str(self.unpack(asset))}

    def list_untrained(self) -> list[str]:
        """Return the models that were never trained, but for those in shadow whose plugin is not
        installed.
        """
        needed = [
            name
            for name in self._assets
            if name in self._settings.ensemble or name in self._installed
        ]
        return [
            self._assets[name]
            for name in needed
            if self._files.find(self._assets[name], ALL) is None
        ]

    def in_use(self, name: str) -> Path | None:
        """Return the folder of the model that a recipe's last training stored.

        None where there is none whole.
        """
        try:
            return self.unpack(self._trained[name])
        except ProvenanceError:
            return None

    def learnt_from_erased(self, name: str) -> bool:
        """Whether the stored model of a recipe learnt from notes that are erased, so that any
        newer one takes its place.
        """
        return RetrainMarks(self._files).holds(self._trained[name])

    def holds_back(self, assets: Collection[str]) -> bool:
        """Whether one of these models is the ensemble's, so that no batch can be made
        without it.
        """
        return any(
            asset in assets
            for name, asset in self._assets.items()
            if name in self._settings.ensemble
        )

    def receipt(self, asset: str) -> Receipt:
        """Return the receipt of a stored model.

        Raises:
            ProvenanceError: It was not trained yet, or was altered.
        """
        receipt = self._files.find(asset, ALL)
        if receipt is None:
            raise ProvenanceError(f"{asset}: never trained; run the job train_taggers")
        return receipt

    def unpack(self, asset: str) -> Path:
        """Return the folder of a stored model, written out again if it is not there whole.

        Raises:
            ProvenanceError: It was not trained yet, or was altered.
        """
        receipt = self.receipt(asset)
        folder = self._settings.home / "models" / asset / receipt.digest[:16]
        if folder in self._whole:
            return folder
        if not _is_whole(folder, str(receipt.counts["card"]), key=self._settings.key()):
            shutil.rmtree(folder, ignore_errors=True)
            unpack(self._files.read(asset, ALL, "files"), folder)
            _sweep(folder)
        self._whole.add(folder)
        return folder


def pack(folder: Path) -> pa.Table:
    """Return a model folder as a table."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    columns = [
        [path.relative_to(folder).as_posix() for path in paths],
        [path.read_bytes() for path in paths],
    ]
    return pa.table(
        [pa.array(columns[0], pa.string()), pa.array(columns[1], pa.large_binary())], schema=FILES
    )


def check_packed(table: pa.Table, card: Card) -> None:
    """Check that a packed folder is the one whose card was read and whose model was scored.

    Raises:
        ProvenanceError: A file changed meanwhile.
    """
    rows = table.to_pylist()
    found = {
        row["path"]: hashlib.sha256(row["content"]).hexdigest()
        for row in rows
        if row["path"] != CARD
    }
    if found != dict(card.files):
        raise ProvenanceError(
            "the model changed while it was scored; run the job train_taggers again"
        )


def unpack(table: pa.Table, folder: Path) -> None:
    """Write a model folder, whole or not at all.

    A process that does the same at once does no harm.
    """
    part = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    part.mkdir(parents=True, mode=0o700)
    for row in table.to_pylist():
        target = part / row["path"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(row["content"])
    close_folder(part)
    try:
        part.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(part)


def card_digest(folder: Path, *, key: Key) -> str:
    """Return a keyed digest of a model's card, which names the digests of its other files and of
    the notes.

    It is shown where no digest of notes may be confirmed.
    """
    return key.derive("tagger card", hashlib.sha256((folder / CARD).read_bytes()).hexdigest()).hex()


def _is_whole(folder: Path, wanted: str, *, key: Key) -> bool:
    try:
        read_card(folder, verify=True)
        return card_digest(folder, key=key) == wanted
    except (InputError, OSError):
        return False


def _sweep(kept: Path) -> None:
    """Delete the models that this one replaced."""
    for folder in kept.parent.iterdir():
        if folder != kept and not folder.name.startswith("."):
            shutil.rmtree(folder, ignore_errors=True)


def is_drawn_for_training(note: Note, key: Key, *, share: float) -> bool:
    """Whether a note is one of those that a recipe with corpus ``gold`` learns from.

    It depends on the secret and the patient alone: it stays as notes arrive, and all notes of a
    patient fall on one side.
    """
    return int.from_bytes(key.derive("training", owner_of(note))[:8]) / 2**64 < share
