"""The detector ``zero_shot``."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deid_assets import Note, Span, SpanSet
from deid_assets.extending import ConfigError, DetectorError
from deid_onnx.session import cores
from deid_zero_shot import calibration, export, shapes
from deid_zero_shot.batches import Ask
from deid_zero_shot.encoding import Encoder, Specials
from deid_zero_shot.lemmas import lemmatizer
from deid_zero_shot.scorer import Scorer, Scoring, Word
from deid_zero_shot.words import Segmenter, segmenter

VERSION = "0.1.0"


@dataclass(frozen=True, slots=True)
class Backend:
    """A model, whichever runtime it is in.

    Args:
        ask: Runs it.
        encoder: Cuts notes for it.
        vocabulary: How many sub-tokens it scores.
        digest: Of weights and tokenizer.
    """

    ask: Ask
    encoder: Encoder
    vocabulary: int
    digest: str


def backend(
    model: str | Path,
    *,
    precision: str = "fp32",
    providers: str | Sequence[str] = (),
    threads: int | None = None,
    allow_download: bool = False,
    trust: bool = False,
) -> Backend:
    """Return a model: with ONNX Runtime where the folder is an export, with PyTorch otherwise.

    Raises:
        PluginError: It is not there, or is no trained masked language model.
        ConfigError: An option has no such value.
    """
    if precision not in export.PRECISIONS:
        raise ConfigError(f"precision {precision!r} is unknown; choose of {', '.join(export.PRECISIONS)}")
    if threads is not None and threads < 1:
        raise ConfigError(f"threads is {threads}; give 1 or more")
    folder = Path(model)
    if (folder / export.FILE).is_file():
        tokenizer, specials, vocabulary, digest = export.read(folder)
        wanted = (providers,) if isinstance(providers, str) else tuple(providers)
        ask = export.asker(folder, precision=precision, providers=wanted, threads=threads or cores())
        return Backend(ask, Encoder(tokenizer, specials), vocabulary, digest)
    if precision != "fp32" or providers:
        raise ConfigError(f"{model}: precision and providers need an export; run deid-zero-shot export")
    import torch  # noqa: PLC0415 - a second, and not where the model is exported

    from deid_zero_shot.guard import load  # noqa: PLC0415
    from deid_zero_shot.network import asker  # noqa: PLC0415

    torch.set_num_threads(threads or cores())
    loaded = load(str(model), allow_download=allow_download, trust=trust)
    return Backend(asker(loaded.model), Encoder(loaded.tokenizer, loaded.specials), loaded.vocabulary, loaded.digest)


class ZeroShotDetector:
    """Redacts words that a masked language model could not have guessed from the note around them.

    No PHI is trained on; annotated development notes only choose the threshold. A note in a language without a
    threshold fails: thresholds differ by orders of magnitude between languages and models. On a CPU each note is
    scored by itself, so that no result depends on the batch.

    Args:
        model: Folder or hub name of a masked language model, or a folder that ``deid-zero-shot export`` wrote.
        name: Source of the spans.
        calibration_file: That ``deid-zero-shot calibrate`` wrote; ``calibration.json`` in the model's folder when not
            given.
        threshold: Probability below which a word is redacted, in any language, in place of a calibration.
        segment: ``plain``, ``blanks``, ``characters``, ``parsed`` or a function of text and language.
        lemmas: ``simple``, ``none`` or ``spacy:PIPELINE``.
        together: Whether the same words elsewhere in the window are masked with a word.
        mean: Whether a word's score is the geometric mean over its sub-tokens, not the product.
        stages: 1 to score each word alone; 2 to do so only where many words covered at once leave a doubt.
        window: Most sub-tokens read at once; the model's own limit, at most 512, when not given.
        batch: Most masked variants in one run.
        precision: Of an export: ``fp32``, ``fp16`` or ``int8``.
        providers: Of an export, as for the detector ``onnx``.
        threads: Cores to use; all when not given.
        allow_download: Whether the model may be fetched by its hub name.
        trust: Whether its weights may be in files that can run code when read.

    Raises:
        PluginError: The model is not there, is no trained masked language model, or the calibration is of another.
        ConfigError: An option has no such value.
    """

    def __init__(  # noqa: PLR0913 - one parameter per option of the detector
        self,
        *,
        model: str | Path,
        name: str = "zero_shot",
        calibration_file: str | Path | None = None,
        threshold: float | None = None,
        segment: str | Segmenter = "plain",
        lemmas: str = "simple",
        together: bool = True,
        mean: bool = False,
        stages: int = 1,
        window: int | None = None,
        batch: int = 32,
        precision: str = "fp32",
        providers: str | Sequence[str] = (),
        threads: int | None = None,
        allow_download: bool = False,
        trust: bool = False,
    ) -> None:
        if threshold is not None and not (math.isfinite(threshold) and threshold > 0):
            raise ConfigError(f"threshold {threshold} must be a probability above 0")
        if stages not in (1, 2):
            raise ConfigError(f"stages is {stages}; give 1 or 2")
        if batch < 1:
            raise ConfigError(f"batch is {batch}; give 1 or more")
        segment_name, segment_words = segmenter(segment)
        lemma = lemmatizer(lemmas)
        found = backend(
            model, precision=precision, providers=providers, threads=threads, allow_download=allow_download, trust=trust
        )
        scoring = Scoring(
            segment=segment_words, lemma=lemma, together=together, mean=mean, batch=batch,
            window=window_of(found.encoder.specials, window),
        )  # fmt: skip
        self.scorer = Scorer(found.encoder, found.ask, found.vocabulary, scoring)
        self.digest = found.digest
        self.scoring = {
            "segment": segment_name, "lemmas": lemmas, "together": together, "mean": mean, "window": scoring.window,
        }  # fmt: skip
        self._stages = stages
        self._threshold = None if threshold is None else math.log(threshold)
        self._calibration: calibration.Calibration | None = None
        if threshold is None:
            path = Path(calibration_file or Path(model) / calibration.FILE)
            self._calibration = calibration.read(path).checked(found.digest, self.scoring, path=path)
        self.name = name
        self.version = f"{VERSION}+{self._version(precision)}"
        self.labels = shapes.LABELS

    def _version(self, precision: str) -> str:
        thresholds = self._threshold or sorted(
            (lang, found.log_threshold)
            for lang, found in (self._calibration.languages if self._calibration else {}).items()
        )
        whole = repr([self.digest, sorted(self.scoring.items()), self._stages, thresholds, precision])
        return hashlib.sha256(whole.encode()).hexdigest()[:12]

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note.

        Raises:
            DetectorError: No threshold was calibrated for a note's language.
        """
        for note in notes:
            threshold = self.threshold(note)
            scored = self.scorer.score(note, below=threshold if self._stages > 1 else None)
            yield SpanSet.of(note, self._spans(note, scored.words, threshold))

    def threshold(self, note: Note) -> float:
        """Return the natural logarithm of the score below which words of a note are redacted.

        Raises:
            DetectorError: None was calibrated for its language.
        """
        if self._threshold is not None:
            return self._threshold
        known = self._calibration.languages if self._calibration else {}
        if note.lang is None and len(known) == 1:
            return next(iter(known.values())).log_threshold
        if note.lang not in known:
            raise DetectorError(
                f"{self.name}: note {note.note_id!r} is in language {note.lang!r}, "
                f"thresholds were calibrated for {', '.join(sorted(known)) or 'none'}; calibrate on notes in that language"
            )
        return known[note.lang].log_threshold

    def _spans(self, note: Note, words: Sequence[Word], threshold: float) -> Iterator[Span]:
        for word in words:
            if word.score < threshold:
                label = shapes.label_of(note.text[word.start : word.end])
                yield Span(word.start, word.end, label, 1.0 - math.exp(min(word.score, 0.0)), self.name)


def window_of(specials: Specials, wanted: int | None) -> int:
    """Return the window: what is wanted, and not more than the model holds.

    Raises:
        ConfigError: It is too short.
    """
    found = min(wanted or 512, specials.window)
    if found < 8:
        raise ConfigError(f"window {found} is too short; give 8 sub-tokens or more")
    return found
