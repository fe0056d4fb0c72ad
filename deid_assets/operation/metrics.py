"""Metrics in the text format of Prometheus: numbers with names of states, assets and categories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from deid_assets.core.errors import DeidError

PREFIX = "deid_"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_VALUE = re.compile(r"[A-Za-z0-9_. /-]{0,100}")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric with all its values.

    Args:
        name: Without prefix.
        kind: ``gauge`` or ``counter``, the latter with a name that ends in ``_total``.
        told: What it counts, with its unit, on one line.
        label: Name of the label that tells its values apart; empty where it has one value.
        values: Value of the label to value; under the empty word where there is no label.
    """

    name: str
    kind: str
    told: str
    label: str = ""
    values: Mapping[str, float] = field(default_factory=dict)


def exposition(metrics: Iterable[Metric]) -> str:
    """Return metrics in the text format, version 0.0.4, as a scraper and the textfile collector of
    the node exporter read it.

    Raises:
        DeidError: A name or a label holds what could be text of a note.
    """
    lines: list[str] = []
    for metric in metrics:
        name = PREFIX + metric.name
        if not _NAME.fullmatch(name) or (metric.label and not _NAME.fullmatch(metric.label)):
            raise DeidError(f"metric {metric.name!r}: a name has small letters, digits and _ alone")
        lines += [f"# HELP {name} {metric.told}", f"# TYPE {name} {metric.kind}"]
        for value, number in metric.values.items():
            if not _VALUE.fullmatch(value):
                raise DeidError(f"metric {metric.name!r}: the value of its label is not shown")
            labels = f'{{{metric.label}="{value}"}}' if metric.label else ""
            lines.append(f"{name}{labels} {_number(number)}")
    return "\n".join([*lines, ""])


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
