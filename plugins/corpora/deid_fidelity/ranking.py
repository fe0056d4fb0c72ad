"""Whether synthetic notes rank detectors as real ones do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from deid_assets.extending import InputError

FEWEST = 4
"""Detectors, below which an order says nothing: of three, one in six is right by chance."""
MEASURES = ("characters", "covered", "relaxed", "strict")


@dataclass(frozen=True, slots=True)
class RankedDetector:
    """A detector's F1 on both corpora, and its places by it, the best first."""

    name: str
    real: float
    synthetic: float
    places: tuple[int, int]


@dataclass(frozen=True, slots=True)
class RankingReport:
    """How well two rankings agree.

    Args:
        detectors: In the order of the real notes.
        tau: Kendall's rank correlation (tau-b).
        p_value: Chance of one as far from 0 if the orders had nothing to do with each other.
        rho: Spearman's rank correlation.
        swapped: Pairs of detectors that the two corpora put in different order, the better on real
            notes first.
        left_out: Detectors that only one report has, or in another version.
    """

    detectors: tuple[RankedDetector, ...]
    tau: float
    p_value: float
    rho: float
    swapped: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as a document."""
        return {
            "detectors": {
                one.name: {
                    "real": one.real,
                    "synthetic": one.synthetic,
                    "places": list(one.places),
                }
                for one in self.detectors
            },
            "kendall": self.tau,
            "p": self.p_value,
            "spearman": self.rho,
            "swapped": [list(pair) for pair in self.swapped],
            "left out": list(self.left_out),
        }


def read_scores(path: Path, measure: str) -> dict[tuple[str, str], float]:
    """Return F1 by detector and version, of a ``bench.json`` with scores.

    Args:
        path: What ``deid bench --gold --out`` wrote.
        measure: One of ``MEASURES``.

    Raises:
        InputError: It is no such file, or its notes were not annotated.
    """
    try:
        detectors = json.loads(path.read_bytes())["detectors"]
        scored = {
            (name, _identity(one)): float(one["micro"][measure]["f1"])
            for name, one in detectors.items()
            if not one.get("fault") and one.get("micro") and one["micro"][measure]["f1"] is not None
        }
    except OSError as error:
        raise InputError(f"{path}: cannot be read") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is no bench.json with scores; write one with `deid bench --gold --out FOLDER`"
        ) from error
    if not scored:
        raise InputError(f"{path} has no scores; its notes are not annotated: `deid bench --gold`")
    return scored


def _identity(detector: Mapping[str, Any]) -> str:
    options = json.dumps(detector.get("options", []), sort_keys=True)
    return f"{detector['version']} {options}"


def compare_rankings(
    real: Mapping[tuple[str, str], float], synthetic: Mapping[tuple[str, str], float]
) -> RankingReport:
    """Return how well the order of detectors on synthetic notes agrees with that on real ones.

    Args:
        real: F1 by detector and version.
        synthetic: Likewise.

    Raises:
        InputError: Fewer than four detectors are in both, or one corpus gives all the same score.
    """
    from scipy.stats import kendalltau, rankdata, spearmanr  # noqa: PLC0415 - takes 0.5 s to load

    both = sorted(real.keys() & synthetic.keys())
    if len(both) < FEWEST:
        raise InputError(
            f"{len(both)} detectors are in both with one version and the same options; {FEWEST} are"
            " compared at least"
        )
    scores = [[found[one] for one in both] for found in (real, synthetic)]
    if min(len(set(own)) for own in scores) == 1:
        raise InputError("one corpus gives all detectors the same score; there is no order")
    tau = kendalltau(*scores)
    rho = spearmanr(*scores)
    ranks = [rankdata([-score for score in own], method="min") for own in scores]
    detectors = [
        RankedDetector(name, scores[0][at], scores[1][at], (int(ranks[0][at]), int(ranks[1][at])))
        for at, (name, _) in enumerate(both)
    ]
    return RankingReport(
        tuple(sorted(detectors, key=lambda one: (one.places, one.name))),
        float(tau.statistic),
        float(tau.pvalue),
        float(rho.statistic),
        tuple(_swapped_pairs(detectors)),
        tuple(sorted({name for name, _ in real.keys() ^ synthetic.keys()})),
    )


def _swapped_pairs(detectors: list[RankedDetector]) -> list[tuple[str, str]]:
    ordered = sorted(detectors, key=lambda one: -one.real)
    return [
        (better.name, other.name)
        for better, other in combinations(ordered, 2)
        if better.real > other.real and better.synthetic < other.synthetic
    ]
