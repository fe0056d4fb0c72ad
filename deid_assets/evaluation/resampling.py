"""Intervals by bootstrap and differences by paired bootstrap and randomisation, over notes or
patients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deid_assets.core.errors import ConfigError, InputError
from deid_assets.evaluation.comparison import (
    COLUMNS,
    RATIOS,
    BaselineDifference,
    Comparison,
    Interval,
    Measure,
    Row,
)
from deid_assets.evaluation.intervals import wilson

RESAMPLES = 1_000
"""Draws behind an interval and a p, which is therefore never below 0.001."""
_BOUNDS = (0.025, 0.975)
Seed = int | Sequence[int] | np.random.Generator
_MEASURES: tuple[Measure, ...] = tuple((scheme, ratio) for scheme in COLUMNS for ratio in RATIOS)
_ROUNDING = 1e-12
"""Two differences of ratios closer than this are equal."""

Floats = NDArray[np.float64]


def compare(
    rows: Mapping[str, Mapping[str, Row]],
    *,
    patients: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> Comparison:
    """Return intervals of every detector and differences to the first, all from the same draws.

    An interval is the percentile bootstrap (Efron 1979) of whole units. Where a ratio is 0 or 1
    that interval has no width, so the Wilson interval over the units stands in, each unit with
    anything to count being one trial. Where one unit alone has anything to count, an interval is
    all that is possible. Draws in which a ratio is not defined are left out. The p of a difference
    is that of approximate randomisation (Noreen 1989): the counts of a unit are exchanged between
    the two detectors or not, by a fair coin.

    Args:
        rows: Detector to note id to counts, as ``evaluate_by_note`` returns them.
        patients: Note id to patient id. Where any is given patients are the units, and a note
            without one is a unit by itself: notes of one patient repeat the same names.
        resamples: Draws, at least 100.
        seed: The same seed and notes give the same figures, whatever the order of the notes.

    Raises:
        InputError: There is no detector, no note, or the detectors were not scored on the same
            notes.
        ConfigError: ``resamples`` is below 100.
    """
    check_resamples(resamples)
    tables = _tables(rows, patients or {})
    names = list(rows)
    units = tables.shape[1]
    observed = _ratios(tables.sum(axis=1))
    drawn = _ratios(_draw_totals(tables, resamples, seed))
    intervals = {
        name: _intervals(tables[at], observed[at], drawn[:, at]) for at, name in enumerate(names)
    }
    trials = (~np.isnan(_ratios(tables.sum(axis=0)))).sum(axis=0)
    differences = {}
    for at, name in enumerate(names[1:], start=1):
        exchanged = _exchange_units(tables[0], tables[at], resamples, seed)
        differences[name] = _differences(
            observed[at] - observed[0], drawn[:, at] - drawn[:, 0], exchanged, trials
        )
    unit = "patient" if patients else "note"
    return Comparison(unit, units, resamples, seed, names[0], intervals, differences)


def _tables(rows: Mapping[str, Mapping[str, Row]], patients: Mapping[str, str]) -> Floats:
    """Return counts, (detectors, units, 3 per scheme).

    Sums of whole numbers in float64 are exact up to 2**53.
    """
    if not rows or not next(iter(rows.values())):
        raise InputError("nothing was scored; compare detectors on at least one note")
    first, *others = rows.values()
    if any(other.keys() != first.keys() for other in others):
        raise InputError(
            "the detectors were not scored on the same notes; score each on all of them"
        )
    notes = sorted(first)
    keys = [(1, patients[note]) if note in patients else (0, note) for note in notes]
    unit_of = {key: at for at, key in enumerate(sorted(set(keys)))}
    places = np.array([unit_of[key] for key in keys])
    tables = np.zeros((len(rows), len(unit_of), 3 * len(COLUMNS)))
    for table, of_notes in zip(tables, rows.values(), strict=True):
        np.add.at(table, places, np.array([of_notes[note] for note in notes], dtype=np.float64))
    return tables


def _draw_totals(tables: Floats, resamples: int, seed: int) -> Floats:
    """Return totals of every draw, (resamples, detectors, counts).

    A draw gives each unit a multinomial weight.
    """
    detectors, units, counts = tables.shape
    side_by_side = np.ascontiguousarray(
        tables.transpose(1, 0, 2).reshape(units, detectors * counts)
    )
    return totals_of_draws(side_by_side, resamples, [seed, 0]).reshape(resamples, detectors, counts)


def _exchange_units(baseline: Floats, other: Floats, resamples: int, seed: int) -> Floats:
    """Return the differences of every ratio, (resamples, measures), with units exchanged by a fair
    coin.
    """
    gaps = other - baseline
    gaps = gaps[gaps.any(axis=1)]
    generator = np.random.default_rng([seed, 1])
    totals = baseline.sum(axis=0), other.sum(axis=0)
    found = np.empty((resamples, len(_MEASURES)))
    for draw in range(resamples):
        moved = generator.integers(0, 2, len(gaps)).astype(np.float64) @ gaps
        found[draw] = _ratios(totals[1] - moved) - _ratios(totals[0] + moved)
    return found


def _ratios(totals: Floats) -> Floats:
    """Return (..., measures) from (..., counts); NaN where a ratio is not defined."""
    tp, fp, fn = (totals[..., at::3] for at in range(3))
    tops = np.stack([tp, tp, 2 * tp], axis=-1)
    bottoms = np.stack([tp + fp, tp + fn, 2 * tp + fp + fn], axis=-1)
    ratios: Floats = np.full(tops.shape, np.nan)
    np.divide(tops, bottoms, out=ratios, where=bottoms > 0)
    return ratios.reshape(*totals.shape[:-1], len(_MEASURES))


def _intervals(table: Floats, observed: Floats, drawn: Floats) -> dict[Measure, Interval]:
    per_unit = _ratios(table)
    return {
        measure: Interval(
            float(observed[at]),
            *bounds(float(observed[at]), drawn[:, at], _trials(per_unit[:, at])),
        )
        for at, measure in _list_defined(observed)
    }


def _trials(per_unit: Floats) -> int:
    return int(np.count_nonzero(~np.isnan(per_unit)))


def check_resamples(resamples: int) -> None:
    """Refuse too few draws.

    Raises:
        ConfigError: There are fewer than 100.
    """
    if resamples < 100:
        raise ConfigError(
            f"{resamples} resamples are too few for an interval of 95 %; take at least 100"
        )


def totals_of_draws(table: Floats, resamples: int, seed: Seed) -> Floats:
    """Return the totals of every draw of units with replacement, (resamples, columns), from (units,
    columns).
    """
    units = len(table)
    totals = np.empty((resamples, table.shape[1]))
    for total, (drawn,) in zip(totals, resample([units], resamples, seed), strict=True):
        total[:] = np.bincount(drawn, minlength=units).astype(np.float64) @ table
    return totals


def resample(
    sizes: Sequence[int], resamples: int, seed: Seed
) -> Iterator[tuple[NDArray[np.intp], ...]]:
    """Yield for every draw and each of some sets as many of its units, by number, with replacement
    (Efron 1979).
    """
    generator = np.random.default_rng(seed)
    for _ in range(resamples):
        yield tuple(generator.integers(0, size, size) for size in sizes)


def percentiles(drawn: ArrayLike) -> tuple[float, float]:
    """Return the bounds of the 95 % of the draws in the middle; those that are NaN are left out."""
    low, high = np.nanquantile(np.asarray(drawn, dtype=np.float64), _BOUNDS)
    return float(low), float(high)


def auc(positives: Floats, negatives: Floats) -> float:
    """Return the chance that a positive ranks above a negative, ties half.

    The area under the ROC curve.
    """
    others = np.sort(negatives)
    above = np.searchsorted(others, positives, "left") + np.searchsorted(others, positives, "right")
    return float(above.sum() / (2 * len(positives) * len(others)))


def bounds(value: float, drawn: Floats, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a share.

    Of its draws, or Wilson's over the units where it is 0 or 1.
    """
    if trials < 2:
        return 0.0, 1.0
    if 0 < value < 1:
        return percentiles(drawn)
    return wilson(trials if value else 0, trials)


def _differences(
    observed: Floats, drawn: Floats, exchanged: Floats, trials: NDArray[np.intp]
) -> dict[Measure, BaselineDifference]:
    found = {}
    for at, measure in _list_defined(observed):
        value = float(observed[at])
        low, high = percentiles(drawn[:, at]) if trials[at] > 1 else (-1.0, 1.0)
        # NaN is not smaller
        smaller = int(np.count_nonzero(np.abs(exchanged[:, at]) < abs(value) - _ROUNDING))
        as_large = len(exchanged) - smaller
        found[measure] = BaselineDifference(value, low, high, (as_large + 1) / (len(exchanged) + 1))
    return found


def _list_defined(observed: Floats) -> Iterator[tuple[int, Measure]]:
    return ((at, measure) for at, measure in enumerate(_MEASURES) if not np.isnan(observed[at]))
