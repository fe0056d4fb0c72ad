"""Denying values, and taking rules back: what a rule would cover is counted before it is made, and
what rests on it is made again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import InputError
from deid_assets.core.phi import Phi
from deid_assets.erasure.reach import RuleReach, count_denied
from deid_assets.languages.vocabulary import is_ordinary
from deid_assets.pipeline.leaks import strip_accents
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.store.atomic import lock_folder, make_folder
from deid_assets.store.denials import (
    DENIED_VALUES,
    Denials,
    DenyList,
    DenyRule,
    case_of_value,
    read_allowed,
    rule_name,
)
from deid_assets.store.files import ALL, StoreFiles
from deid_assets.store.zones import Zone

MOST_PATIENTS = 10
"""Patients in whose notes a value may stand; what more have tells nobody from another, as a word,
a town or a ward, and covering it takes much away.
"""


@dataclass(frozen=True, slots=True)
class DenyOrder:
    """Somebody's order that values must be in no release.

    Args:
        values: The values.
        category: Of the spans that cover them.
        by: Who asks.
        reason: Why.
        accepted: Number of notes in which a value may stand, where it is an ordinary word or stands
            in notes of many patients; none where that is refused.
    """

    values: tuple[str, ...] = field(repr=False)
    category: Phi
    by: str
    reason: str = field(repr=False)
    accepted: int | None = None


@dataclass(frozen=True, slots=True)
class DeniedBatches:
    """What an order came to.

    Args:
        reaches: Of each value, in order; without those that were denied before.
        batches: Whose spans are made again.
        known: Rules that were there before.
    """

    reaches: tuple[RuleReach, ...]
    batches: tuple[str, ...]
    known: int


def deny(settings: Settings, files: StoreFiles, order: DenyOrder) -> DeniedBatches:
    """Make a rule of each value, and have the batches that hold one merged again.

    Raises:
        InputError: A value is too short, or would cover too much; nothing is denied then.
        ProvenanceError: The rules or notes were altered.
    """
    with lock_folder(folder_of_rules(files)):
        denials = Denials(files)
        before = denials.read()
        values = {rule_name(settings.house_key(), value): value for value in order.values}
        there = {one.rule for one in before.rules}
        new = {rule: value for rule, value in values.items() if rule not in there}
        reaches = count_denied(settings, files, new)
        for at, value in enumerate(order.values, start=1):
            rule = rule_name(settings.house_key(), value)
            if rule in new:
                _check_reach(settings, reaches[rule], value, order, at=at)
        denials.write(_wider(before, new, order, reaches))
        return DeniedBatches(
            tuple(reaches.values()),
            discard_merged(files, {one for found in reaches.values() for one in found.batches}),
            len(values) - len(new),
        )


def lift(
    settings: Settings, files: StoreFiles, rule: str, *, by: str, reason: str
) -> tuple[str, ...]:
    """Take a rule back, and return the batches whose spans are made again.

    Raises:
        InputError: There is no such rule.
        ProvenanceError: The rules were altered.
    """
    with lock_folder(folder_of_rules(files)):
        denials = Denials(files)
        before = denials.read()
        found = next((one for one in before.rules if one.rule == rule), None)
        if found is None and rule not in {one.rule for one in before.allowed}:
            raise InputError(f"there is no rule {rule}; `deid denied list` names them")
        batches = (
            count_denied(settings, files, {rule: found.value})[rule].batches
            if found
            else _resting_on(files, {rule})
        )
        denials.write(before.drop_rules({rule}, by=by, reason=reason))
        return discard_merged(files, batches)


def lift_contradicted(files: StoreFiles, rules: Collection[str], *, batch: str) -> DenyList:
    """Take allow rules back whose values people annotated in a batch, and return what is left.

    The other batches that rest on them are made again.

    Raises:
        ProvenanceError: The rules were altered.
    """
    with lock_folder(folder_of_rules(files)):
        denials = Denials(files)
        reason = f"annotated as an identifier in batch {batch}"
        left = denials.read().drop_rules(rules, by="annotations", reason=reason)
        denials.write(left)
        discard_merged(files, _resting_on(files, rules) - {batch})
        return left


def forget(files: StoreFiles, rules: Iterable[str], *, patient: str, by: str) -> None:
    """Delete rules whose values are a patient's, and what is kept of the patient with others.

    Raises:
        ProvenanceError: The rules were altered.
    """
    with lock_folder(folder_of_rules(files)):
        denials = Denials(files)
        left = denials.read().drop_rules({*rules}, by=by, reason="erasure")
        denials.write(left.drop_cases_of(patient))


def folder_of_rules(files: StoreFiles) -> Path:
    """Return the folder that one call at a time may change the rules under."""
    folder = files.root / Zone.RESTRICTED / "denying"
    make_folder(files.root, folder, Zone.RESTRICTED)
    return folder


def _resting_on(files: StoreFiles, rules: Collection[str]) -> set[str]:
    """Return the batches in which allow rules leave something."""
    found = set()
    for batch in files.batches(DENIED_VALUES):
        record = files.find(DENIED_VALUES, batch) if batch != ALL else None
        if record and not read_allowed(record).isdisjoint(rules):
            found.add(batch)
    return found


def _check_reach(
    settings: Settings, reach: RuleReach, value: str, order: DenyOrder, *, at: int
) -> None:
    """Refuse to cover much that names nobody, unless somebody wrote how much it is.

    Raises:
        InputError: With the count, and without the value.
    """
    words = strip_accents(value).split()
    is_word = len(words) == 1 and any(
        is_ordinary(form, lang)
        for form in (value.strip(), words[0])
        for lang in (*settings.languages, None)
    )
    is_wide = len(reach.patients) > MOST_PATIENTS
    if not (is_word or is_wide) or order.accepted == reach.notes:
        return
    why = "is an ordinary word, and " if is_word else ""
    raise InputError(
        f"value {at} {why}stands at {reach.places:,} places in {reach.notes:,} notes of"
        f" {len(reach.patients):,} patients; all would be covered, now and later. Nothing was"
        " denied: give a longer value, as it stands around it, or, if that is meant,"
        f" --even-in {reach.notes}"
    )


def _wider(
    before: DenyList, new: dict[str, str], order: DenyOrder, reaches: dict[str, RuleReach]
) -> DenyList:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rules = [
        DenyRule(rule, value, order.category.value, order.by, order.reason, now)
        for rule, value in new.items()
    ]
    cases = [case for rule in rules for case in (reaches[rule.rule].cases or [case_of_value(rule)])]
    return before.add_rules(rules, cases)


def discard_merged(files: StoreFiles, batches: Iterable[str]) -> tuple[str, ...]:
    """Discard the merged spans of batches, so that they are made again, and return those that had
    some.
    """
    made = tuple(batch for batch in sorted(batches) if files.find(MERGED_SPANS, batch))
    for batch in made:
        files.discard(MERGED_SPANS, batch)
    return made
