"""The detector ``encoder``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deid_assets import Note, SpanSet
from deid_assets.extending import (
    ConfigError,
    Detector,
    Phi,
    Span,
    Token,
    WordLabels,
    load,
    tokenize,
)
from deid_compact.detector import CompactDetector
from deid_compact.folder import digest_of
from deid_compact.labels import Classes
from deid_compact.words import (
    Decision,
    Floats,
    WordScores,
    label_words,
    name_spans,
    spans_of,
    unite,
    veto_spans,
)
from deid_encoder.folder import (
    PIECES_FILE,
    TAGGER_FILE,
    WEIGHTS_FILE,
    EncoderDescription,
    read_about,
    read_pieces,
)
from deid_encoder.pieces import PieceReader
from deid_encoder.reading import NoteReader
from deid_encoder.spans import word_probabilities, word_scores
from deid_encoder.stack import weigh

VERSION = "0.1.0"
NAME = "encoder"


class EncoderDetector:
    """Finds what an encoder was trained to find, united with the spans of another detector.

    A model that was trained with ``predictions_of = "rules"`` returns the spans of ``rules`` as
    well, but for those whose every word the network holds for nearly impossible. One trained with
    ``second = "compact"`` weighs what both say of each word. So it takes their place in an
    ensemble.

    Args:
        model: Folder that ``deid train`` or ``deid export`` wrote.
        name: Source of the spans; a recipe's detector has the recipe's name.
        precision: Of an export: ``fp32`` or ``int8``.
        threshold: Probability from which a word is marked, in place of the model's own.
        alone: Whether other detectors are left out.
        device: ``cpu``, ``cuda`` and so on; a GPU where there is one when not given.
        threads: Cores to use; all when not given.

    Raises:
        PluginError: The folder is no model of this plugin, or is broken.
        ConfigError: The package with the weights is not installed, or an option has no such value.
    """

    def __init__(
        self,
        *,
        model: str | Path,
        name: str = NAME,
        precision: str = "fp32",
        threshold: float | None = None,
        alone: bool = False,
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        if threshold is not None and not 0 < threshold < 1:
            raise ConfigError(f"threshold is {threshold}; give a probability between 0 and 1")
        if threads is not None and threads < 1:
            raise ConfigError(f"threads is {threads}; give 1 or more")
        folder = Path(model)
        about = read_about(folder)
        is_export = (folder / PIECES_FILE).is_file()
        if is_export:
            self._reader, weights_file = _open_exported(folder, about, precision, threads)
        else:
            self._reader, weights_file = _open_trained(folder, about, device, threads)
        self.name = name
        self._about = about
        self._decision = about.decision.at(threshold)
        self._other = _other(about, alone=alone)
        self.version = (
            f"{VERSION}+{digest_of(folder, TAGGER_FILE, weights_file)}"
            f"{_suffix(self._other, threshold)}"
        )
        self.labels = _labels(about.classes, self._decision, self._other)
        self.native_labels: frozenset[str] = getattr(self._other, "native_labels", frozenset())

    def detect(self, notes: Sequence[Note]) -> Iterator[SpanSet]:
        """Yield the spans of each note."""
        read = self._reader.read([note.text for note in notes])
        for note, (pieced, probabilities), second in zip(
            notes, read, self._seconds(notes), strict=True
        ):
            scores = word_scores(
                tokenize(note.text),
                pieced.offsets,
                probabilities,
                self._about.classes,
                self._decision.silent,
            )
            yield SpanSet.of(note, self._spans(note.text, scores, second))

    def _spans(self, text: str, scores: WordScores, second: Second) -> list[Span]:
        classes = self._about.classes
        if second.scores is not None and self._about.stack is not None:
            weighed = weigh(self._about.stack, scores, second.scores, second.spans)
            return name_spans(
                spans_of(text, weighed, classes, self._decision, self.name), second.spans
            )
        spans = spans_of(text, scores, classes, self._decision, self.name)
        others = veto_spans(second.spans, scores, self._about.veto)
        return unite(spans, [self._own(span) for span in others])

    def word_probabilities(self, text: str, tokens: Sequence[Token], classes: Classes) -> Floats:
        """Return the probabilities of words: (words, outputs).

        They are for a smaller model that learns from this one.

        Args:
            text: Of a note.
            tokens: Its words.
            classes: Of the smaller model; what it does not learn counts as outside.
        """
        ((pieced, probabilities),) = self._reader.read([text])
        own = word_probabilities(tokens, pieced.offsets, probabilities)
        return self._about.classes.translate(own, classes)

    def word_labels(self, notes: Sequence[Note]) -> Iterator[WordLabels]:
        """Yield the probability that the network gives to each category at each word."""
        for note, (pieced, probabilities) in zip(
            notes, self._reader.read([note.text for note in notes]), strict=True
        ):
            words = tokenize(note.text)
            own = word_probabilities(words, pieced.offsets, probabilities)
            classes = self._about.classes
            begins = own[:, 1::2].sum(axis=1)
            scores = WordScores(words, 1 - own[:, 0], classes.by_category(own), begins)
            yield label_words(scores, classes)

    def _seconds(self, notes: Sequence[Note]) -> Iterator[Second]:
        """Yield what another detector says of each note."""
        if self._other is None:
            yield from (Second((), None) for _ in notes)
        elif isinstance(self._other, CompactDetector):
            for scores, spans in self._other.opinions(notes):
                yield Second(spans, scores)
        else:
            for found in self._other.detect(notes):
                yield Second(list(found), None)

    def _own(self, span: Span) -> Span:
        return Span(span.start, span.end, span.label, span.score, self.name, span.native_label)


@dataclass(frozen=True, slots=True)
class Second:
    """Opinion of another detector on a note.

    Args:
        spans: That it found, or that ``rules`` found for it.
        scores: Of the note's words, where it gives any.
    """

    spans: Sequence[Span]
    scores: WordScores | None


def _other(about: EncoderDescription, *, alone: bool) -> Detector | None:
    """Return the detector whose opinion is asked beside the network's."""
    if alone:
        return None
    if about.stack is not None:
        return load(about.second)
    return load(about.predictions_of) if about.predictions_of else None


