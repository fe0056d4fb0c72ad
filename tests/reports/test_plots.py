import struct
import sys

import pytest

from deid_assets.evaluation.score import Evaluation
from deid_assets.reports import labels_png, leaderboard_png, recall_png


def size(png):
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


@pytest.fixture
def plots(weak, good):
    return {
        "labels": lambda: labels_png({f"LABEL_{n}": 37 * n for n in range(30)}, title="spans"),
        "recall": lambda: recall_png(weak, title="weak"),
        "leaderboard": lambda: leaderboard_png(
            {f"detector {n}": weak for n in range(12)} | {"good": good}, title="dev"
        ),
    }


@pytest.mark.parametrize("name", ["labels", "recall", "leaderboard"])
def test_plots_are_small_and_repeat_to_the_byte(plots, name):
    png = plots[name]()

    assert png == plots[name]()
    assert len(png) <= 40_000
    assert size(png)[0] == 864


def test_a_plot_grows_with_its_rows(weak, good):
    one, two = (
        leaderboard_png(named, title="t") for named in ({"a": weak}, {"a": weak, "b": good})
    )

    assert size(two)[1] == size(one)[1] + 36


@pytest.mark.filterwarnings("error")
def test_names_are_drawn_as_they_are(weak, probe):
    for name in (probe, "$", "$\\frac{", "x" * 400):
        assert labels_png({name: 1}, title=name)
        assert leaderboard_png({name: weak}, title=name)


@pytest.mark.filterwarnings("error")
def test_nothing_to_show_is_a_plot_too():
    empty = Evaluation("harmonised")

    assert size(labels_png({}, title="t")) == size(recall_png(empty, title="t"))
    assert labels_png({"NAME": 0}, title="t")


def test_plots_leave_the_global_state_of_matplotlib_alone(weak):
    recall_png(weak, title="t")

    assert "matplotlib.pyplot" not in sys.modules
