"""The fifteen trends in one run, each kept as soon as it is judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from deid_assets.extending import InputError
from deid_assets.extending.files import atomic_file
from deid_privacy import trends as attacked
from deid_privacy.trends import CLAIMS, Bench, Trend
from deid_privacy.utility import synthesis
from deid_privacy.utility import trends as tuned

CONTROL = "control"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the trends that train taggers; each trend's own where not given.

    Args:
        documents: Notes of a task.
        folds: Of a cross-validation.
        steps: Of a pre-training.
    """

    documents: int | None = None
    folds: int | None = None
    steps: int | None = None

    @property
    def given(self) -> dict[str, int]:
        """Those that are."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def trends(
    names: Sequence[str], folder: Path, *, sizes: Sizes, seed: int
) -> Iterator[tuple[str, Trend]]:
    """Yield each trend as it is judged, and before those that rest on attacks their positive
    control.

    Args:
        names: Such as T8; all where none is named.
        folder: Of models and verdicts; what is there of the same sizes and seed is not run again.
        sizes: Of taggers.
        seed: Of everything.

    Raises:
        InputError: There is no such trend.
    """
    if unknown := sorted(set(names) - set(CLAIMS)):
        raise InputError(f"unknown trend {unknown[0]!r}; choose of {', '.join(CLAIMS)}")
    place = folder / "-".join(
        ("seed", str(seed), *(f"{name}-{value}" for name, value in sizes.given.items()))
    )
    bench = Bench(seed)
    grids = tuned.TrendGrids(place, seed=seed, **sizes.given)
    notes = synthesis.Synthesis(place, seed=seed, **sizes.given)
    runs: dict[str, Callable[[], Trend]] = {
        **{name: partial(run, grids) for name, run in tuned.RUNS.items()},
        **{name: partial(run, notes) for name, run in synthesis.RUNS.items()},
        CONTROL: partial(attacked.control, bench),
        **{name: partial(run, bench) for name, run in attacked.RUNS.items()},
    }
    wanted = [name for name in CLAIMS if not names or name in names]
    if any(name in attacked.RUNS for name in wanted):
        wanted = [CONTROL, *wanted]
    place.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        yield name, _keep_trend(place / f"{name}.json", runs[name])


def _keep_trend(path: Path, run: Callable[[], Trend]) -> Trend:
    """Return the verdict of a file, or run the trend and keep it there."""
    if path.exists():
        return Trend(**json.loads(path.read_text("utf-8")))
    found = run()
    with atomic_file(path) as file:
        file.write(json.dumps(asdict(found), indent=1).encode())
    return found


def describe_trend(name: str, found: Trend) -> str:
    """Return a trend as a line."""
    return (
        f"{name:8}{found.verdict:10}{CLAIMS.get(name, 'what is learnt by heart is told apart')}:"
        f" {found.numbers}"
    )
