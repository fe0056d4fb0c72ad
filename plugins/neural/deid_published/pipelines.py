"""Pipelines of other libraries that set entities.

One detector and one way to add them, whatever the library.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets.extending import Note, PluginError, Span, SpanSet, UnknownLabelError
from deid_published.labels import LabelChoice, choose_labels, decide_labels, read_built_in
from deid_published.library import FILES, LibraryWanted, read_model, write_model

Entity = tuple[int, int, str]
"""First character, the one behind the last, label."""


@dataclass(frozen=True, slots=True)
class LoadedPipeline:
    """A loaded pipeline.

    Args:
        labels: That it says it may find; others may come.
        read: Returns the entities of a text.
    """

    labels: Sequence[str]
    read: Callable[[str], Iterable[Entity]]


@dataclass(frozen=True, slots=True)
class Library:
    """How a library's pipelines are found, copied and opened.

    Args:
        name: Of the plugin and its detector.
        package: Of the plugin, with its folder ``maps``.
        version: Of the plugin and the library.
        is_here: Whether a folder holds a pipeline.
        copy: Copies what is needed of a pipeline into a folder and returns settings for the card.
        open: Loads what ``copy`` wrote, given the settings and a device of PyTorch, or ``None`` for
            the one that there is; it raises ``PluginError`` where that fails.
    """

    name: str
    package: str
    version: str
    is_here: Callable[[Path], bool]
    copy: Callable[[Path, Path], Mapping[str, Any]]
    open: Callable[[Path, Mapping[str, Any], str | None], LoadedPipeline]


class PipelineDetector:
    """Finds what an added pipeline finds.

    Notes are read one by one; libraries give no scores, every span has 1.

    Args:
        library: Whose pipeline it is.
        model: Folder that ``deid models add`` wrote; its files are compared with their digests.
        name: Source of the spans.
        device: ``cpu``, ``cuda``, ``cuda:1`` and so on; a GPU where there is one when not given.

    Raises:
        PluginError: The folder is no added model, or is broken or altered, or the device is not
            there.
    """

    def __init__(
        self, library: Library, *, model: str | Path, name: str, device: str | None = None
    ) -> None:
        added = read_model(Path(model), library.name)
        self.name = name
        self.version = f"{library.version}+{added.version}"
        self.labels = frozenset(category for category in added.labels.values() if category)
        self.native_labels = frozenset(
            label for label, category in added.labels.items() if category
        )
        self._labels, self._library = added.labels, library.name
        self._read = library.open(added.path, added.card["settings"], device).read

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note.

        Raises:
            UnknownLabelError: The pipeline set an entity under a label that was not decided.
        """
        for note in notes:
            yield SpanSet.of(
                note, {span for found in self._read(note.text) if (span := self._span(found))}
            )

    def _span(self, found: Entity) -> Span | None:
        start, end, native = found
        if native not in self._labels:
            raise UnknownLabelError(
                f"{self._library}: the pipeline finds {native!r}, which its label map does not"
                " decide; write a line for it into a map and add the model again with --labels"
            )
        label = self._labels[native]
        if label is None or start >= end:
            return None
        return Span(start, end, label, 1.0, self.name, "" if native == label.value else native)


class PipelineImporter:
    """Adds pipelines of a library."""

    def __init__(self, library: Library) -> None:
        self.name = library.name
        self._library = library

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder holds a pipeline."""
        return self._library.is_here(folder)

    def add(self, options: Mapping[str, Any], notes: Sequence[Note]) -> Mapping[str, Any]:
        """Write the folder of a pipeline and return its card; it is run on ``notes``.

        Raises:
            PluginError: The pipeline cannot be used; one line says why.
            ConfigError: A label is not decided; a proposal stands beside where the folder would be.
            UnknownLabelError: It set an entity under a label that the label map does not decide.
        """
        wanted = LibraryWanted(library=self.name, **options)
        source = wanted.folder()
        if pythons := sorted(source.rglob("*.py")):
            raise PluginError(
                f"{pythons[0]}: it brings code of its own, which is not run; choose another model"
            )
        if wanted.window:
            raise PluginError(f"--window is of networks; {self.name} cuts a note itself")
        labels = self._labels_of(source, wanted)
        choice = choose_labels(
            wanted.labels,
            known=self.maps(),
            source=source.name,
            labels=labels,
            file=wanted.proposal,
        )
        mapped = decide_labels(
            list(dict.fromkeys([*labels, *choice.labels])),
            choice,
            where=wanted.source,
            file=wanted.proposal,
        )

        def fill(folder: Path) -> Mapping[str, Any]:
            return {"settings": dict(self._library.copy(source, folder))}

        def check(folder: Path) -> Mapping[str, Any]:
            detector = PipelineDetector(self._library, model=folder, name=self.name, device="cpu")
            return {
                "notes": len(notes),
                "spans": sum(len(spans) for spans in detector.detect(notes)),
            }

        return write_model(wanted, mapped, choice, fill, check)

    def _labels_of(self, source: Path, wanted: LibraryWanted) -> Sequence[str]:
        """Return the labels of a pipeline, read from a copy beside where the folder will be."""
        wanted.out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=wanted.out.parent) as name:
            folder = Path(name) / FILES
            folder.mkdir()
            return self._library.open(folder, self._library.copy(source, folder), "cpu").labels

    def said(self, card: Mapping[str, Any]) -> str:
        """Return a line on what was added."""
        check = card["check"]
        return (
            f"{self.name}, {len(card['labels'])} labels; {check['spans']} spans in {check['notes']}"
            " notes"
        )

    def maps(self) -> Mapping[str, LabelChoice]:
        """Return the label maps that come along."""
        return read_built_in(self._library.package)
