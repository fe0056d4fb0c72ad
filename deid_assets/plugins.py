"""Detectors, trainers, formats, audits, commands and corpora found by entry point.

Listed without importing them, loaded loudly. What a plugin is called in lists, and its keywords,
are those of its distribution, or where one distribution brings several, those of the file
``plugin.toml`` in the plugin's package.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from deid_assets import languages
from deid_assets.core.detector import Detector
from deid_assets.core.errors import PluginError, class_name, did_you_mean
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Trainer
from deid_assets.extras import lacking
from deid_assets.own_plugins import message_of, missing
from deid_assets.system.digests import digest_of_package

GROUP = "deid_assets.detectors"
TRAINERS = "deid_assets.trainers"
FORMATS = "deid_assets.formats"
AUDITS = "deid_assets.audits"
ACTIONS = "deid_assets.actions"
TABLES = "deid_assets.tables"
PAGES = "deid_assets.pages"
COMMANDS = "deid_assets.commands"
CORPORA = "deid_assets.corpora"
FEEDS = "deid_assets.feeds"
RECIPES = "deid_assets.recipes"
"""Packages with a folder ``recipes``."""
NEEDS_MODEL = "needs-model"
EXPORTS_ONNX = "exports-onnx"
RUNS_EXPORTS = "runs-exports"
ONNX = "onnx"
"""Detector that runs ONNX exports of other plugins."""
TRAINS_ADAPTERS = "trains-adapters"
USES = "uses-"
"""Of a keyword: the detector behind it is run by this one, so that its spans depend on that one's
files too.
"""
USES_LANGUAGES = "uses-languages"
"""The plugin reads the folders of ``deid_assets.languages``, which count as files of its own."""
ABOUT = "plugin.toml"
"""File of a package with ``summary`` and ``keywords``, in the place of its distribution's.

