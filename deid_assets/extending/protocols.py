"""Every extension point: its group of entry points, and what an entry point of it names.

A plugin declares what it brings in its ``pyproject.toml``::

    [project.entry-points."deid_assets.detectors"]
    mine = "deid_mine:MyDetector"
    heavy = "deid_mine.heavy:HeavyDetector [heavy]"  # where the extra ``heavy`` is installed

The name is what users write. What is named is imported when it is asked for, and no sooner. Its
version is that of the distribution; its summary and keywords too, or those of a file
``plugin.toml`` in its package, where one distribution brings several plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from deid_assets.core.detector import Detector, Failed
from deid_assets.core.note import Note
from deid_assets.core.span import SpanSet
from deid_assets.core.trainer import Document, Trainer

if TYPE_CHECKING:
    from deid_assets.evaluation.pages import MadePage, PageInput
    from deid_assets.evaluation.tables import DetectorTable
    from deid_assets.feeds.source import NoteFeed
    from deid_assets.privacy.audit import Audit
    from deid_assets.training.analyses import TaggerAnalysis
    from deid_assets.training.synthetic import SyntheticCorpus


class MakesDetector(Protocol):
    """A class of detectors: options are keyword-only parameters of its constructor."""

    def __call__(self, **options: Any) -> Detector: ...


class MakesTrainer(Protocol):
    """A class of trainers, which takes nothing."""

    def __call__(self) -> Trainer: ...


class MakesAudit(Protocol):
    """A class of privacy audits: options are keyword-only parameters of its constructor."""

    def __call__(self, **options: Any) -> Audit: ...


class MakesCorpus(Protocol):
    """Writes annotated notes; a shorter corpus is the start of a longer one."""

    def __call__(self, *, lang: str, notes: int, seed: int) -> Iterator[tuple[Note, SpanSet]]: ...


class MakesSyntheticCorpus(Protocol):
    """Makes annotated notes after those of a site, which it may read several times."""

    def __call__(
        self, source: Callable[[], Iterator[Document]], *, notes: int, seed: int
    ) -> SyntheticCorpus: ...


class Importer(Protocol):
    """Makes published models detectors, for ``deid models add``.

    Attributes:
        name: Equals the entry-point name, and that of the detector which runs the models.
    """

    name: str

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder holds a model of its kind."""
        ...

    def add(self, options: Mapping[str, Any], notes: Sequence[Note]) -> Mapping[str, Any]:
        """Write the folder of a model, and return its card."""
        ...

    def said(self, card: Mapping[str, Any]) -> str:
        """Return a line on what was added."""
        ...

    def maps(self) -> Mapping[str, Any]:
        """Return the label maps that come along, by name."""
        ...


class MakesFeed(Protocol):
    """A class of feeds: options are keyword-only parameters of its constructor."""

    def __call__(self, **options: Any) -> NoteFeed: ...


class AnalysesTagger(Protocol):
    """Says of a trained tagger what its asset shows beside its scores."""

    def __call__(
        self, model: Path, notes: Sequence[Document], answers: Sequence[SpanSet | Failed]
    ) -> TaggerAnalysis: ...


class MakesTable(Protocol):
    """Scores a plugin's own detectors, which are given with their options, beside others' spans."""

    def __call__(
        self,
        detectors: Mapping[str, Mapping[str, Any]],
        notes: Sequence[Document],
        others: Mapping[str, Sequence[SpanSet]],
    ) -> DetectorTable: ...


class MakesPage(Protocol):
    """Makes a page of what detectors found in annotated notes."""

    def __call__(self, given: PageInput) -> MadePage: ...


class Command(Protocol):
    """A typed function as Typer reads it: what it returns is shown, or is the exit code.

    A ``typer.Typer`` in its place is a group of commands.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class ExtensionPoint:
    """A group of entry points.

    Args:
        group: Its name.
        names: What an entry point of it names: a protocol above, or what the page of it says.
        brings: What users get, in one line.
    """

    group: str
    names: str
    brings: str


EXTENSION_POINTS = (
    ExtensionPoint("deid_assets.detectors", "MakesDetector", "a detector, with assets of its own"),
    ExtensionPoint("deid_assets.trainers", "MakesTrainer", "models of recipes, or of raw notes"),
    ExtensionPoint("deid_assets.importers", "Importer", "published models, by `deid models add`"),
    ExtensionPoint("deid_assets.recipes", "a package", "the recipes in its folder `recipes`"),
    ExtensionPoint("deid_assets.formats", "a `Format`", "a format of notes, read and written"),
    ExtensionPoint("deid_assets.actions", "a class of replacers", "an action of policies"),
    ExtensionPoint("deid_assets.languages", "a package", "the languages in its folder `languages`"),
    ExtensionPoint("deid_assets.replacers", "a function of nothing", "a locale pack of surrogates"),
    ExtensionPoint("deid_assets.audits", "MakesAudit", "a privacy audit, with its asset"),
    ExtensionPoint("deid_assets.corpora", "MakesCorpus", "notes by name, as `synthetic:en:100`"),
    ExtensionPoint("deid_assets.feeds", "MakesFeed", "a kind of feed, for `[feeds.NAME]`"),
    ExtensionPoint("deid_assets.analyses", "AnalysesTagger", "what a tagger's asset shows"),
    ExtensionPoint("deid_assets.tables", "MakesTable", "a table of its own detectors, an asset"),
    ExtensionPoint("deid_assets.pages", "MakesPage", "a page on detectors, an asset"),
    ExtensionPoint(
        "deid_assets.synthesis", "MakesSyntheticCorpus", "notes made after a site's, an asset"
    ),
    ExtensionPoint("deid_assets.commands", "Command", "a command of `deid`, or a group of them"),
    ExtensionPoint("deid_assets.commands.corpus", "Command", "a command of `deid corpus`"),
    ExtensionPoint("deid_assets.commands.privacy", "Command", "a command of `deid privacy`"),
)
"""All that plugins can bring."""
