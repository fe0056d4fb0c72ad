"""The detector ``compact``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from deid_assets import Note, SpanSet
from deid_assets.extending import ConfigError, Span, WordLabels, load, runs_of
from deid_assets.extending.blas import one_blas_thread
from deid_compact.field_labels import drop_field_labels
from deid_compact.folder import FILES, CompactDescription, digest_of, read_about, read_network
from deid_compact.inputs import NoteInput, input_of
from deid_compact.network import CompactNetwork
from deid_compact.words import (
    WordScores,
    calibrate,
    label_words,
    spans_of,
    unite,
    veto_spans,
)

VERSION = "0.1.2"
NAME = "compact"
PACKAGED = Path(__file__).parent / "model"
"""The model that comes with the plugin; its card lies beside it."""
CHARS_TOGETHER = 40_000


class CompactDetector:
    """Finds what a small network learnt to find from notes of many hands, united with what
    ``rules`` finds.

    The network is told what ``rules`` found, adds what they miss, and takes out names, dates, ages
    and places of theirs that it holds for nearly impossible. So ``compact`` takes the place of
    ``rules`` in an ensemble.

    Args:
        model: Folder that ``deid train`` wrote; the model that comes with the plugin when not
            given.
        name: Source of the spans; a recipe's detector has the recipe's name.
        threshold: Probability from which a word is marked, in place of the model's own.
        veto: Probability under which a span of the other detector is left out, in place of the
            model's own; 0 for never.
        alone: Whether the other detector's spans are left out. The network is told them all the
            same.

    Raises:
        PluginError: The folder is no model of this plugin, or is broken.
        ConfigError: An option has no such value.
    """

    def __init__(
        self,
        *,
        model: str | Path | None = None,
        name: str = NAME,
        threshold: float | None = None,
        veto: float | None = None,
        alone: bool = False,
    ) -> None:
        for option, value in (("threshold", threshold), ("veto", veto)):
            if value is not None and not 0 <= value < 1:
                raise ConfigError(f"{option} is {value}; give a probability from 0 to below 1")
        folder = Path(model) if model is not None else PACKAGED
        self._about = read_about(folder)
        self._network = read_network(folder)
        self._decision = self._about.decision.at(threshold)
        self._veto = self._about.veto if veto is None else veto
        self._alone = alone
        self._numbers = {label: number for number, label in enumerate(self._about.labels) if label}
        self._other = load(self._about.predictions_of)
        self.name = name
        options = f"{threshold}-{veto}-{alone}"
        changed = "" if options == "None-None-False" else f".{options}"
        self.version = f"{VERSION}+{digest_of(folder, *FILES)}.{self._other.version}{changed}"
        own = frozenset(self._about.classes.categories) - self._decision.silent
        self.labels = own if alone else own | self._other.labels
        self.native_labels: frozenset[str] = getattr(self._other, "native_labels", frozenset())

    def detect(self, notes: Sequence[Note]) -> Iterator[SpanSet]:
        """Yield the spans of each note."""
        for note, (scores, others) in zip(notes, self.opinions(notes), strict=True):
            yield SpanSet.of(note, self._spans(note, scores, others))

    def opinions(self, notes: Sequence[Note]) -> Iterator[tuple[WordScores, Sequence[Span]]]:
        """Yield the scores of each note's words, and the spans of the other detector."""
        for run in runs_of(notes, chars=CHARS_TOGETHER):
            others = [list(found) for found in self._other.detect(run)]
            with one_blas_thread():
                scores = [
                    self._scores(note, spans) for note, spans in zip(run, others, strict=True)
                ]
            yield from zip(scores, others, strict=True)

    def word_labels(self, notes: Sequence[Note]) -> Iterator[WordLabels]:
        """Yield the probability that the network gives to each category at each word."""
        for scores, _ in self.opinions(notes):
            yield label_words(scores, self._about.classes)

    def _scores(self, note: Note, others: Sequence[Span]) -> WordScores:
        return word_scores(self._network, self._about, input_of(note.text, others, self._numbers))

    def _spans(self, note: Note, scores: WordScores, others: Sequence[Span]) -> list[Span]:
        found = spans_of(note.text, scores, self._about.classes, self._decision, self.name)
        found = drop_field_labels(found, note.text, self._network.lexicon)
        if self._alone:
            return found
        return unite(found, [self._own(span) for span in veto_spans(others, scores, self._veto)])

    def _own(self, span: Span) -> Span:
        return Span(span.start, span.end, span.label, span.score, self.name, span.native_label)


def word_scores(network: CompactNetwork, about: CompactDescription, given: NoteInput) -> WordScores:
    """Return the scores of the words of a note."""
    classes = about.classes
    if not given.words:
        nothing = np.zeros((0, len(classes.categories)), dtype=np.float32)
        return WordScores([], nothing[:, 0], nothing, nothing[:, 0])
    probabilities = calibrate(
        network.scores(given.words, given.gaps, given.labels), about.temperature
    )
    categories = classes.by_category(probabilities)
    marked = categories[:, about.decision.mark_returned(classes)].sum(axis=1)
    return WordScores(given.tokens, marked, categories, probabilities[:, 1::2].sum(axis=1))
