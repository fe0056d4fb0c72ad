"""What a process executes, taken once when it starts.

Settings, policies, recipes, plugins and this package's code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import deid_assets
from deid_assets.config import Settings
from deid_assets.core.errors import ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.core.redact import Policy
from deid_assets.plugins import ACTIONS, AUDITS, FORMATS, GROUP, PAGES, TABLES, Plugin, available_of
from deid_assets.policies import load_policy
from deid_assets.quality.suites import Suite, suites_in
from deid_assets.runtime.taggers import known_detectors, recipes_of
from deid_assets.system.digests import digest_of_files, files_below
from deid_assets.training import Recipe

PACKAGES = ("deid_assets", "deid_resources")
_NOT_IN_THE_GRAPH = frozenset({"__pycache__", "cli"})
_REMEDY = "nothing was stored; start the process again, and reload the code location in Dagster"
_GROUPS = (GROUP, FORMATS, AUDITS, ACTIONS, TABLES, PAGES)


@dataclass(frozen=True)
class Snapshot:
    """Snapshot of what a process promised to execute.

    It is never updated, only compared with what is there.

    Args:
        settings: How this installation de-identifies.
        installed: Detectors by entry-point name.
        recipes: Taggers that the settings name, by the recipe's name.
        policies: Redaction policies by the name or path that the settings give.
        software: This package's version and digest.
        formats: Plugins that bring formats, by the format's name.
        audits: Privacy audits by entry-point name.
        actions: Actions of policies that plugins bring; their digests are in those of the policies.
        tables: Tables that plugins make of their own detectors.
        pages: Pages on detectors that plugins make.
        suites: The installation's own suites of expectations, by asset.
        promised: Digest of the snapshot that the definitions of a run were made of; none where the
            run and its definitions share a process.
    """

    settings: Settings
    installed: Mapping[str, Plugin]
    recipes: Mapping[str, Recipe]
    policies: Mapping[str, Policy]
    software: str
    formats: Mapping[str, Plugin] = field(default_factory=dict)
    audits: Mapping[str, Plugin] = field(default_factory=dict)
    actions: Mapping[str, Plugin] = field(default_factory=dict)
    tables: Mapping[str, Plugin] = field(default_factory=dict)
    pages: Mapping[str, Plugin] = field(default_factory=dict)
    suites: Mapping[str, Suite] = field(default_factory=dict)
    promised: str = ""
    _options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def take(
        cls,
        settings: Settings,
        *,
        plugins: Mapping[str, Plugin] | None = None,
        audits: Mapping[str, Plugin] | None = None,
        promised: str = "",
    ) -> Self:
        """Return the snapshot of an installation as it is now.

        Args:
            settings: Of the installation.
            plugins: Installed detectors; found by entry point when not given.
            audits: Installed audits; likewise.
            promised: See the class.

        Raises:
            ConfigError: The settings name a policy or recipe that does not exist, or a policy,
                recipe or suite is wrong.
        """
        detectors, formats, installed_audits, actions, tables, pages = available_of(*_GROUPS)
        return cls(
            settings,
            detectors if plugins is None else plugins,
            recipes_of(settings),
            {
                source: load_policy(source)
                for source in (*settings.policies, settings.release_policy)
            },
            software_version(),
            formats,
            installed_audits if audits is None else audits,
            actions,
            tables,
            pages,
            suites_in(settings.suites_folder),
            promised,
            {name: settings.digest_of_detector(name) for name in settings.detectors},
        )

    @property
    def released(self) -> Policy:
        """The policy that is released."""
        return self.policies[self.settings.release_policy]

    @cached_property
    def detectors(self) -> dict[str, Plugin]:
        """The plugins that detect, as ``known_detectors`` returns them."""
        return known_detectors(self.settings, plugins=self.installed, recipes=self.recipes)

    def page(self, name: str) -> Plugin | None:
        """Return the plugin that makes a page on detectors, or ``None`` where none can."""
        plugin = self.pages.get(name)
        return None if plugin is None or plugin.fault else plugin

    @cached_property
    def key(self) -> Key:
        """Secret that surrogates are derived from."""
        return Key(self._secret)

    @cached_property
    def _secret(self) -> bytes:
        return self.settings.secret()

    @cached_property
    def receipt_key(self) -> bytes:
        """Key that receipts are signed with."""
        return self.key.derive("receipts")

    @cached_property
    def digest(self) -> str:
        """Digest of all of it but the files that detectors' options name, which may change from run
        to run.

        It is keyed, since settings may hold a password and Dagster stores it.
        """
        made_of = {
            "settings": self.settings.model_dump(mode="json"),
            "plugins": {name: plugin.code_version for name, plugin in self.installed.items()},
            "formats": {name: plugin.code_version for name, plugin in self.formats.items()},
            "audits": {name: plugin.code_version for name, plugin in self.audits.items()},
            "tables": {name: plugin.code_version for name, plugin in self.tables.items()},
            "pages": {name: plugin.code_version for name, plugin in self.pages.items()},
            "recipes": {name: recipe.digest for name, recipe in self.recipes.items()},
            "policies": {name: policy.digest for name, policy in self.policies.items()},
            "software": self.software,
            "suites": {name: suite.digest for name, suite in self.suites.items()},
        }
        return self.key.derive("snapshot", json.dumps(made_of, sort_keys=True)).hex()

    @property
    def names(self) -> str:
        """What the graph's assets are named after.

        Detectors, recipes, policies, audits, tables, pages, whether one approves.
        """
        approval = ["approval"] if self.settings.release.approval else []
        policies = (policy.name for policy in self.policies.values())
        audits = ["|", *sorted(self.audits), "|", *sorted(self.tables), "|", *sorted(self.pages)]
        return " ".join(
            [
                *sorted(self.detectors),
                "|",
                *sorted(self.recipes),
                "|",
                *sorted(policies),
                *approval,
                *audits,
            ]
        )

    @property
    def format_versions(self) -> str:
        """Short digest of the versions of all plugins that bring formats."""
        versions = ",".join(
            f"{name}={plugin.code_version}" for name, plugin in sorted(self.formats.items())
        )
        return hashlib.sha256(versions.encode()).hexdigest()[:12]

    def digest_of_detector(self, name: str) -> str:
        """Return a short digest of a detector's options and of what the files they name hold."""
        return self._options.get(name) or self.settings.digest_of_detector(name)

    def check_promised(self) -> None:
        """Check that the definitions, from which the run was launched, were made of the same.

        Raises:
            ProvenanceError: They were not.
        """
        if self.promised and self.promised != self.digest:
            raise ProvenanceError(
                "settings, policies, plugins or code changed since the code location was loaded; "
                "nothing was stored; reload the code location and launch the run again"
            )

    def check_unchanged(self, detectors: Iterable[str] = ()) -> None:
        """Check that the secret, the code on disk, and what detectors' options name, is still what
        was promised.

        Args:
            detectors: Those whose options count.

        Raises:
            ProvenanceError: One changed; workers, modules and models that were loaded later may
                hold the change.
        """
        if self.settings.secret() != self._secret:
            raise ProvenanceError(f"the secret changed since this process started; {_REMEDY}")
        if _software() != self.software:
            raise ProvenanceError(
                f"files of deid-assets changed since this process started; {_REMEDY}"
            )
        known = (self.installed, self.formats, self.audits, self.actions, self.tables, self.pages)
        for taken, present in zip(known, available_of(*_GROUPS), strict=True):
            for name, plugin in taken.items():
                if name not in present or present[name].code_version != plugin.code_version:
                    raise ProvenanceError(
                        f"plugin {name!r} changed since this process started; {_REMEDY}"
                    )
        for name in detectors:
            if (
                name in self._options
                and self.settings.digest_of_detector(name) != self._options[name]
            ):
                raise ProvenanceError(
                    f"a file that the options of detector {name!r} name changed since this process"
                    f" started; {_REMEDY}"
                )


@cache
def software_version() -> str:
    """Return the version of this package with a digest of its files, as this process started with
    them.

    The command line is left out: nothing in the graph runs it.
    """
    return _software()


def _software() -> str:
    files = []
    for package in PACKAGES:
        for folder in _folders(package):
            below = files_below(folder, without=_NOT_IN_THE_GRAPH)
            files += [(f"{package}/{name}", path) for name, path in below]
    return f"{deid_assets.__version__}+{digest_of_files(files)[:12]}"


def _folders(package: str) -> list[Path]:
    spec = find_spec(package)
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []
