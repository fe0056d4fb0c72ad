"""How far two distributions are from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending.blas import one_blas_thread

Floats = NDArray[np.float64]
SCALE = 5.0
"""Factor of the divergences in a curve (Pillutla et al. 2021)."""
MIXTURES = 99
"""Points of a curve, without its two ends."""
_KEPT_VARIANCE = 0.9
_NOTES_IN_CLUSTER = 10
_MOST_CLUSTERS = 500


def jensen_shannon(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Return the Jensen-Shannon divergence of two counts, in bits: 0 where they are alike, 1 where
    they share nothing (Lin 1991).

    Args:
        one: Counts by name, with a positive sum.
        other: Likewise.
    """
    names = sorted({*one, *other})
    shares = [_shares([counts.get(name, 0) for name in names]) for counts in (one, other)]
    middle = (shares[0] + shares[1]) / 2
    nats = sum(_kullback_leibler(share, middle) for share in shares) / 2
    return float(nats / np.log(2))


def mauve(one: Floats, other: Floats, *, seed: int) -> float:
    """Return the area under the divergence curve of two samples: 1 where they are alike, near 0
    where they share nothing (Pillutla et al. 2021).

    Both are clustered together; their shares of the clusters are smoothed by half a note each
    (Krichevsky and Trofimov 1981; Pillutla et al. 2023).

    Args:
        one: States of notes: (notes, width).
        other: Of as many others: (notes, width).
        seed: Of the clusters' first centres.
    """
    from scipy.cluster.vq import kmeans2  # noqa: PLC0415 - takes 0.2 s to load

    clusters = int(np.clip(len(one) // _NOTES_IN_CLUSTER, 2, _MOST_CLUSTERS))
    with one_blas_thread():
        states = _reduce(np.concatenate([one, other]))
        _, numbers = kmeans2(states, clusters, minit="++", seed=seed, missing="warn")
    counts = [
        np.bincount(part, minlength=clusters).astype(np.float64) + 0.5
        for part in (numbers[: len(one)], numbers[len(one) :])
    ]
    return curve_area(_shares(counts[0]), _shares(counts[1]))


def curve_area(one: Floats, other: Floats) -> float:
    """Return the area under the divergence curve of two distributions over the same clusters.

    A point of the curve is ``exp(-c KL(P|R))`` against ``exp(-c KL(Q|R))``, R being a mixture of
    both. The area is the mean of those seen from either side.

    Args:
        one: Shares, (clusters,).
        other: Likewise.
    """
    points = [(0.0, 1.0), (1.0, 0.0)]
    for weight in np.linspace(0, 1, MIXTURES + 2)[1:-1]:
        mixture = weight * one + (1 - weight) * other
        points.append(
            (
                float(np.exp(-SCALE * _kullback_leibler(other, mixture))),
                float(np.exp(-SCALE * _kullback_leibler(one, mixture))),
            )
        )
    return (_area(points) + _area([(y, x) for x, y in points])) / 2


def _area(points: Sequence[tuple[float, float]]) -> float:
    ordered = np.array(sorted(points, key=lambda point: (point[0], -point[1])))
    return float(np.trapezoid(ordered[:, 1], ordered[:, 0]))


def _reduce(states: Floats) -> Floats:
    """Return states by the principal components that hold 90 % of the variance."""
    centred = states - states.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    held = np.cumsum(values**2) / max(float((values**2).sum()), 1e-12)
    kept = int(np.searchsorted(held, _KEPT_VARIANCE)) + 1
    reduced: Floats = centred @ directions[:kept].T
    return reduced


def _shares(counts: Sequence[float] | Floats) -> Floats:
    found = np.asarray(counts, dtype=np.float64)
    shares: Floats = found / found.sum()
    return shares


def _kullback_leibler(one: Floats, other: Floats) -> float:
    """Return KL(one | other) in nats; where ``one`` has nothing, nothing is added."""
    has_some = one > 0
    return float(np.sum(one[has_some] * np.log(one[has_some] / other[has_some])))
