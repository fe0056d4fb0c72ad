"""The table of models by languages of Myntti (2025, section 4.2) for an installation's own
detectors and notes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from deid_assets import SpanSet
from deid_assets.extending import DetectorError, Document
from deid_assets.extending.tables import DetectorTable, Picture, Score
from deid_zero_shot.detector import ZeroShotDetector
from deid_zero_shot.plots import curve_png
from deid_zero_shot.scorer import ScoredNote
from deid_zero_shot.study import COLUMNS, StudyRow, chance_rows, make_row, points, row_of

LEAST = 2
"""Test notes of a language, below which nothing is said of it: an interval needs two."""


class _Part(NamedTuple):
    """A detector on the test notes of one language.

    Args:
        lang: Of the notes.
        scored: Notes that it was not calibrated on, with their scores.
        row: Its scores.
        costs: CPU seconds, masked variants and runs of the network per note.
        picture: Curve of its calibration, where it has one.
    """

    lang: str
    scored: Sequence[tuple[Document, ScoredNote]]
    row: StudyRow
    costs: Mapping[str, float]
    picture: Picture | None


def make(
    detectors: Mapping[str, Mapping[str, Any]],
    documents: Sequence[Document],
    found: Mapping[str, Sequence[SpanSet]],
) -> DetectorTable:
    """Return a row per detector and language over sub-tokens, with chance and other detectors on
    the same notes.

    Notes that a threshold was chosen on are left out, and counted.

    Args:
        detectors: Their options, by name.
        documents: Annotated notes.
        found: What other detectors found in these.
    """
    scores: list[Score] = []
    pictures: list[Picture] = []
    calibrated_on = 0
    compared: set[str] = set()
    for name, options in detectors.items():
        detector = ZeroShotDetector(**{**options, "name": name})
        known = detector.digests
        calibrated_on += sum(document.note.digest in known for document in documents)
        for part in _parts(
            name, detector, [one for one in documents if one.note.digest not in known]
        ):
            if part.lang not in compared:
                compared.add(part.lang)
                scores += _beside(part, documents, found)
            scores += [*_of_row(part.row, part.lang), *_of_costs(part)]
            pictures += [part.picture] if part.picture else []
    return DetectorTable(scores, pictures, {"notes_calibrated_on": calibrated_on})


def _parts(name: str, detector: ZeroShotDetector, documents: Sequence[Document]) -> Iterator[_Part]:
    by_language: dict[str | None, list[Document]] = {}
    for document in documents:
        by_language.setdefault(document.note.lang, []).append(document)
    for lang, some in sorted(by_language.items(), key=lambda pair: str(pair[0])):
        try:
            calibrated, threshold = (
                detector.find_calibrated(some[0].note),
                detector.threshold(some[0].note),
            )
        except DetectorError:
            continue
        if len(some) < LEAST:
            continue
        spent, began = detector.method.scorer.spent, time.process_time()
        variants, runs = spent.variants, spent.runs
        scored = [(document, detector.score(document.note)) for document in some]
        count = len(some)
        costs = {
            "cpu_s_a_note": (time.process_time() - began) / count,
            "variants_a_note": (spent.variants - variants) / count,
            "runs_a_note": (spent.runs - runs) / count,
        }
        row = row_of(name, points(scored), threshold, calibrated)
        title = f"{name}, {lang}, on its development notes"
        picture = (
            Picture(title, curve_png(calibrated, title=title))
            if calibrated and calibrated.curve
            else None
        )
        yield _Part(str(lang), scored, row, costs, picture)


def _beside(
    part: _Part, documents: Sequence[Document], found: Mapping[str, Sequence[SpanSet]]
) -> Iterator[Score]:
    """Yield the scores of chance and of other detectors on the notes of a part."""
    own = points(part.scored)
    prevalence = part.row.threshold.prevalence if part.row.threshold else float(own.gold.mean())
    rows = chance_rows(part.scored, prevalence)
    place = {document.note.digest: number for number, document in enumerate(documents)}
    for name, spans in found.items():
        rows.append(
            make_row(name, part.scored, [spans[place[one.note.digest]] for one, _ in part.scored])
        )
    for row in rows:
        yield from _of_row(row, part.lang)


def _of_row(row: StudyRow, lang: str) -> Iterator[Score]:
    if row.threshold:
        yield Score(
            system=row.system,
            lang=lang,
            name="threshold",
            value=row.threshold.probability,
            notes=row.notes,
        )
    yield Score(system=row.system, lang=lang, name="redacted", value=row.redacted, notes=row.notes)
    for column in COLUMNS:
        found = row.values[column]
        yield Score(
            system=row.system,
            lang=lang,
            name=column,
            value=found.value,
            low=found.low,
            high=found.high,
            notes=row.notes,
        )


def _of_costs(part: _Part) -> Iterator[Score]:
    for name, value in part.costs.items():
        yield Score(
            system=part.row.system, lang=part.lang, name=name, value=value, notes=part.row.notes
        )
