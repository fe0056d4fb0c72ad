"""Loads plugins, and says of one that does not load why, without the text of foreign errors."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from deid_assets.core.detector import Detector
from deid_assets.core.errors import PluginError, class_name, did_you_mean
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Trainer
from deid_assets.own_plugins import message_of
from deid_assets.plugins.description import (
    CORPORA,
    FEEDS,
    GROUP,
    TRAINERS,
    Plugin,
    add_languages,
    digest_of_code,
    package_of,
)
from deid_assets.plugins.environments import import_fault, load_apart, plugin_in, set_apart
from deid_assets.plugins.installed import find_named
from deid_assets.system.digests import digest_of_package

_executed: dict[tuple[str, bool], tuple[ModuleType, str]] = {}
"""Top-level package, and whether it reads languages, to its imported module and the digest of the
files that it was imported from.
"""


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
        options: Keyword arguments of the plugin's callable; ``environment`` is none of them, and
            names the virtual environment that it runs in.
        plugin: Entry-point name where it is another than ``name``: the detector of a trained model
            is called as its recipe, and its plugin takes the option ``name``.
        digest: Of the plugin's files, where they must be those that something was promised of.

    Raises:
        PluginError: No such detector (the message lists the installed ones), a doubled name, an
            import that fails, files that were changed meanwhile, an option it does not take, or an
            object that is no detector.
    """
    plugin = plugin or name
    environment, own = set_apart(options or {})
    given = own | ({"name": name} if plugin != name else {})
    known = plugin_in(environment, plugin) if environment else find_named(plugin, GROUP, "detector")
    if digest and known.digest != digest:
        raise PluginError(
            f"detector {plugin!r}: its files changed since this process started; start it again"
        )
    if environment:
        return load_apart(name, known, given)
    detector = _make(known, "detector", given)
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
    if not plugin.environment:
        _import(plugin, "detector")
    elif fault := import_fault(plugin):
        raise PluginError(f"detector {plugin.name!r} {fault}")


def load_trainer(name: str) -> Trainer:
    """Return a trainer by its entry-point name.

    Raises:
        PluginError: As for ``load``.
    """
    trainer = _make(find_named(name, TRAINERS, "trainer"), "trainer", {})
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
    return _make(find_named(name, group, kind), kind, options)


def load_corpus(name: str) -> Callable[..., Iterator[tuple[Note, SpanSet]]]:
    """Return what makes a corpus.

    Called with ``lang``, ``notes`` and ``seed``, it gives notes with their gold spans.

    Raises:
        PluginError: As for ``load``.
    """
    maker: Callable[..., Any] = _import(
        find_named(name, CORPORA, "maker of corpora"), "maker of corpora"
    )
    return maker


def load_feed(kind: str, options: Mapping[str, Any]) -> object:
    """Return a feed of a plugin's kind, built with keyword options.

    Raises:
        PluginError: As for ``load``.
    """
    return _make(find_named(kind, FEEDS, "kind of feed"), "kind of feed", options)


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
    return _import(plugin, kind)


def _make(plugin: Plugin, kind: str, options: Mapping[str, Any]) -> object:
    """Return what the entry point gives for the options.

    An error is reported by the plugin's name, without its text.

    What a foreign error says may quote a patient table that the plugin reads.
    """
    loaded = _import(plugin, kind)
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


def _import(plugin: Plugin, kind: str) -> Callable[..., object]:
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
    package = package_of(plugin.entry_point)
    module = sys.modules[package]
    files = (package, plugin.uses_languages)
    if files not in _executed or _executed[files][0] is not module:
        own = digest_of_package(package)[0]
        _executed[files] = (
            module,
            add_languages(own, digest_of_code) if plugin.uses_languages else own,
        )
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
            raise PluginError(
                f"{kind} {plugin.name!r} needs {_describe_option(plugin.name, one.name)}"
            )
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


def _describe_option(name: str, option: str) -> str:
    if option == "model":
        return (
            f"a model: name its folder as {name}=FOLDER on the command line, as the option `model`"
            " elsewhere"
        )
    return f"its option {option!r}"
