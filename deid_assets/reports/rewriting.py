"""Tables of what a model that rewrites notes was measured to do, as Markdown.

Counts and ids of notes, no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from deid_assets.evaluation.rewriting import plateau
from deid_assets.reports.tables import escape_name, table_md

Measures = Mapping[str, Any]
"""What ``StudyTable.to_json`` gives."""
SHOWN = 40
"""Notes of an audit that are listed."""


def study_md(measures: Measures) -> str:
    """Return the measures of Dorémus et al. (2025).

    Rates with intervals, then the errors by mode, cause and role.
    """
    rates = [
        ("notes redacted whole", _share(measures["note_recall"])),
        ("names alone", _share(measures["names_only"])),
        ("items removed", _share(measures["recall"])),
        ("removals right", _share(measures["precision"])),
        ("F1", f"{measures['f1']:.4f}"),
        *((f"{name} removed", _share(one)) for name, one in measures["recall_by_category"].items()),
        ("characters removed", _share(measures["characters_removed"])),
        ("over-redaction", _share(measures["over_redaction"])),
        (
            "BLEU-4 corpus, mean",
            f"{_number(measures['bleu_corpus'])}, {_number(measures['bleu_mean'])}",
        ),
        ("withheld", f"{measures['withheld']:,}"),
        ("failing notes, mode", _counts(measures["failing_notes_by_mode"])),
        ("failing notes, category", _counts(measures["failing_notes_by_category"])),
        ("items left, cause", _counts(measures["left_by_cause"])),
        ("names left, whose", _counts(measures["names_left_by_role"])),
    ]
    return table_md(["Measure", "Value"], rates, left=2)


def alterations_md(measures: Measures) -> str:
    """Return what the outputs changed outside placeholders, by kind; none of it is released."""
    rows = [(escape_name(name), f"{count:,}") for name, count in measures["alterations"].items()]
    rows.append(("**notes altered**", _share(measures["altered"])))
    return table_md(["Alteration", "Times"], rows, left=1)


def epochs_md(points: Sequence[Mapping[str, Any]]) -> str:
    """Return the curve.

    What each epoch was measured to do on the development notes, and where it stops to rise.
    """
    rows = []
    for point in points:
        found = point["measures"]
        by_category = ", ".join(
            f"{name} {_value(one)}" for name, one in found["recall_by_category"].items()
        )
        rows.append((f"{point['epoch']}", f"{point['loss']:.4f}", *_rates(found), by_category))
    table = table_md(["Epoch", "Loss", *_RATES, "By category"], rows, left=1)
    return f"{table}\n\nPlateau of F1 from epoch {plateau(points)}."


def biases_md(points: Sequence[Mapping[str, Any]]) -> str:
    """Return what each bias towards placeholders was measured to do on the development notes.

    The kept one is bold.
    """
    rows = []
    for point in points:
        name = f"{point['bias']:+g}"
        rows.append((f"**{name}**" if point["kept"] else name, *_rates(point["measures"])))
    return table_md(["Bias", *_RATES], rows, left=1)


_RATES = ("Note recall", "Recall", "Precision", "F1", "BLEU-4")


def _rates(found: Measures) -> list[str]:
    shares = [_value(found[key]) for key in ("note_recall", "recall", "precision")]
    return [*shares, f"{found['f1']:.4f}", _number(found["bleu_corpus"])]


def audit(
    points: Sequence[Mapping[str, Any]], unlabelled: Collection[str], *, least: float = 0.8
) -> dict[str, int]:
    """Return the notes without gold in which most epochs remove something, with how many do.

    Annotators may have missed it.

    Args:
        points: Of the curve, with what each epoch removed by note.
        unlabelled: Ids of the notes in which nothing is annotated.
        least: Share of the epochs that must agree on a note.
    """
    seen = Counter(
        note for point in points for note in point.get("covers", {}) if note in unlabelled
    )
    return {note: count for note, count in seen.most_common() if count >= least * len(points)}


def audit_md(points: Sequence[Mapping[str, Any]], unlabelled: Collection[str]) -> str:
    """Return the audit as a table."""
    found = audit(points, unlabelled)
    rows = [
        (escape_name(note), f"{count} of {len(points)}")
        for note, count in list(found.items())[:SHOWN]
    ]
    rows.append((f"**{len(found):,} of {len(unlabelled):,} notes without annotations**", ""))
    return table_md(["Note", "Epochs that remove something"], rows, left=1)


def _share(share: Mapping[str, Any] | None) -> str:
    if share is None:
        return "-"
    low, high = share["interval"]
    return (
        f"{share['value']:.4f} ({share['hits']:,} of {share['trials']:,}; {low:.3f} to {high:.3f})"
    )


def _value(share: Mapping[str, Any] | None) -> str:
    return "-" if share is None else f"{share['value']:.4f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _counts(counts: Mapping[str, int]) -> str:
    return (
        ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()) or "none"
    )
