"""Notes, patients and subgroups of one system, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from deid_assets.extending import Phi, Profile, SpanSet
from deid_assets.extending.scoring import Counts, Row, Share, is_inside, union
from deid_evaluation.gold_profile import value_key
from deid_evaluation.label_intervals import measure_left_by_label
from deid_evaluation.leak_estimates import estimate_errors, rare_leaks
from deid_evaluation.note_outcomes import (
    NoteOutcome,
    by_patient,
    fully_redacted,
    fully_redacted_by_label,
    worst_notes,
)
from deid_evaluation.report.corpus import Json, ProfiledNotes, System
from deid_evaluation.report.scores import interval_json
from deid_evaluation.span_errors import places
from deid_evaluation.subgroups import Group, subgroups

WORST_NOTES = 20
MOST_GROUPS = 40
"""Groups of a key that are kept, worst first."""
FEWEST_SPANS = 20
"""Gold spans below which a group is not named the worst: chance alone may make it so."""


def notes_json(
    outcomes: Sequence[NoteOutcome], patients: Mapping[str, str], *, profile: Profile
) -> Json:
    """Return shares of notes and patients of which nothing is left, and the worst notes by id."""
    names = frozenset({profile.label_of(Phi.NAME) or ""})
    of_names = any(not names.isdisjoint(outcome.gold) for outcome in outcomes)
    by_person = by_patient((one for one in outcomes if one.note_id in patients), patients)
    return {
        "covered": _share(fully_redacted(outcomes)),
        "names_only": _share(fully_redacted(outcomes, labels=names)) if of_names else None,
        "by_label": {
            label: _share(share) for label, share in fully_redacted_by_label(outcomes).items()
        },
        "patients": (
            _share(fully_redacted(by_person)) if any(one.gold for one in by_person) else None
        ),
        "worst": [
            {
                "note": one.note_id,
                "gold": sum(one.gold.values()),
                "left": sum(one.left.values()),
                "left_by_label": dict(one.left),
                "left_chars": one.left_chars,
                "spurious_chars": one.spurious_chars,
            }
            for one in worst_notes(outcomes, count=WORST_NOTES)
        ],
        "faulty": sum(bool(one.left) for one in outcomes),
    }


def _share(share: Share) -> Json:
    return {
        "hits": share.hits,
        "trials": share.trials,
        "value": share.value,
        "low": share.low,
        "high": share.high,
    }


def make_left_json(
    outcomes: Sequence[NoteOutcome], patients: Mapping[str, str], *, resamples: int
) -> list[Json]:
    """Return what is left of every label, worst first."""
    return [
        {
            "label": row.label,
            "gold": row.gold,
            "left": row.left,
            "units": row.units,
            "wilson": interval_json(row.spans),
            "bootstrap": interval_json(row.by_unit),
        }
        for row in measure_left_by_label(outcomes, patients=patients, resamples=resamples)
    ]


def groups_json(
    rows: Mapping[str, Row],
    groups: Mapping[str, Mapping[str, str | None]],
    patients: Mapping[str, str],
    *,
    resamples: int,
) -> Json:
    """Return recall by key and group, worst first, and the worst group of all keys.

    The worst group is of the keys that have two groups to compare.
    """
    found = {
        key: subgroups(rows, key_of, patients=patients, resamples=resamples)
        for key, key_of in groups.items()
    }
    candidates = [
        (group.interval.value, group.interval.low, key, group)
        for key, of_key in found.items()
        for group in of_key
        if group.interval is not None
        and group.counts.gold >= FEWEST_SPANS
        and _eligible(of_key) > 1
    ]
    worst = min(candidates, key=lambda entry: entry[:3], default=None)
    return {
        "keys": {
            key: [_group(group) for group in of_key[:MOST_GROUPS]] for key, of_key in found.items()
        },
        "more": {key: max(0, len(of_key) - MOST_GROUPS) for key, of_key in found.items()},
        "worst": {"key": worst[2], **_group(worst[3])} if worst else None,
    }


def _eligible(groups: Sequence[Group]) -> int:
    return sum(group.interval is not None and group.counts.gold >= FEWEST_SPANS for group in groups)


def _group(group: Group) -> Json:
    return {
        "name": group.name,
        "notes": group.notes,
        "gold": group.counts.gold,
        "left": group.counts.fn,
        "recall": interval_json(group.interval),
    }


def rarity_json(
    corpus: ProfiledNotes, spans: Mapping[str, SpanSet], shares: Mapping[tuple[str, str], float]
) -> Json:
    """Return leaks weighed by how few people in this gold bear the value."""

    def weigh(spans: Mapping[str, SpanSet]) -> list[tuple[float, bool]]:
        entries = []
        for note_id, gold in corpus.gold.items():
            cover = union((span.start, span.end) for span in spans[note_id])
            for start, end, label in places(gold, corpus.profile):
                share = shares[value_key(corpus.notes[note_id], start, end, label)]
                entries.append((share, not is_inside((start, end), cover)))
        return entries

    found = rare_leaks(weigh(spans))
    return {
        "leaked": found.leaked,
        "spans": found.spans,
        "leaked_bits": found.leaked_bits,
        "all_bits": found.all_bits,
        "weighted_recall": found.weighted_recall,
    }


def make_expected_errors_json(system: System, strict: Counts) -> Json | None:
    """Return what is probably left in notes without gold.

    Per 1,000 predictions where there are none of these.
    """
    precision, recall = strict.precision, strict.recall
    if precision is None or not recall or not isfinite(precision):
        return None
    predicted = system.elsewhere or 1_000
    found = estimate_errors(predicted, precision=precision, recall=recall)
    return {
        "predicted": predicted,
        "is_measured": bool(system.elsewhere),
        "true": found.true,
        "left": found.left,
        "damaged": found.damaged,
    }
