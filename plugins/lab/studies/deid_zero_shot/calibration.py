"""Thresholds for one model.

Chosen on development notes, kept with what they hold for, refused for anything else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from deid_assets import Note, Phi
from deid_assets.extending import Document, InputError, PluginError
from deid_zero_shot.categories import FeatureCounts, cross_counts, learn
from deid_zero_shot.method import Method
from deid_zero_shot.points import Points, points_of, sweep
from deid_zero_shot.scorer import KEPT

FILE = "calibration.json"
FORMAT = 1
_CURVE = 400
"""Points of a stored curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """What is redacted in notes of one language.

    Args:
        log_threshold: Natural logarithm of the score below which a word is redacted.
        target: What was asked for: ``f1``, ``f2`` or another F-beta, ``recall=0.95``.
        notes: Development notes.
        tokens: Sub-tokens in them.
        prevalence: Share of these that are PHI.
        f1: On the development notes, as the next two: optimistic.
        recall: Share of the PHI sub-tokens that is redacted.
        precision: Share of the redacted sub-tokens that is PHI.
        digests: SHA-256 of the text of each development note.
        curve: Threshold, accuracy, F1, precision and recall, at most 400 points.
        categories: What tells the category of a word in this language.
    """

    log_threshold: float
    target: str
    notes: int
    tokens: int
    prevalence: float
    f1: float
    recall: float
    precision: float
    digests: Sequence[str] = field(default=(), repr=False)
    curve: Sequence[Sequence[float]] = field(default=(), repr=False)
    categories: FeatureCounts = field(default=FeatureCounts({}, {}), repr=False)

    @property
    def probability(self) -> float:
        """The threshold as a probability."""
        return math.exp(self.log_threshold)


@dataclass(frozen=True, slots=True)
class LanguageThresholds:
    """Thresholds by language, and what they hold for.

    Args:
        model: Digest of weights and tokenizer.
        scoring: How words were scored.
        languages: Code to threshold.
    """

    model: str
    scoring: Mapping[str, Any]
    languages: Mapping[str, Threshold]

    def check(self, model: str, scoring: Mapping[str, Any], *, path: Path) -> LanguageThresholds:
        """Return the calibration after comparing what it holds for.

        Raises:
            PluginError: It is of another model, another tokenizer or another way of scoring.
        """
        if self.model != model:
            raise PluginError(
                f"{path}: calibrated for another model or tokenizer; calibrate this one"
            )
        if differing := sorted(
            key for key in {*self.scoring, *scoring} if self.scoring.get(key) != scoring.get(key)
        ):
            raise PluginError(
                f"{path}: calibrated with {differing[0]} = {self.scoring.get(differing[0])!r}, "
                f"not {scoring.get(differing[0])!r}; calibrate again, or score as then"
            )
        return self

    def options(self) -> Mapping[str, Any]:
        """Return the scoring options that the calibration itself can give.

        Lists and other models must be named.
        """
        return {
            key: value
            for key, value in self.scoring.items()
            if key not in {"allow_list", "against"}
        }

    def add_language(self, lang: str, threshold: Threshold) -> LanguageThresholds:
        """Return the calibration with one language more, or another threshold for it."""
        return replace(self, languages={**self.languages, lang: threshold})


def threshold_for(method: Method, documents: Sequence[Document], *, target: str) -> Threshold:
    """Return the threshold for annotated notes of one language, and what they tell of categories.

    Where words that look like no PHI stay, each half of the notes tells which those are in the
    other half, so that the threshold fits notes that nothing was learnt from.

    Raises:
        InputError: As for ``choose``.
    """
    taught = [(each.note, method.words(each.note), tuple(each.spans)) for each in documents]
    if method.typed:
        known = cross_counts(taught)
        scored = [
            method.score(each.note, categories=one)
            for each, one in zip(documents, known, strict=True)
        ]
    else:
        scored = [method.score(each.note) for each in documents]
    points = points_of(
        (found, document.spans) for document, found in zip(documents, scored, strict=True)
    )
    chosen = choose(points, target, [document.note for document in documents])
    return replace(chosen, categories=learn(taught, others=method.typed))


