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
from deid_assets.plugins import (
    ACTIONS,
    AUDITS,
    FORMATS,
    GROUP,
    PAGES,
    SYNTHESIS,
    TABLES,
    Plugin,
    available_of,
)
from deid_assets.policies import load_policy
from deid_assets.quality.suites import Suite, suites_in
from deid_assets.runtime.studies import Study, files_of, load_studies
from deid_assets.runtime.taggers import find_installed_detectors, list_known_detectors, recipes_of
from deid_assets.system.digests import digest_of_files, paths_below
from deid_assets.training import Recipe

PACKAGES = ("deid_assets", "deid_resources")
_NOT_IN_THE_GRAPH = frozenset({"__pycache__", "cli", "evidence"})
_REMEDY = "nothing was stored; start the process again, and reload the code location in Dagster"
_GROUPS = (GROUP, FORMATS, AUDITS, ACTIONS, TABLES, PAGES, SYNTHESIS)


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
        generators: Makers of synthetic corpora by entry-point name.
        suites: The installation's own suites of expectations, by asset.
        promised: Digest of the snapshot that the definitions of a run were made of; none where the
            run and its definitions share a process.
        studies: Releases of their own over the same spans, by name.
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
    generators: Mapping[str, Plugin] = field(default_factory=dict)
    suites: Mapping[str, Suite] = field(default_factory=dict)
    promised: str = ""
    _options: Mapping[str, str] = field(default_factory=dict, repr=False)
    studies: Mapping[str, Study] = field(default_factory=dict)

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
        found, formats, installed_audits, actions, tables, pages, generators = available_of(
            *_GROUPS
        )
        return cls(
            settings,
            find_installed_detectors(settings, found) if plugins is None else plugins,
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
            generators,
            suites_in(settings.suites_folder),
            promised,
            {name: settings.digest_of_detector(name) for name in settings.detectors},
            load_studies(settings),
        )

    @property
    def released(self) -> Policy:
        """The policy that is released."""
        return self.policies[self.settings.release_policy]

    @cached_property
    def detectors(self) -> dict[str, Plugin]:
        """The plugins that detect, as ``list_known_detectors`` returns them."""
        return list_known_detectors(self.settings, plugins=self.installed, recipes=self.recipes)

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
            "plugins": {
                name: plugin.code_version
                for name, plugin in {**self._apart(self.detectors), **self.installed}.items()
            },
            "formats": {name: plugin.code_version for name, plugin in self.formats.items()},
            "audits": {name: plugin.code_version for name, plugin in self.audits.items()},
            "tables": {name: plugin.code_version for name, plugin in self.tables.items()},
            "pages": {name: plugin.code_version for name, plugin in self.pages.items()},
            "generators": {name: own.code_version for name, own in self.generators.items()},
            "recipes": {name: recipe.digest for name, recipe in self.recipes.items()},
            "policies": {name: policy.digest for name, policy in self.policies.items()},
            "software": self.software,
            "suites": {name: suite.digest for name, suite in self.suites.items()},
            "studies": {name: study.digest for name, study in self.studies.items()},
        }
        return self.key.derive("snapshot", json.dumps(made_of, sort_keys=True)).hex()

    @staticmethod
    def _apart(detectors: Mapping[str, Plugin]) -> dict[str, Plugin]:
        """Return those that run in an environment of their own, also under a name of their own."""
        return {name: plugin for name, plugin in detectors.items() if plugin.environment}

    @property
    def names(self) -> str:
        """What the graph's assets are named after.

        Detectors, recipes, policies, audits, tables, pages, generators of corpora, whether one
        approves, studies, structured tables.
        """
        approval = ["approval"] if self.settings.release.approval else []
        policies = (policy.name for policy in self.policies.values())
        studies = [
            name + ("+approval" if self.settings.of_study(name).release.approval else "")
            for name in sorted(self.studies)
        ]
        tables = [
            f"{name}+{','.join(filter(table.is_of, sorted(self.studies)))}"
            for name, table in sorted(self.settings.tables.items())
        ]
        audits = ["|", *sorted(self.audits), "|", *sorted(self.tables), "|", *sorted(self.pages)]
        generators = ["|", *sorted(self.generators)] if self.generators else []
        return " ".join(
            [
                *sorted(self.detectors),
                "|",
                *sorted(self.recipes),
                "|",
                *sorted(policies),
                *approval,
                *audits,
                *generators,
                *(["|", *studies] if studies else []),
                *(["|", *tables] if tables else []),
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
        if any(files_of(study.settings) != study.files for study in self.studies.values()):
            raise ProvenanceError(
                "a list of patients or the key of a study changed since this process started;"
                f" {_REMEDY}"
            )
        if _software() != self.software:
            raise ProvenanceError(
                f"files of deid-assets changed since this process started; {_REMEDY}"
            )
        groups = (self.formats, self.audits, self.actions, self.tables, self.pages)
        known = (self.installed, self._apart(self.detectors), *groups, self.generators)
        found, *others = available_of(*_GROUPS)
        installed = find_installed_detectors(self.settings, found)
        detectors = list_known_detectors(self.settings, plugins=installed, recipes=self.recipes)
        there = [installed, self._apart(detectors), *others]
        for taken, present in zip(known, there, strict=True):
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

    The command line and the evidence file are left out: nothing in the graph runs them.
    """
    return _software()


def _software() -> str:
    files = []
    for package in PACKAGES:
        for folder in _folders(package):
            below = paths_below(folder, without=_NOT_IN_THE_GRAPH)
            files += [(f"{package}/{name}", path) for name, path in below]
    return f"{deid_assets.__version__}+{digest_of_files(files)[:12]}"


def _folders(package: str) -> list[Path]:
    spec = find_spec(package)
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []
