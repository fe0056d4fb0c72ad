"""Actions that plugins bring.

Each entry point names a class of replacers, which reads its own options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from deid_assets.core.errors import ConfigError, PluginError, did_you_mean
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Replacer
from deid_assets.own_plugins import describe_missing
from deid_assets.plugins import ACTIONS, Plugin, available, load_declaration


@runtime_checkable
class PluginAction(Protocol):
    """A class of replacers that a policy file may name.

    As ``core.redact.Replacer``, with these beside.

    Attributes:
        serves: Categories whose values it reads; empty for any.
        in_words: What it does, for people who sign releases.
        packages: Distributions whose versions decide on what it writes, for the policy's digest.
        avoids_originals: Whether it is given the batch's values, none of which it may write.
    """

    serves: Sequence[Phi]
    in_words: str
    packages: Sequence[str]
    avoids_originals: bool

    def from_options(self, options: Mapping[str, Any], *, folder: Path, plugin: str) -> Replacer:
        """Return the replacer; loads no model.

        Args:
            options: Of the policy file.
            folder: That of the policy file, for relative paths.
            plugin: Version of the plugin's code, to be a field of the replacer, for the policy's
                digest.

        Raises:
            ConfigError: An option is unknown, has no such value, or names what is not there.
        """
        ...


class PluginActions:
    """The actions of plugins, looked up once for a whole policy.

    Their files are read for their digests.
    """

    @cached_property
    def known(self) -> Mapping[str, Plugin]:
        """By name."""
        return available(ACTIONS)


def plugin_action(
    name: str, builtin: Sequence[str], actions: PluginActions
) -> tuple[Plugin, PluginAction]:
    """Return an action that a plugin brings.

    Raises:
        ConfigError: There is none of that name, or it cannot be used.
    """
    known = actions.known
    if name not in known:
        if remedy := describe_missing(ACTIONS, name):
            raise ConfigError(f"action {name!r}: {remedy}")
        all_names = sorted({*builtin, *known})
        raise ConfigError(
            f"there is no action {name!r}{did_you_mean(name, all_names)}; choose of"
            f" {', '.join(all_names)}"
        )
    try:
        found = load_declaration(known[name], "action")
    except PluginError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(found, PluginAction):
        raise ConfigError(f"action {name!r}: what its plugin names is no class of replacers")
    return known[name], found