Where a package brings several plugins, its table ``summaries`` has one for each by name.
"""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_COMMAND = re.compile(r"[a-z][a-z0-9-]{0,40}")

LANGUAGES = languages.__name__
_executed: dict[tuple[str, bool], tuple[ModuleType, str]] = {}
"""Top-level package, and whether it reads languages, to its imported module and the digest of the
files that it was imported from.
"""


@dataclass(frozen=True, slots=True)
class Plugin:
    """Metadata of an installed detector, known before it is imported.

    Args:
        name: Entry-point name.
        distribution: Name of the distribution that brings it.
        version: Version of that distribution.
        summary: One line on it.
        keywords: What it is and needs; the first two are its kinds in the Dagster UI.
        digest: SHA-256 over the plugin's source and bundled files, and those of languages where it
            reads them; changes with any edit, also before a release.
        fault: Why it cannot be loaded, or empty.
        entry_point: What it was found by.
        used_digest: SHA-256 over the files of the detectors that it runs, or empty; its keywords
            say so with ``uses-NAME``.
    """

    name: str
    distribution: str
    version: str
    summary: str
    keywords: tuple[str, ...]
    digest: str
    fault: str = ""
    entry_point: EntryPoint | None = field(default=None, repr=False, compare=False)
    used_digest: str = ""

    @property
    def needs_model(self) -> bool:
        """Whether it is of no use until its option ``model`` is set.

        Its keywords say so with ``needs-model``.
        """
        return NEEDS_MODEL in self.keywords

    @property
    def exports_onnx(self) -> bool:
        """Whether its models are networks that it can export to ONNX.

        Its keywords say so with ``exports-onnx``.
        """
        return EXPORTS_ONNX in self.keywords

    @property
    def runner(self) -> str:
        """Detector that runs the exports of its models.

        ``onnx``, or itself where its keywords say ``runs-exports``.
        """
        return self.name if RUNS_EXPORTS in self.keywords else ONNX

    @property
    def trains_adapters(self) -> bool:
        """Whether its models are adapters on a base.

        Its keywords say so with ``trains-adapters``.
        """
        return TRAINS_ADAPTERS in self.keywords

    @property
    def uses_languages(self) -> bool:
        """Whether it reads the languages' folders.

        Its keywords say so with ``uses-languages``.
        """
        return USES_LANGUAGES in self.keywords

    @property
    def package(self) -> str:
        """Top-level package that it is in; a distribution may hold several."""
        return _package(self.entry_point) if self.entry_point else ""

    @property
    def code_version(self) -> str:
        """Version and digest, as recorded with everything the detector makes."""
        versions = [self.version, self.digest[:12], self.used_digest[:12]]
        return "+".join(version for version in versions if version)


def available(group: str = GROUP) -> dict[str, Plugin]:
    """Return every installed detector, trainer, format or audit, by name, without importing one.

    A plugin with a bad name, a missing module or a name that two distributions claim is listed with
    its ``fault``, so that one broken plugin hides none of the others.
    """
    return available_of(group)[0]


def available_of(*groups: str) -> list[dict[str, Plugin]]:
    """Return what ``available`` does of each group; the environment is searched once."""
    every = entry_points()
    digest = cache(_digest)  # a package may bring several
    return [_described(_installed(every.select(group=group)), digest) for group in groups]


def _installed(entries: Iterable[EntryPoint]) -> list[EntryPoint]:
    """Return the entry points whose extras are installed; the others are as good as absent."""
    return [entry for entry in entries if not lacking(entry)]


def _described(
    entries: Iterable[EntryPoint], digest: Callable[[str], tuple[str, str]]
) -> dict[str, Plugin]:
    found: dict[str, Plugin] = {}
    for entry_point in sorted(entries, key=lambda entry: (entry.name, entry.value)):
        plugin = _describe(entry_point, digest)
        plugin = replace(plugin, used_digest=_used_digest(plugin, digest))
        if plugin.name in found:
            rival = found[plugin.name]
            fault = f"named by both {rival.distribution} and {plugin.distribution}; uninstall one"
            plugin = replace(plugin, fault=fault)
        found[plugin.name] = plugin
    return found


def _package(entry_point: EntryPoint) -> str:
    return entry_point.module.partition(".")[0]


def _used_digest(plugin: Plugin, digest: Callable[[str], tuple[str, str]]) -> str:
    """Return a digest over the files of the detectors that a plugin runs.

    Of those that are not installed, nothing.
    """
    names = [
        keyword.removeprefix(USES)
        for keyword in plugin.keywords
        if keyword.startswith(USES) and keyword != USES_LANGUAGES
    ]
    used = [
        entry
        for name in names
        for entry in _installed(entry_points().select(group=GROUP, name=name))
    ]
    digests = sorted(_describe(entry, digest).digest for entry in used)
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""


def load(
    name: str,
    *,
    options: Mapping[str, Any] | None = None,
    plugin: str | None = None,
    digest: str = "",
) -> Detector:
    """Return a detector, built with keyword options.

    Args:
        name: What it is called, which its spans have as their source.
        options: Keyword arguments of the plugin's callable.
        plugin: Entry-point name where it is another than ``name``: the detector of a trained model
            is called as its recipe, and its plugin takes the option ``name``.
        digest: Of the plugin's files, where they must be those that something was promised of.

    Raises:
        PluginError: No such detector (the message lists the installed ones), a doubled name, an
            import that fails, files that were changed meanwhile, an option it does not take, or an
            object that is no detector.
    """
    plugin = plugin or name
    given = dict(options or {}) | ({"name": name} if plugin != name else {})
    known = _known(plugin, GROUP, "detector")
    if digest and known.digest != digest:
        raise PluginError(
            f"detector {plugin!r}: its files changed since this process started; start it again"
        )
    detector = _made(known, "detector", given)
    if not isinstance(detector, Detector) or detector.name != name:
        raise PluginError(
            f"detector {name!r}: what plugin {plugin!r} gives is not a detector of that name"
        )
    return detector


def check_importable(plugin: Plugin) -> None:
    """Import a plugin without building its detector, which may need a model.

    Raises:
        PluginError: It has a fault, or cannot be imported.
    """
    if plugin.fault:
        raise PluginError(f"detector {plugin.name!r}: {plugin.fault}")
    _imported(plugin, "detector")


def load_trainer(name: str) -> Trainer:
    """Return a trainer by its entry-point name.

    Raises:
        PluginError: As for ``load``.
    """
    trainer = _made(_known(name, TRAINERS, "trainer"), "trainer", {})
    if not isinstance(trainer, Trainer) or trainer.name != name:
        raise PluginError(f"trainer {name!r}: it is not a trainer of that name")
    return trainer


def build(name: str, group: str, kind: str, options: Mapping[str, Any]) -> object:
    """Return what a plugin of any group makes for the options; its caller checks what that is.

    Args:
        name: Entry-point name.
        group: Of the entry point.
        kind: What it is called in messages.
        options: Keyword arguments of the plugin's callable.

    Raises:
        PluginError: As for ``load``.
    """
    return _made(_known(name, group, kind), kind, options)


def load_corpus(name: str) -> Callable[..., Iterator[tuple[Note, SpanSet]]]:
    """Return what makes a corpus.

    Called with ``lang``, ``notes`` and ``seed``, it gives notes with their gold spans.

    Raises:
        PluginError: As for ``load``.
    """
    maker: Callable[..., Any] = _imported(
        _known(name, CORPORA, "maker of corpora"), "maker of corpora"
    )
    return maker


def load_feed(kind: str, options: Mapping[str, Any]) -> object:
    """Return a feed of a plugin's kind, built with keyword options.

    Raises:
        PluginError: As for ``load``.
    """
    return _made(_known(kind, FEEDS, "kind of feed"), "kind of feed", options)


def load_declaration(plugin: Plugin, kind: str) -> object:
    """Return the object that an entry point names, as it is.

    Args:
        plugin: As ``available`` gives it.
        kind: What it is called in messages.

    Raises:
        PluginError: It has a fault, or cannot be imported.
    """
    if plugin.fault:
        raise PluginError(f"{kind} {plugin.name!r}: {plugin.fault}")
    return _imported(plugin, kind)


def _known(name: str, group: str, kind: str) -> Plugin:
    entries = entry_points().select(group=group, name=name)
    plugin = _described(_installed(entries), cache(_digest)).get(name)
    if plugin is None:
        if remedy := missing(group, name) or _lacking(entries):
            raise PluginError(f"{kind} {name!r}: {remedy}")
        known = available(group)
        raise PluginError(
            f"unknown {kind} {name!r}{did_you_mean(name, known)}; installed:"
            f" {', '.join(known) or 'none'}"
        )
    if plugin.fault:
        raise PluginError(f"{kind} {name!r}: {plugin.fault}")
    return plugin


def _lacking(entries: Iterable[EntryPoint]) -> str:
    """Return the extra that a plugin of others needs and that is not installed, with the remedy."""
    for entry in entries:
        for extra in lacking(entry):
            wanted = f"{entry.dist.name}[{extra}]" if entry.dist else extra
            return f"its extra {extra!r} is not installed; install {wanted!r} with pip"
    return ""


def _made(plugin: Plugin, kind: str, options: Mapping[str, Any]) -> object:
    """Return what the entry point gives for the options.

    An error is reported by the plugin's name, without its text.

    What a foreign error says may quote a patient table that the plugin reads.
    """
    loaded = _imported(plugin, kind)
    _check_options(plugin, kind, loaded, options)
    try:
        return loaded(**options)
    except (
        Exception,  # noqa: BLE001 - only the class of a foreign error is safe to show
        SystemExit,
    ) as error:
        if message := message_of(error):
            raise PluginError(f"{kind} {plugin.name!r} does not load: {message}") from None
        raise PluginError(
            f"{kind} {plugin.name!r} does not load ({class_name(error)}); build it in a Python"
            " shell to see why"
        ) from None


def _imported(plugin: Plugin, kind: str) -> Callable[..., object]:
    """Return the object that the entry point names, made of the very files that the plugin's digest
    is of.
    """
    if plugin.entry_point is None:
        raise PluginError(
            f"{kind} {plugin.name!r}: it has no entry point; install the plugin again"
        )
    try:
        loaded: Callable[..., object] = plugin.entry_point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        why = message_of(error) or class_name(error)
        raise PluginError(
            f"{kind} {plugin.name!r} cannot be imported ({why}); "
            f"python -c 'import {plugin.entry_point.module}' shows where"
        ) from None
    package = _package(plugin.entry_point)
    module = sys.modules[package]
    files = (package, plugin.uses_languages)
    if files not in _executed or _executed[files][0] is not module:
        own = digest_of_package(package)[0]
        _executed[files] = (module, _with_languages(own, _digest) if plugin.uses_languages else own)
    if plugin.digest != _executed[files][1]:
        raise PluginError(
            f"{kind} {plugin.name!r}: its files changed since it was imported; start this process"
            " again"
        )
    return loaded


def _check_options(
    plugin: Plugin, kind: str, loaded: Callable[..., object], options: Mapping[str, Any]
) -> None:
    """Check that the callable takes the options, and that none is missing that it needs.

    Raises:
        PluginError: It does not, and the message names the first one, and the nearest that it
            takes; or one is missing.
    """
    try:
        parameters = inspect.signature(loaded).parameters.values()
    except (TypeError, ValueError):  # written in C: it will say so itself
        return
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and one.default is one.empty and one.name not in options:
            raise PluginError(f"{kind} {plugin.name!r} needs {_wanted(plugin.name, one.name)}")
    taken = [
        one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return
    for option in options:
        if option not in taken:
            raise PluginError(
                f"{kind} {plugin.name!r} takes no option {option!r}{did_you_mean(option, taken)}; "
                f"it takes {', '.join(taken) or 'none'}"
            )


def _wanted(name: str, option: str) -> str:
    if option == "model":
        return (
            f"a model: name its folder as {name}=FOLDER on the command line, as the option `model`"
            " elsewhere"
        )
    return f"its option {option!r}"


def _describe(entry_point: EntryPoint, digest_of: Callable[[str], tuple[str, str]]) -> Plugin:
    fields = entry_point.dist.metadata if entry_point.dist else None
    metadata = {
        name: fields[name]
        for name in ("Name", "Version", "Summary", "Keywords")
        if fields and name in fields
    }
    digest, fault = digest_of(_package(entry_point))
    summary = metadata.get("Summary", "")
    keywords = [word for word in re.split(r"[,\s]+", metadata.get("Keywords", "")) if word]
    try:
        if about := _about(entry_point):
            summary, keywords = about
    except (OSError, TypeError, ValueError, KeyError) as error:
        fault = fault or f"its {ABOUT} cannot be read ({class_name(error)}); install it again"
    if USES_LANGUAGES in keywords:
        digest = _with_languages(digest, digest_of)
    form = _COMMAND if entry_point.group.startswith(COMMANDS) else _NAME
    if not form.fullmatch(entry_point.name):
        fault = f"name must match ^{form.pattern}$"
    return Plugin(
        name=entry_point.name,
        distribution=metadata.get("Name", "unknown"),
        version=metadata.get("Version", "0"),
        summary=summary,
        keywords=tuple(keywords),
        digest=digest,
        fault=fault,
        entry_point=entry_point,
    )


def _digest(package: str) -> tuple[str, str]:
    """Return the digest of a package's files, or of the languages' folders, and a fault or none."""
    return (languages.digest(), "") if package == LANGUAGES else digest_of_package(package)


def _with_languages(digest: str, digest_of: Callable[[str], tuple[str, str]]) -> str:
    """Return the digest of a plugin's files and of the languages' folders."""
    both = f"{digest}{digest_of(LANGUAGES)[0]}"
    return hashlib.sha256(both.encode()).hexdigest() if digest else ""


def _about(entry_point: EntryPoint) -> tuple[str, list[str]] | None:
    """Return the summary and keywords in a package's own file, without importing the package.

    The summary is the one that the table ``summaries`` has under the entry point's name, else that
    of the package. None where the package has no such file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no TOML.
        KeyError: It lacks one of the two.
        TypeError: Its summaries are no table.
    """
    spec = find_spec(_package(entry_point))  # finds, does not import
    for folder in (spec.submodule_search_locations if spec else None) or ():
        file = Path(folder, ABOUT)
        if file.is_file():
            said = tomllib.loads(file.read_text(encoding="utf-8"))
            return _summary(said, entry_point.name), [str(word) for word in said["keywords"]]
    return None


def _summary(said: Mapping[str, Any], name: str) -> str:
    return str(dict(said.get("summaries", {})).get(name, said["summary"]))


def summary_of(package: str, name: str) -> str:
    """Return the summary of a plugin in its package's ``plugin.toml``, which lists show too.

    Args:
        package: Top-level package with the file.
        name: Of the entry point.

    Raises:
        PluginError: The file is not there, is no TOML, or has no summary.
    """
    file = files(package).joinpath(ABOUT)
    try:
        return _summary(tomllib.loads(file.read_text(encoding="utf-8")), name)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PluginError(f"package {package}: its {ABOUT} cannot be read: {error}") from None
