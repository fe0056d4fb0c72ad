"""Checks on redacted notes that need the text; they give back counts, never text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from deid_assets.config import Gates
from deid_assets.core.detector import Failed
from deid_assets.core.note import Note
from deid_assets.core.redact import Edit
from deid_assets.evaluation.counts import Counts
from deid_assets.pipeline.batch import SearchResult, Survival
from deid_assets.pipeline.searching import upper_bound
from deid_assets.quality.verdict import Verdict

NO_RESIDUAL_HITS = "no_residual_hits"


def is_unchanged_outside(note: Note, edits: Sequence[Edit], redacted_text: str) -> bool:
    """Whether the redacted text is the original with exactly these edits, which must be sorted and
    disjoint.
    """
    cursor = new_cursor = 0
    for edit in edits:
        if (
            edit.start < cursor
            or edit.end < edit.start
            or edit.new_start < new_cursor
            or edit.new_end < edit.new_start
        ):
            return False
        if note.text[cursor : edit.start] != redacted_text[new_cursor : edit.new_start]:
            return False
        cursor, new_cursor = edit.end, edit.new_end
    in_bounds = cursor <= len(note.text) and new_cursor <= len(redacted_text)
    return in_bounds and note.text[cursor:] == redacted_text[new_cursor:]


def judge_changed(notes: int, *, changed: int) -> Verdict:
    """Check that redaction changed nothing outside the spans it replaced, in notes that were
    compared before.
    """
    return Verdict(
        "unchanged_outside",
        passed=changed == 0,
        blocking=True,
        counts={"notes": notes, "changed": changed},
        description="Text outside the replaced spans is the original's, character for character.",
    ).unless(not notes, "no redacted note")


def recall_floor(counts: Mapping[str, Counts], floors: Mapping[str, float]) -> Verdict:
    """Check each label's recall against its floor.

    A label with a floor and no gold spans fails: nothing shows that its floor is reached.

    Args:
        counts: Label to counts, as ``Evaluation.counts`` gives them under one scheme.
        floors: Label to the least recall that passes, in [0, 1].

    Returns:
        Counts ``labels``, ``below``, ``not_annotated``, and ``recall_<label>`` and
        ``minimum_<label>`` where recall is defined. It is not applicable where no label has a
        floor.
    """
    recalls: dict[str, float] = {}
    for label in sorted(floors):
        count = counts.get(label, Counts())
        if count.gold:
            recalls[label] = count.tp / count.gold
    below = sum(recall < floors[label] for label, recall in recalls.items())
    without_gold = len(floors) - len(recalls)
    figures = {
        f"{name}_{label}": round(value, 4)
        for label, recall in recalls.items()
        for name, value in (("recall", recall), ("minimum", floors[label]))
    }
    return Verdict(
        "recall_floor",
        passed=below == 0 and without_gold == 0,
        blocking=True,
        counts={"labels": len(floors), "below": below, "not_annotated": without_gold, **figures},
        description="Recall reaches its minimum for every label that has one.",
    ).unless(not floors, "no label has a minimum and enough annotations")


def complete(entered: Iterable[str], left: Iterable[str], quarantined: Iterable[str]) -> Verdict:
    """Check that every note that went in came out once, either released or quarantined.

    Returns:
        Counts ``entered``, ``left``, ``quarantined``, ``lost`` (went in, did not come out),
        ``invented`` (came out, never went in) and ``duplicated`` (ids that occur twice on one side,
        or were both released and quarantined).
    """
    source, released, held = Counter(entered), Counter(left), Counter(quarantined)
    arrived = released + held
    lost, invented = len(source.keys() - arrived.keys()), len(arrived.keys() - source.keys())
    duplicated = len(
        {
            note_id
            for counter in (source, arrived)
            for note_id, times in counter.items()
            if times > 1
        }
    )
    return Verdict(
        "complete",
        passed=not (lost or invented or duplicated),
        blocking=True,
        counts={
            "entered": source.total(),
            "left": released.total(),
            "quarantined": held.total(),
            "lost": lost,
            "invented": invented,
            "duplicated": duplicated,
        },
        description="Every note that went in is released or quarantined, once.",
    ).unless(not source and not arrived, "no notes")


def survival_verdict(found: Collection[Survival], *, values: int) -> Verdict:
    """Check that no known identifier of a patient is left in the kept text of any of that patient's
    notes.

    Args:
        found: What is left in each note, as ``survival_by_note`` says.
        values: How many values were sought.

    Returns:
        Counts ``notes``, ``values`` sought, ``missed``, ``notes_with_missed``, ``lower_case``,
        ``name_parts``.
    """
    left = sum(one.whole for one in found)
    return Verdict(
        "survivors",
        passed=left == 0,
        blocking=True,
        counts={
            "notes": len(found),
            "values": values,
            "missed": left,
            "notes_with_missed": sum(one.whole > 0 for one in found),
            "lower_case": sum(one.lower_case for one in found),
            "name_parts": sum(one.name_parts for one in found),
        },
        description="No known identifier is readable outside the replacements.",
    ).unless(not values or not found, "no known value to look for")


def search_verdict(found: SearchResult, done: Sequence[str], gates: Gates) -> Verdict:
    """Check that no note with a find is let through, and that enough notes were searched.

    Args:
        found: The search of the batch.
        done: Ids of the notes that are let through.
        gates: The limit for notes that were not searched.
    """
    bound = upper_bound(found.drawn_hits, found.drawn)
    counted = [found.hits_of(note_id) for note_id in done]
    failed = sum(isinstance(hit, Failed) for hit in counted)
    left = sum(len(hit) for hit in counted if hit and not isinstance(hit, Failed))
    return Verdict(
        NO_RESIDUAL_HITS,
        passed=not left and not failed and (found.is_whole or bound <= gates.residual),
        blocking=True,
        counts={
            "notes": len(done),
            "hits": left,
            "failed": failed,
            "notes_searched": len(found.hits),
            "notes_with_hits": sum(map(bool, found.hits.values())),
            "notes_withheld": len(found.withhold(NO_RESIDUAL_HITS)),
            **(_of_draw(found, bound, gates) if found.drawn < found.notes else {}),
        },
        description=_description_of_search(found, bound, limit=gates.residual),
    ).unless(not found.hits, "no redacted note to search")


def _of_draw(found: SearchResult, bound: float, gates: Gates) -> dict[str, int | float]:
    return {
        "notes_drawn": found.drawn,
        "drawn_with_hits": found.drawn_hits,
        "upper_bound": round(bound, 5),
        "limit": gates.residual,
    }


def _description_of_search(found: SearchResult, bound: float, *, limit: float) -> str:
    ran = "The ensemble ran again on the redacted text of"
    again = (
        f"What it found in {sum(map(bool, found.hits.values())):,} was covered too; "
        f"{len(found.withhold(NO_RESIDUAL_HITS)):,} notes in which something was found again are"
        " withheld."
    )
    if found.drawn == found.notes:
        return f"{ran} all {found.notes:,} notes. {again}"
    drawn = f"{found.drawn_hits:,} of {found.drawn:,} drawn by key had hits"
    share = f"with 95 % confidence at most {bound:.2%} of all have"
    if found.is_whole:
        return (
            f"{ran} all {found.notes:,} notes, because {drawn}: {share}, more than {limit:.2%}."
            f" {again}"
        )
    return f"{ran} {found.drawn:,} of {found.notes:,} notes: {drawn}, {share}. {again}"
