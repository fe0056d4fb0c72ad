"""The detector ``published``: a token classifier of others, added with ``deid models add``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from deid_assets import Note, Span, SpanSet
from deid_assets.extending import ConfigError
from deid_onnx.families import Run
from deid_onnx.session import Session, cores
from deid_published.folder import GRAPH, Added, read_added
from deid_published.network import SubTokenScorer
from deid_published.viterbi import check_biases

VERSION = "0.1.0"
SEGMENTS = "token_type_ids"
_DIGITS = 4


class PublishedDetector:
    """Finds what a published model finds, by its authors' conventions. Notes are read one by one.

    Args:
        model: Folder that ``deid models add`` wrote; its files are compared with their digests.
        name: Source of the spans.
        providers: As for the detector ``onnx``.
        threads: Cores to use; all that the process may use when not given.
        min_score: Least score of a span that is kept.
        biases: Of a model that is decoded by ``viterbi``, in place of its operating point's; those
            that are not given are 0. A lower ``background_stay`` finds more.

    Raises:
        PluginError: The folder is no added model, is broken or altered, or the hardware asked for
            is not there.
        ConfigError: An option has no such value.
    """

    def __init__(
        self,
        *,
        model: str | Path,
        name: str = "published",
        providers: str | Sequence[str] = (),
        threads: int | None = None,
        min_score: float = 0.0,
        biases: Mapping[str, float] | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ConfigError(f"threads is {threads}; give 1 or more")
        if not 0 <= min_score <= 1:
            raise ConfigError(f"min_score is {min_score}; give 0 to 1")
        added = read_added(Path(model))
        if biases is not None:
            added = _set_biases(added, biases)
        wanted = [providers] if isinstance(providers, str) else list(providers)
        self.name = name
        self.version = f"{VERSION}+{added.version}"
        self.labels = frozenset(category for category in added.labels.values() if category)
        self.native_labels = frozenset(
            label for label, category in added.labels.items() if category
        )
        self._reader = reader(added, runner(added, providers=wanted, threads=threads or cores()))
        self._added, self._min_score = added, min_score

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note."""
        for note in notes:
            yield SpanSet.of(
                note, spans_of(note.text, self._reader, self._added, self.name, self._min_score)
            )


def _set_biases(added: Added, biases: Mapping[str, float]) -> Added:
    if added.convention.aggregation != "viterbi":
        raise ConfigError(
            f"{added.path}: biases are of viterbi, and it is read by"
            f" {added.convention.aggregation!r}"
        )
    found = check_biases(biases)
    digest = hashlib.sha256(f"{added.version} {sorted(found.items())}".encode()).hexdigest()[:12]
    return replace(added, convention=replace(added.convention, biases=found), version=digest)


def runner(added: Added, *, providers: Sequence[str], threads: int) -> Run:
    """Return a function that runs the graph of an added model, given sub-tokens and their mask.

    Graphs that others exported may ask for segment types as well: a note is one segment, of type 0.
    """
    session = Session(added.path / GRAPH, providers=providers, threads=threads, output=added.output)
    if SEGMENTS not in session.inputs:
        return session.run
    return lambda feeds: session.run({**feeds, SEGMENTS: np.zeros_like(feeds["input_ids"])})


def reader(added: Added, run: Run) -> SubTokenScorer:
    """Return what reads text for an added model."""
    return SubTokenScorer(
        added.path, run, window=added.window, overlap=added.overlap, unknown=added.unknown
    )


def spans_of(
    text: str, reader: SubTokenScorer, added: Added, source: str, min_score: float = 0.0
) -> list[Span]:
    """Return the spans of a text under their categories.

    Labels that are decided to be no PHI are left out.
    """
    pieces, scores = reader.read(text)
    found = []
    for entity in added.convention.entities(text, pieces, scores):
        category = added.labels[entity.label]
        if category is None or entity.score < min_score:
            continue
        native = "" if entity.label == category.value else entity.label
        found.append(
            Span(
                entity.start,
                entity.end,
                category,
                min(1.0, round(entity.score, _DIGITS)),
                source,
                native,
            )
        )
    return found