def choose(points: Points, target: str, notes: Sequence[Note] = ()) -> Threshold:
    """Return the threshold that serves the target best on development notes.

    Of thresholds that serve alike, the lowest is taken, which redacts least.

    Args:
        points: Of the development notes.
        target: ``f1``, ``f2``, ``f0.5`` or the like, or ``recall=R``: the highest precision with
            that recall.
        notes: Which they are.

    Raises:
        InputError: The target is none, or the notes have no PHI or nothing else.
    """
    found = sweep(points).below(KEPT)
    if not 0 < found.positives < found.total:
        raise InputError(
            "the development notes need words with and without PHI; give annotated notes"
        )
    beta, wanted = _target(target)
    if wanted is None:
        best = int(np.argmax(found.f(beta)))
    else:
        enough = np.flatnonzero(found.recall >= wanted)
        if not len(enough):
            raise InputError(f"no threshold reaches recall {wanted}; lower it")
        best = int(enough[np.argmax(found.precision[enough])])
    rows = np.stack(
        [found.thresholds, found.accuracy, found.f(), found.precision, found.recall], axis=1
    )
    kept = np.unique(
        np.append(np.linspace(0, len(rows) - 1, min(_CURVE, len(rows))).round().astype(int), best)
    )
    return Threshold(
        log_threshold=float(found.thresholds[best]),
        target=target,
        notes=len(np.unique(points.notes)),
        tokens=found.total,
        prevalence=found.positives / found.total,
        f1=float(found.f()[best]),
        recall=float(found.recall[best]),
        precision=float(found.precision[best]),
        digests=tuple(sorted(note.digest for note in notes)),
        curve=[[float(value) for value in row] for row in rows[kept]],
    )


def _target(target: str) -> tuple[float, float | None]:
    """Return beta, and the recall that is wanted, if one is."""
    try:
        if target.startswith("recall="):
            wanted = float(target.removeprefix("recall="))
            if 0 < wanted <= 1:
                return 1.0, wanted
        elif target.startswith("f") and float(target[1:]) > 0:
            return float(target[1:]), None
    except ValueError:
        pass
    raise InputError(f"target {target!r} must read f1, f2 or the like, or recall=0.95")


def refuse_common(calibrated: Threshold, notes: Iterable[Note]) -> None:
    """Refuse test notes that the threshold was chosen on.

    Raises:
        InputError: One is.
    """
    known = frozenset(calibrated.digests)
    for note in notes:
        if note.digest in known:
            raise InputError(
                f"note {note.note_id!r}: the threshold was chosen on it; a score on it would mean"
                " nothing"
            )


def write(path: Path, calibration: LanguageThresholds) -> None:
    """Write a calibration as JSON."""
    values = {
        "format": FORMAT,
        "model": calibration.model,
        "scoring": dict(calibration.scoring),
        "languages": {lang: asdict(found) for lang, found in sorted(calibration.languages.items())},
    }
    written = path.with_name(path.name + ".new")
    written.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    written.replace(path)


def read(path: Path) -> LanguageThresholds:
    """Return a calibration.

    Raises:
        PluginError: The file is missing, broken or of another format.
    """
    try:
        values = json.loads(path.read_text("utf-8"))
        if values["format"] != FORMAT:
            raise PluginError(
                f"{path}: format {values['format']!r}, this version reads {FORMAT}; calibrate again"
            )
        languages = {str(lang): _threshold(found) for lang, found in values["languages"].items()}
        if not all(
            isinstance(one.log_threshold, float) and math.isfinite(one.log_threshold)
            for one in languages.values()
        ):
            raise PluginError(f"{path}: a threshold is no number; calibrate again")
        return LanguageThresholds(
            str(values["model"]), {"alone": True, "typed": False} | values["scoring"], languages
        )
    except FileNotFoundError:
        raise PluginError(
            f"{path}: no such file; run deid zero-shot calibrate, or give threshold= a probability"
            " of your own"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PluginError(f"{path} is broken ({type(error).__name__}); calibrate again") from None


def _threshold(values: Mapping[str, Any]) -> Threshold:
    """Return a threshold as it was written; one of before categories were learnt has none."""
    fields = dict(values)
    categories = FeatureCounts(**fields.pop("categories", {"words": {}, "features": {}}))
    if not categories.labels <= frozenset(Phi):
        raise ValueError("a category is none")
    return Threshold(**fields, categories=categories)
