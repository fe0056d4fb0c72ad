"""Any spaCy pipeline that sets entities as a detector, read from a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deid_assets import LabelMap, Note, Phi, Span, SpanSet
from deid_assets.extending import ConfigError

__all__ = ["ENTITIES", "SpacyDetector"]

ENTITIES: Mapping[str, Phi | None] = {
    # OntoNotes 5, of English pipelines
    "CARDINAL": None,
    "DATE": Phi.DATE,
    "EVENT": None,
    "FAC": Phi.LOCATION,
    "GPE": Phi.LOCATION,
    "LANGUAGE": None,
    "LAW": None,
    "LOC": Phi.LOCATION,
    "MONEY": None,
    "NORP": None,
    "ORDINAL": None,
    "ORG": Phi.ORGANIZATION,
    "PERCENT": None,
    "PERSON": Phi.NAME,
    "PRODUCT": None,
    "QUANTITY": None,
    "TIME": None,
    "WORK_OF_ART": None,
    # WikiNER and CoNLL, of most other languages
    "MISC": None,
    "PER": Phi.NAME,
}
"""Entity labels of spaCy's own pipelines. Categories of ``Phi`` stand for themselves."""

BATCH = 32
"""Notes that a pipeline reads together."""


class SpacyDetector:
    """Runs a pipeline's components and takes its entities.

    Args:
        model: Folder that ``nlp.to_disk`` wrote, or name of an installed pipeline; nothing is fetched.
        labels: Entity label to category, over ``ENTITIES``; an empty text ignores a label on purpose.

    Raises:
        ConfigError: There is no such pipeline, it sets no entities, or ``labels`` names an unknown category.
        UnknownLabelError: The pipeline has an entity label without a category.
    """

    name = "spacy"
    version = "0.1.0"
    labels: frozenset[Phi] = frozenset(label for label in ENTITIES.values() if label is not None)

    def __init__(self, *, model: str, labels: Mapping[str, str] | None = None) -> None:
        self._nlp = _load(model)
        meta = self._nlp.meta
        self.version = f"{type(self).version}+{meta['lang']}_{meta['name']}{meta['version']}"
        self._labels = LabelMap(f"spacy {Path(model).name}", {**_known(), **ENTITIES, **_chosen(labels or {})})
        found = _entity_labels(self._nlp)
        self._labels.require(found)
        self.native_labels = frozenset(found)
        self.labels = frozenset(label for native in found if (label := self._labels[native]) is not None)

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note.

        Raises:
            ValueError: A note is longer than the pipeline's ``max_length``, a million characters by default.
        """
        documents = self._nlp.pipe((note.text for note in notes), batch_size=BATCH)
        for note, document in zip(notes, documents, strict=True):
            yield SpanSet.of(note, {span for found in document.ents if (span := self._span(found)) is not None})

    def _span(self, found: Any) -> Span | None:
        label = self._labels[found.label_]
        if label is None:
            return None
        return Span(found.start_char, found.end_char, label, 1.0, self.name, found.label_)


def _load(model: str) -> Any:
    import spacy  # noqa: PLC0415 - 1 s

    try:
        return spacy.load(model)
    except OSError:
        raise ConfigError(
            f"spacy: {model} is neither a pipeline folder nor an installed pipeline; give the folder that "
            "nlp.to_disk wrote, with config.cfg in it"
        ) from None


def _entity_labels(nlp: Any) -> list[str]:
    """Return the labels of every component that sets entities."""
    setters = [name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns]
    labels = sorted({label for name in setters for label in nlp.pipe_labels.get(name, ())})
    if not labels:
        raise ConfigError(
            f"spacy: the pipeline sets no entities; it has {', '.join(nlp.pipe_names) or 'no components'}, "
            "and needs one such as ner or entity_ruler with labels"
        )
    return labels


def _known() -> dict[str, Phi | None]:
    return {label.value: label for label in Phi}


def _chosen(labels: Mapping[str, str]) -> dict[str, Phi | None]:
    try:
        return {native: Phi(label) if label else None for native, label in labels.items()}
    except ValueError as error:
        raise ConfigError(f"spacy: labels: {error}; give one of {', '.join(Phi)}, or nothing to ignore") from None
