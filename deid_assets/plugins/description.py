"""What a plugin is: the groups of entry points, and what is known of one before it is imported.

What it is called in lists, and its keywords, are those of its distribution, or where one
distribution brings several, those of the file ``plugin.toml`` in the plugin's package.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.parser import HeaderParser
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deid_assets import languages
from deid_assets.core.errors import PluginError, class_name
from deid_assets.system.digests import FindsModule, digest_of_package

GROUP = "deid_assets.detectors"
TRAINERS = "deid_assets.trainers"
FORMATS = "deid_assets.formats"
AUDITS = "deid_assets.audits"
ACTIONS = "deid_assets.actions"
TABLES = "deid_assets.tables"
PAGES = "deid_assets.pages"
SYNTHESIS = "deid_assets.synthesis"
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
READS_TEXT = "reads-text"
"""Of the fields of a note, the detector looks at text and language alone."""
READS_BATCH = "reads-batch"
"""What the detector finds in a note depends on the notes that it is given with."""
ANSWERS_VARY = "answers-vary"
"""The version of the detector does not tell what answers, such as a service or a model that may be
exchanged behind its address.
"""
ASKS = "asks-"
"""Of a keyword: so it is where the option behind it is set, as of ``asks-endpoint``."""
ABOUT = "plugin.toml"
"""File of a package with ``summary`` and ``keywords``, in the place of its distribution's.

Where a package brings several plugins, its table ``summaries`` has one for each by name.
"""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_COMMAND = re.compile(r"[a-z][a-z0-9-]{0,40}")

LANGUAGES = languages.__name__

DigestOf = Callable[[str], tuple[str, str]]
"""From a package to the digest of its files, and a fault or none."""


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
        environment: Folder of the environment of its own that it runs in; empty where that is this
            process's.
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
    environment: str = ""

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
    def reads_text_alone(self) -> bool:
        """Whether what it finds in a note follows from its text and language.

        Its keywords say so with ``reads-text``.
        """
        return READS_TEXT in self.keywords

    def answers_vary(self, options: Mapping[str, Any]) -> bool:
        """Whether something may answer under these options whose version nobody can tell.

        Its keywords say so with ``answers-vary``, or with ``asks-OPTION`` where that is set.
        """
        asked = [word.removeprefix(ASKS) for word in self.keywords if word.startswith(ASKS)]
        return ANSWERS_VARY in self.keywords or any(options.get(option) for option in asked)

    @property
    def depends_on_batch(self) -> bool:
        """Whether what it finds in a note follows from other notes too.

        Its keywords say so with ``reads-batch``.
        """
        return READS_BATCH in self.keywords

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the detectors that it runs.

        Its keywords say so with ``uses-NAME``.
        """
        return tuple(
            keyword.removeprefix(USES)
            for keyword in self.keywords
            if keyword.startswith(USES) and keyword != USES_LANGUAGES
        )

    @property
    def package(self) -> str:
        """Top-level package that it is in; a distribution may hold several."""
        return package_of(self.entry_point) if self.entry_point else ""

    @property
    def code_version(self) -> str:
        """Version and digest, as recorded with everything the detector makes."""
        versions = [self.version, self.digest[:12], self.used_digest[:12]]
        return "+".join(version for version in versions if version)


def describe(entry_point: EntryPoint, digest_of: DigestOf, find: FindsModule = find_spec) -> Plugin:
    """Return what is known of the plugin of an entry point, with a fault where there is one.

    Args:
        entry_point: Of the plugin.
        digest_of: Digests its package.
        find: Finds its package, in this environment where nothing else is said.
    """
    metadata = metadata_of(entry_point.dist) if entry_point.dist else {}
    digest, fault = digest_of(package_of(entry_point))
    summary = metadata.get("Summary", "")
    keywords = [word for word in re.split(r"[,\s]+", metadata.get("Keywords", "")) if word]
    try:
        if about := _about(entry_point, find):
            summary, keywords = about
    except (OSError, TypeError, ValueError, KeyError) as error:
        fault = fault or f"its {ABOUT} cannot be read ({class_name(error)}); install it again"
    if USES_LANGUAGES in keywords:
        digest = add_languages(digest, digest_of)
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


def metadata_of(distribution: Distribution) -> Mapping[str, str]:
    """Return the name, version, summary and keywords of a distribution, as far as it has them."""
    return _parse(_text_of(distribution))[0]


def requirements_of(distribution: Distribution) -> tuple[str, ...]:
    """Return what a distribution requires, with the extras' conditions: lines as pip reads them."""
    lines = _parse(_text_of(distribution))[1]
    return lines or tuple(distribution.requires or ())  # an egg has them in a file of their own


def _text_of(distribution: Distribution) -> str:
    for file in ("METADATA", "PKG-INFO", ""):  # of a wheel, of an egg, an egg that is a file
        if text := distribution.read_text(file):
            return text
    return ""


@lru_cache(maxsize=2048)
def _parse(metadata: str) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return the fields and requirements of a text of metadata, parsed once in a process.

    It is read again each time: whatever is installed meanwhile has another text.
    """
    fields = HeaderParser().parsestr(metadata)
    shown = {name: fields[name] for name in ("Name", "Version", "Summary", "Keywords")}
    found = {name: value for name, value in shown.items() if value is not None}
    return found, tuple(fields.get_all("Requires-Dist", ()))


def package_of(entry_point: EntryPoint) -> str:
    """Return the top-level package that an entry point names."""
    return entry_point.module.partition(".")[0]


def digest_of_code(package: str) -> tuple[str, str]:
    """Return the digest of a package's files, or of the languages' folders, and a fault or none."""
    return (languages.digest(), "") if package == LANGUAGES else digest_of_package(package)


def add_languages(digest: str, digest_of: DigestOf) -> str:
    """Return the digest of a plugin's files and of the languages' folders."""
    both = f"{digest}{digest_of(LANGUAGES)[0]}"
    return hashlib.sha256(both.encode()).hexdigest() if digest else ""


def _about(entry_point: EntryPoint, find: FindsModule) -> tuple[str, list[str]] | None:
    """Return the summary and keywords in a package's own file, without importing the package.

    The summary is the one that the table ``summaries`` has under the entry point's name, else that
    of the package. None where the package has no such file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no TOML.
        KeyError: It lacks one of the two.
        TypeError: Its summaries are no table.
    """
    spec = find(package_of(entry_point))  # finds, does not import
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
