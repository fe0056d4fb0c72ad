"""Scores by any key of a note: language, kind, site, sex; with the worst group named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deid_assets.extending import InputError
from deid_assets.extending.scoring import (
    COLUMNS,
    RESAMPLES,
    Counts,
    Evaluation,
    Interval,
    Measure,
    Ratio,
    Row,
    Scheme,
    compare,
    wilson,
)

UNKNOWN = "unknown"
"""The group of notes of which the key is not known: shown, never dropped."""


@dataclass(frozen=True, slots=True)
class Group:
    """One group.

    Args:
        name: Value of the key.
        notes: How many notes it has.
        counts: Added up over its notes.
        interval: The ratio with its 95 % interval; ``None`` where it is not defined.
    """

    name: str
    notes: int
    counts: Counts
    interval: Interval | None


def subgroups(
    rows: Mapping[str, Row],
    key_of: Mapping[str, str | None],
    *,
    measure: Measure = (Scheme.COVERED, Ratio.RECALL),
    patients: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
) -> list[Group]:
    """Return every group, worst first, those where the ratio is not defined last.

    Args:
        rows: Note id to counts, as ``evaluate_by_note`` returns them.
        key_of: Note id to the group; notes without one make up ``UNKNOWN``.
        measure: Scheme and ratio.
        patients: As for ``compare``, whose intervals these are.
        resamples: As for ``compare``.

    Raises:
        InputError: There is no note, or a key is given for a note that was not scored.
    """
    if strangers := sorted(key_of.keys() - rows.keys()):
        raise InputError(
            f"{len(strangers)} notes with a key were not scored, the first is {strangers[0]!r}"
        )
    members: dict[str, dict[str, Row]] = {}
    for note_id, row in rows.items():
        members.setdefault(key_of.get(note_id) or UNKNOWN, {})[note_id] = row
    if not members:
        raise InputError("nothing was scored; give at least one note")
    groups = [
        _group(name, of_group, measure=measure, patients=patients, resamples=resamples)
        for name, of_group in members.items()
    ]
    return sorted(groups, key=_rank)


def _group(
    name: str,
    rows: Mapping[str, Row],
    *,
    measure: Measure,
    patients: Mapping[str, str] | None,
    resamples: int,
) -> Group:
    at = 3 * COLUMNS.index(measure[0])
    tp, fp, fn = (sum(row[at + place] for row in rows.values()) for place in range(3))
    own = {note_id: patient for note_id, patient in (patients or {}).items() if note_id in rows}
    interval = compare({name: rows}, patients=own or None, resamples=resamples).interval(
        name, *measure
    )
    return Group(name, len(rows), Counts(tp, fp, fn), interval)


def by_label(evaluation: Evaluation, scheme: Scheme = Scheme.COVERED) -> list[Group]:
    """Return the recall of every label as a group, worst first.

    Wilson intervals are over gold spans. Spans of one note are taken as independent, so that
    intervals are narrower than by note.
    """
    groups = []
    for label in evaluation.labels:
        counts = evaluation.counts(label, scheme)
        value = counts.recall
        interval = None if value is None else Interval(value, *wilson(counts.tp, counts.gold))
        groups.append(Group(label, evaluation.notes.notes, counts, interval))
    return sorted(groups, key=_rank)


def worst_group(groups: Sequence[Group]) -> Group:
    """Return the group with the lowest ratio; of several the one with the lowest bound.

    Raises:
        InputError: The ratio is defined in no group.
    """
    defined = [group for group in groups if group.interval is not None]
    if not defined:
        raise InputError(
            "the ratio is defined in no group: there is nothing to find; score against annotated"
            " notes"
        )
    return min(defined, key=_rank)


def _rank(group: Group) -> tuple[float, float, str]:
    if group.interval is None:
        return 2.0, 2.0, group.name
    return group.interval.value, group.interval.low, group.name