def _open_trained(
    folder: Path, about: EncoderDescription, device: str | None, threads: int | None
) -> tuple[NoteReader, str]:
    import torch  # noqa: PLC0415 - 1 s, and not for those who only list detectors

    from deid_encoder.runtime import load_tagger, torch_network  # noqa: PLC0415
    from deid_encoder.weights import find_packaged_file, read_weights  # noqa: PLC0415

    if threads is not None:
        torch.set_num_threads(threads)
    weights = read_weights(find_packaged_file())
    encoder = load_tagger(folder, about, weights)
    reader = PieceReader(weights.pieces)
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return (
        NoteReader(reader, torch_network(encoder, pad=reader.pad, device=place), about),
        WEIGHTS_FILE,
    )


def _open_exported(
    folder: Path, about: EncoderDescription, precision: str, threads: int | None
) -> tuple[NoteReader, str]:
    from deid_encoder.sessions import file_of, onnx_network  # noqa: PLC0415 - loads ONNX Runtime

    reader = PieceReader(read_pieces(folder))
    return NoteReader(reader, onnx_network(folder, precision, threads), about), file_of(precision)


def _suffix(other: Detector | None, threshold: float | None) -> str:
    """Return what else the spans depend on."""
    parts = []
    if other is not None:
        parts.append(f".{other.name}-{other.version}")
    if threshold is not None:
        parts.append(f".at-{threshold:g}")
    return "".join(parts)


def _labels(classes: Classes, decision: Decision, other: Detector | None) -> frozenset[Phi]:
    own = frozenset(classes.categories) - decision.silent
    return own if other is None else own | other.labels
