"""The detector ``zero_shot``."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from deid_assets import Note, Span, SpanSet
from deid_assets.extending import ConfigError, DetectorError
from deid_zero_shot import calibration, shapes
from deid_zero_shot.categories import FeatureCounts
from deid_zero_shot.method import Options, Runtime, method_of, read_options
from deid_zero_shot.scorer import KEPT, Read, ScoredNote, ScoredWord

VERSION = "0.1.0"


def _check_numbers(threshold: float | None, stages: int) -> None:
    if threshold is not None and not (math.isfinite(threshold) and threshold > 0):
        raise ConfigError(f"threshold {threshold} must be a probability above 0")
    if stages not in (1, 2):
        raise ConfigError(f"stages is {stages}; give 1 or 2")


def _check_stages(options: Options, stages: int) -> None:
    if stages > 1 and (options.prior or options.against):
        raise ConfigError("stages = 2 compares probabilities; leave out prior and against")
    if stages > 1 and not options.alone:
        raise ConfigError("stages = 2 masks doubtful words alone; leave out alone = false")


class ZeroShotDetector:
    """Redacts words that a masked language model could not have guessed from the note around them.

    No PHI is trained on; annotated development notes only choose the threshold. A note in a
    language without a threshold fails: thresholds differ by orders of magnitude between languages
    and models. On a CPU each note is scored by itself, so that no result depends on the batch.

    Args:
        model: Folder or hub name of a masked language model, or a folder that ``deid zero-shot
            export`` wrote.
        name: Source of the spans.
        calibration_file: That ``deid zero-shot calibrate`` wrote; ``calibration.json`` in the
            model's folder when not given.
        threshold: Probability below which a word is redacted, in any language, in place of a
            calibration.
        everywhere: Whether a found word with a capital goes wherever else it stands: in any case,
            in another form of its lemma, inside e-mail addresses.
        stages: 1 to score each word alone; 2 to do so only where many words masked at once leave a
            doubt.
        batch: Most masked variants in one run.
        precision: Of an export: ``fp32``, ``fp16`` or ``int8``.
        providers: Of an export, as for the detector ``onnx``.
        device: Of a model that is no export: ``cpu``, ``cuda`` and so on; a GPU where there is one
            when not given.
        threads: Cores to use; all when not given.
        allow_download: Whether the model may be fetched by its hub name.
        trust: Whether its weights may be in files that can run code when read.
        scoring: As ``deid_zero_shot.method.Options`` lists them; those of the calibration when none
            is given, which holds for the same ones only.

    Attributes:
        digests: SHA-256 of the notes that its thresholds were chosen on.

    Raises:
        PluginError: The model is not there, is no trained masked language model, or the calibration
            is of another.
        ConfigError: An option has no such value.
    """

    def __init__(  # noqa: PLR0913 - one parameter per option of the detector
        self,
        *,
        model: str | Path,
        name: str = "zero_shot",
        calibration_file: str | Path | None = None,
        threshold: float | None = None,
        everywhere: bool = False,
        stages: int = 1,
        batch: int = 32,
        precision: str = "fp32",
        providers: str | Sequence[str] = (),
        device: str | None = None,
        threads: int | None = None,
        allow_download: bool = False,
        trust: bool = False,
        **scoring: Any,
    ) -> None:
        _check_numbers(threshold, stages)
        known, found = None, None
        if threshold is None:
            known = Path(calibration_file or Path(model) / calibration.FILE)
            found = calibration.read(known)
        options = read_options(scoring or (found.options() if found else {}))
        _check_stages(options, stages)
        if options.typed and found is None:
            raise ConfigError(
                "typed needs what a calibration learnt; leave out threshold, or typed"
            )
        runtime = Runtime(
            precision=precision,
            providers=providers,
            device=device,
            threads=threads,
            batch=batch,
            allow_download=allow_download,
            trust=trust,
        )
        self.method = method_of(model, options, runtime)
        self._stages, self._everywhere = stages, everywhere
        self._threshold = None if threshold is None else math.log(threshold)
        self._calibration = None
        if found is not None and known is not None:
            self._calibration = found.check(self.method.digest, self.method.described, path=known)
        self.name = name
        self.version = f"{VERSION}+{self._version(precision)}"
        languages = self._calibration.languages.values() if self._calibration else ()
        self.digests = frozenset(digest for found in languages for digest in found.digests)
        self.labels = shapes.LABELS.union(*(found.categories.labels for found in languages))

    def _version(self, precision: str) -> str:
        thresholds = self._threshold or sorted(
            (lang, found.log_threshold, asdict(found.categories))
            for lang, found in (self._calibration.languages if self._calibration else {}).items()
        )
        scoring = sorted(self.method.described.items())
        whole = repr(
            [self.method.digest, scoring, self._stages, self._everywhere, thresholds, precision]
        )
        return hashlib.sha256(whole.encode()).hexdigest()[:12]

    def detect(self, notes: Sequence[Note]) -> Iterable[SpanSet]:
        """Yield the spans of each note.

        Raises:
            DetectorError: No threshold was calibrated for a note's language.
        """
        for note in notes:
            threshold, categories = self.threshold(note), self._categories(note)
            words = self.score(note).words
            if self._everywhere:
                words = self._spread(note, words, threshold)
            yield SpanSet.of(note, self._spans(note, words, threshold, categories))

    def _spread(
        self, note: Note, words: Sequence[ScoredWord], threshold: float
    ) -> list[ScoredWord]:
        """Return the words with the score of a found one that they hold, where that is lower."""
        scorer = self.method.scorer
        read = Read(note, scorer.encoder, replace(scorer.scoring, together=True))
        found = list(words)
        for number, word in enumerate(words):
            if word.score < threshold and note.text[word.start].isupper():
                for other in read.alike(number):
                    if found[other].score < KEPT:
                        found[other] = found[other]._replace(
                            score=min(found[other].score, word.score)
                        )
        return found

    def threshold(self, note: Note) -> float:
        """Return the natural logarithm of the score below which words of a note are redacted.

        Raises:
            DetectorError: None was calibrated for its language.
        """
        return (
            self._find_threshold(note).log_threshold if self._threshold is None else self._threshold
        )

    def find_calibrated(self, note: Note) -> calibration.Threshold | None:
        """Return what was calibrated for a note's language.

        ``None`` where a threshold was given in its place.

        Raises:
            DetectorError: None was, for its language.
        """
        return self._find_threshold(note) if self._threshold is None else None

    def score(self, note: Note) -> ScoredNote:
        """Return the words of a note with their scores, as ``detect`` has them."""
        below = self.threshold(note) if self._stages > 1 else None
        return self.method.score(note, below=below, categories=self._categories(note))

    def _categories(self, note: Note) -> FeatureCounts:
        return (
            self._find_threshold(note).categories
            if self._threshold is None
            else FeatureCounts({}, {})
        )

    def _find_threshold(self, note: Note) -> calibration.Threshold:
        known = self._calibration.languages if self._calibration else {}
        if note.lang is None and len(known) == 1:
            return next(iter(known.values()))
        if note.lang is None or note.lang not in known:
            raise DetectorError(
                f"{self.name}: note {note.note_id!r} is in language {note.lang!r}, thresholds were"
                f" calibrated for {', '.join(sorted(known)) or 'none'}; calibrate on notes in that"
                " language"
            )
        return known[note.lang]

    def _spans(
        self, note: Note, words: Sequence[ScoredWord], threshold: float, categories: FeatureCounts
    ) -> Iterator[Span]:
        for word in words:
            if word.score < threshold:
                label = categories.of(note, word.start, word.end)
                yield Span(
                    word.start, word.end, label, 1.0 - math.exp(min(word.score, 0.0)), self.name
                )
