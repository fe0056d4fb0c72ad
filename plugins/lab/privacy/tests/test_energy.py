"""Counters of energy.

Rounds are counted, parts of a package are not counted twice, and a ledger says what it rests on.
"""

from __future__ import annotations

import pytest

from deid_privacy.energy import Counter, Meter, counters
from deid_privacy.utility.page import grid_html
from deid_privacy.utility.running import Grid, Plan


def counter(folder, name, microjoules, *, most=1_000_000):
    folder.mkdir(parents=True)
    for file, value in (("name", name), ("energy_uj", microjoules), ("max_energy_range_uj", most)):
        (folder / file).write_text(f"{value}\n")
    return folder / "energy_uj"


@pytest.fixture
def powercap(tmp_path):
    """Two packages, and what must not be counted.

    A part of one, the platform, the same package by another way.
    """
    root = tmp_path / "powercap"
    first = counter(root / "intel-rapl:0", "package-0", 900_000)
    second = counter(root / "intel-rapl:1", "package-1", 5)
    counter(root / "intel-rapl:0:0", "core", 1)
    counter(root / "intel-rapl:2", "psys", 1)
    counter(root / "intel-rapl-mmio:0", "package-0", 1)
    return root, first, second


def test_packages_alone_are_counted_and_a_counter_that_begins_again_goes_on(powercap):
    root, first, second = powercap
    with Meter(counters(root)) as meter:
        first.write_text("100000\n")
        second.write_text("250005\n")
    assert meter.joules == pytest.approx({"package-0": 0.2, "package-1": 0.25})


def test_rounds_between_readings_are_counted():
    readings = iter([0.9, 0.3, 0.8, 0.2])
    one = Counter("package-0", lambda: next(readings), range=1.0)
    one.start()
    for _ in range(3):
        one.update()
    assert one.joules == pytest.approx(0.4 + 0.5 + 0.4)


def test_a_counter_that_cannot_be_read_to_the_end_tells_nothing(powercap):
    root, first, _ = powercap
    with Meter(counters(root)) as meter:
        first.unlink()
    assert set(meter.joules) == {"package-1"}
    assert counters(root / "none") == []


def test_the_ledger_of_a_grid_says_what_its_energy_rests_on(powercap, tmp_path):
    root, *_ = powercap
    plan = Plan(
        models=["majority"], versions=["raw"], tests=["raw"], tasks=["icd10"], folds=2, documents=8
    )
    grid = Grid(plan, tmp_path / "out", powercap=root)
    results = grid.run()
    assert all(set(one["joules"]) == {"package-0", "package-1"} for one in results)
    page = grid_html(results, plan, title="Counted", watts=10, provenance={})
    assert "0.000 Wh, counted" in page
    assert "package-0, package-1" in page
    assumed = grid_html(
        [one | {"joules": {}} for one in results], plan, title="Assumed", watts=10, provenance={}
    )
    assert "Wh, assumed" in assumed
