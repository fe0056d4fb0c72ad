"""The charts of an evaluation's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deid_evaluation.pages.charts import Axis, Chart, Series, axis_of, chart

MOST_LINES = 6
"""Systems drawn into one chart."""
_RECALL, _PRECISION = Axis("Recall"), Axis("Precision")


def ranking_charts(ranking: Mapping[str, Any]) -> list[Chart]:
    """Return precision and recall, the sweep of thresholds, calibration and ROC.

    None where nothing is ranked.
    """
    if "left_out" in ranking:
        return []
    curve = Series(
        "precision", [(recall, precision) for recall, precision, _ in ranking["precision_recall"]]
    )
    thresholds = Axis("Threshold")
    sweep = [
        Series(name, [(point["threshold"], point[name]) for point in ranking["sweep"]])
        for name in ("recall", "precision", "f1")
    ]
    bins = [(one["mean_score"], one["share_right"]) for one in ranking["calibration"]["bins"]]
    drawn = [
        chart("Precision and recall", [curve], x=_RECALL, y=_PRECISION),
        chart("What a threshold gives", sweep, x=thresholds, y=Axis("Ratio")),
        chart(
            "Calibration",
            [Series("predictions", bins, is_dots=True)],
            x=Axis("Mean score"),
            y=Axis("Share right"),
            has_diagonal=True,
        ),
    ]
    if ranking["roc"]:
        roc = Series("predictions", [(wrong, right) for wrong, right in ranking["roc"]])
        axes = {"x": Axis("Share of wrong kept"), "y": Axis("Share of right kept")}
        drawn.append(chart("Right against wrong (ROC)", [roc], **axes, has_diagonal=True))
    return drawn


def overlay(report: Mapping[str, Any]) -> Chart | None:
    """Return precision and recall of all systems in one chart.

    ``None`` where fewer than two are ranked.
    """
    series = [
        Series(name, [(recall, precision) for recall, precision, _ in ranking["precision_recall"]])
        for name in report["systems"]
        if "left_out" not in (ranking := report["results"][name]["ranking"])
    ]
    if len(series) < 2:
        return None
    return chart(
        "Precision and recall of the systems", series[:MOST_LINES], x=_RECALL, y=_PRECISION
    )


def curve_charts(curves: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Chart]]]:
    """Return the charts of every learning curve.

    Loss, and dev F1 where it was measured, over epochs of all phases.
    """
    return [(str(curve["name"]), _learning(curve["epochs"])) for curve in curves]


def _learning(epochs: Sequence[Mapping[str, Any]]) -> list[Chart]:
    x = axis_of("Epoch", [len(epochs)])
    charts = []
    for title, key in (("Training loss", "loss"), ("Strict F1 on dev", "dev_f1")):
        points = [
            (float(at), float(epoch[key]))
            for at, epoch in enumerate(epochs, start=1)
            if isinstance(epoch.get(key), (int, float))
        ]
        if points:
            y = Axis("F1") if key == "dev_f1" else axis_of("Loss", [value for _, value in points])
            charts.append(
                chart(title, [Series(title, points, is_dots=len(points) <= 40)], x=x, y=y)
            )
    return charts
