"""Denying and allowing values: what a rule would cover or leave is counted before it is made, and
what rests on it is made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from deid_assets.config import Settings
from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.phi import Phi
from deid_assets.core.span import Span, SpanSet
from deid_assets.intake.states import open_batches
from deid_assets.languages.vocabulary import is_ordinary
from deid_assets.pipeline.denying import CERTAIN, AllowedPlace, AllowedValues
from deid_assets.pipeline.leaks import LeakedValues, LeakPlace, strip_accents
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.store.atomic import lock_folder, make_folder
from deid_assets.store.denials import (
    DENIED_VALUES,
    AllowRule,
    Denials,
    DenyCase,
    DenyList,
    DenyRule,
    allow_name,
    case_of_value,
    read_allowed,
    rule_name,
)
from deid_assets.store.files import ALL, StoreFiles
from deid_assets.store.frames import notes_from_table, spans_from_tables
from deid_assets.store.zones import Zone

MOST_PATIENTS = 10
"""Patients in whose notes a value may stand; what more have tells nobody from another, as a word,
a town or a ward, and covering it takes much away.
"""
MOST_CASES = 3
"""Pieces of notes that are kept with a rule."""
_AROUND = 40
"""Code points of a note that are kept with a value on either side."""
_RAW, _GOLD = "raw_notes", "gold_annotations"


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


@dataclass(slots=True)
class DenyReach:
    """What a value that is to be denied stands in.

    Args:
        rule: Name of its rule.
        places: Where it stands.
        notes: In how many notes.
        patients: Whose; a note without patient counts as one.
        batches: Which hold one.
        cases: Some of the places, with what stands around them.
    """

    rule: str
    places: int = 0
    notes: int = 0
    patients: set[tuple[str, str]] = field(default_factory=set, repr=False)
    batches: set[str] = field(default_factory=set)
    cases: list[DenyCase] = field(default_factory=list, repr=False)


@dataclass(frozen=True, slots=True)
class DeniedBatches:
    """What an order came to.

    Args:
        reaches: Of each value, in order; without those that were denied before.
        batches: Whose spans are made again.
        known: Rules that were there before.
    """

    reaches: tuple[DenyReach, ...]
    batches: tuple[str, ...]
    known: int


@dataclass(frozen=True, slots=True)
class FalseAlarm:
    """A place that a detector took for an identifier, and that a person rejected.

    Args:
        note: In which it stands.
        start: First code point.
        end: One past the last.
        category: That was suggested.
        said: Detectors that marked it, with the category that each gave it.
    """

    note: Note = field(repr=False)
    start: int
    end: int
    category: Phi
    said: frozenset[tuple[str, Phi]]

    @property
    def value(self) -> str:
        """The value, as it is spelt."""
        return self.note.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class AllowOrder:
    """Somebody's order that values are no identifiers.

    Args:
        alarms: What was rejected.
        by: Who asks.
        reason: Why; without naming anybody.
        identifiers: Note ids to what people took for an identifier, beside the annotations that are
            stored.
    """

    alarms: tuple[FalseAlarm, ...]
    by: str
    reason: str = field(repr=False)
    identifiers: Mapping[str, Sequence[Span]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class AllowedBatches:
    """What an order to allow values came to.

    Args:
        reaches: Of each rule that is made; without those that were there before.
        refused: Why no rule is made of the others, each with their number.
        batches: Whose spans are made again.
        known: Rules that were there before.
    """

    reaches: tuple[DenyReach, ...]
    refused: tuple[tuple[str, int], ...]
    batches: tuple[str, ...]
    known: int


def deny(settings: Settings, files: StoreFiles, order: DenyOrder) -> DeniedBatches:
    """Make a rule of each value, and have the batches that hold one merged again.

    Raises:
        InputError: A value is too short, or would cover too much; nothing is denied then.
        ProvenanceError: The rules or notes were altered.
    """
    with lock_folder(_folder(files)):
        denials = Denials(files)
        before = denials.read()
        values = {rule_name(settings.house_key(), value): value for value in order.values}
        there = {one.rule for one in before.rules}
        new = {rule: value for rule, value in values.items() if rule not in there}
        reaches = _reaches(settings, files, new)
        for at, value in enumerate(order.values, start=1):
            rule = rule_name(settings.house_key(), value)
            if rule in new:
                _check_reach(settings, reaches[rule], value, order, at=at)
        denials.write(_wider(before, new, order, reaches))
        return DeniedBatches(
            tuple(reaches.values()),
            _to_be_merged(files, {one for found in reaches.values() for one in found.batches}),
            len(values) - len(new),
        )


def allow(
    settings: Settings, files: StoreFiles, order: AllowOrder, *, is_plan: bool = False
) -> AllowedBatches:
    """Make a rule of each value that was no identifier, and have the batches that hold one merged
    again.

    No rule is made of a value that people annotated anywhere, that is denied, that a source of
    certainty marks, or that has neither letters nor digits.

    Args:
        settings: Of the installation.
        files: The store.
        order: What is asked for.
        is_plan: Count alone, and make nothing.

    Raises:
        ProvenanceError: The rules, notes or annotations were altered.
    """
    with lock_folder(_folder(files)):
        denials = Denials(files)
        before = denials.read()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rules = [_allow_rule(settings, one, order, now) for one in order.alarms]
        wanted = DenyList().add_allowed(rules, ())
        reaches, annotated = _allow_reaches(settings, files, wanted.allowed_values, order)
        refusals = {
            rule.rule: why
            for rule, alarm in zip(rules, order.alarms, strict=True)
            if (why := _refusal(alarm, rule.rule in annotated, before))
        }
        made = [one for one in wanted.allowed if one.rule not in refusals]
        there = {one.rule: one for one in before.allowed}
        new = [one for one in made if one.rule not in there]
        cases = [case for one in new for case in (reaches[one.rule].cases or [case_of_value(one)])]
        after = before.add_allowed(made, cases)
        touched = set[str]()
        if after != before:
            is_new = set(after.allowed) - set(before.allowed)
            touched = {one for rule in is_new for one in reaches[rule.rule].batches}
            if not is_plan:
                denials.write(after)
        return AllowedBatches(
            tuple(reaches[one.rule] for one in new),
            tuple(Counter(refusals.values()).items()),
            tuple(sorted(touched)) if is_plan else _to_be_merged(files, touched),
            len(made) - len(new),
        )


def lift(
    settings: Settings, files: StoreFiles, rule: str, *, by: str, reason: str
) -> tuple[str, ...]:
    """Take a rule back, and return the batches whose spans are made again.

    Raises:
        InputError: There is no such rule.
        ProvenanceError: The rules were altered.
    """
    with lock_folder(_folder(files)):
        denials = Denials(files)
        before = denials.read()
        found = next((one for one in before.rules if one.rule == rule), None)
        if found is None and rule not in {one.rule for one in before.allowed}:
            raise InputError(f"there is no rule {rule}; `deid denied list` names them")
        batches = (
            _reaches(settings, files, {rule: found.value})[rule].batches
            if found
            else _resting_on(files, {rule})
        )
        denials.write(before.drop_rules({rule}, by=by, reason=reason))
        return _to_be_merged(files, batches)


def lift_contradicted(files: StoreFiles, rules: Collection[str], *, batch: str) -> DenyList:
    """Take allow rules back whose values people annotated in a batch, and return what is left.

    The other batches that rest on them are made again.

    Raises:
        ProvenanceError: The rules were altered.
    """
    with lock_folder(_folder(files)):
        denials = Denials(files)
        reason = f"annotated as an identifier in batch {batch}"
        left = denials.read().drop_rules(rules, by="annotations", reason=reason)
        denials.write(left)
        _to_be_merged(files, _resting_on(files, rules) - {batch})
        return left


def forget(files: StoreFiles, rules: Iterable[str], *, patient: str, by: str) -> None:
    """Delete rules whose values are a patient's, and what is kept of the patient with others.

    Raises:
        ProvenanceError: The rules were altered.
    """
    with lock_folder(_folder(files)):
        denials = Denials(files)
        left = denials.read().drop_rules({*rules}, by=by, reason="erasure")
        denials.write(left.drop_cases_of(patient))


def _folder(files: StoreFiles) -> Path:
    """Return the folder that one call at a time may change the rules under."""
    folder = files.root / Zone.RESTRICTED / "denying"
    make_folder(files.root, folder, Zone.RESTRICTED)
    return folder


def _reaches(settings: Settings, files: StoreFiles, values: dict[str, str]) -> dict[str, DenyReach]:
    """Read every note that is stored, and return what each value stands in, by its rule."""
    known = LeakedValues(list(values.values()), list(values))
    reaches = {rule: DenyReach(rule) for rule in values}
    for batch in open_batches(settings, files) if values else ():
        if files.find(_RAW, batch) is None:
            continue
        notes = files.read(_RAW, batch, "notes")
        columns = (notes.column(name).to_pylist() for name in ("note_id", "patient_id", "text"))
        for note_id, patient, text in zip(*columns, strict=True):
            whose = ("note", note_id) if patient is None else ("patient", patient)
            _count(reaches, known.places(text), whose, text, batch)
    return reaches


def _allow_rule(settings: Settings, alarm: FalseAlarm, order: AllowOrder, now: str) -> AllowRule:
    lang = alarm.note.lang or ""
    value = " ".join(alarm.value.split())
    name = allow_name(settings.house_key(), value, alarm.category.value, lang)
    said = " ".join(sorted(f"{source}:{label.value}" for source, label in alarm.said))
    return AllowRule(name, value, alarm.category.value, lang, said, order.by, order.reason, now)


def _refusal(alarm: FalseAlarm, is_annotated: bool, rules: DenyList) -> str:
    """Return why a value cannot be allowed; empty where it can."""
    if any(source in CERTAIN for source, _ in alarm.said):
        return "marked by what is known of a patient"
    if not alarm.said:
        return "marked by no detector"
    if not any(map(str.isalnum, alarm.value)):
        return "without a letter or digit"
    if is_annotated:
        return "annotated as an identifier elsewhere"
    if rules.rules and rules.values.is_in(alarm.value):
        return "denied"
    return ""


def _allow_reaches(
    settings: Settings, files: StoreFiles, values: AllowedValues, order: AllowOrder
) -> tuple[dict[str, DenyReach], set[str]]:
    """Read every note that is stored, and return by rule where its value stands, and the rules
    whose values people annotated somewhere, however they are written.
    """
    reaches = {rule: DenyReach(rule) for rule in values.rules}
    annotated = set[str]()
    for batch in open_batches(settings, files) if values else ():
        if files.find(_RAW, batch) is None:
            continue
        gold = _gold_of(files, batch)
        for note in notes_from_table(files.read(_RAW, batch, "notes")):
            known = (*gold.get(note.note_id, ()), *order.identifiers.get(note.note_id, ()))
            annotated |= values.find_annotated(note, known)
            whose = (
                ("note", note.note_id) if note.patient_id is None else ("patient", note.patient_id)
            )
            places = (
                _as_leak(rule, place) for place in values.places(note) for rule in place.rules
            )
            _count(reaches, places, whose, note.text, batch)
    return reaches, annotated


def _as_leak(rule: str, place: AllowedPlace) -> LeakPlace:
    return LeakPlace(place.start, place.end, rule)


def _gold_of(files: StoreFiles, batch: str) -> dict[str, SpanSet]:
    if files.find(_GOLD, batch) is None:
        return {}
    tables = (files.read(_GOLD, batch, table) for table in ("notes", "spans"))
    return {one.note_id: one for one in spans_from_tables(*tables)}


def _resting_on(files: StoreFiles, rules: Collection[str]) -> set[str]:
    """Return the batches in which allow rules leave something."""
    found = set()
    for batch in files.batches(DENIED_VALUES):
        record = files.find(DENIED_VALUES, batch) if batch != ALL else None
        if record and not read_allowed(record).isdisjoint(rules):
            found.add(batch)
    return found


def _count(
    reaches: dict[str, DenyReach],
    places: Iterable[LeakPlace],
    whose: tuple[str, str],
    text: str,
    batch: str,
) -> None:
    """Count the places of one note."""
    found: dict[str, list[LeakPlace]] = {}
    for place in places:
        found.setdefault(place.name, []).append(place)
    for rule, of_rule in found.items():
        reach = reaches[rule]
        reach.places += len(of_rule)
        reach.notes += 1
        reach.batches.add(batch)
        if whose not in reach.patients and len(reach.cases) < MOST_CASES:
            reach.cases.append(_case(of_rule[0], text, whose))
        reach.patients.add(whose)


def _case(place: LeakPlace, text: str, whose: tuple[str, str]) -> DenyCase:
    first = max(0, place.start - _AROUND)
    piece = text[first : place.end + _AROUND]
    patient = whose[1] if whose[0] == "patient" else None
    return DenyCase(place.name, piece, place.start - first, place.end - first, patient)


def _check_reach(
    settings: Settings, reach: DenyReach, value: str, order: DenyOrder, *, at: int
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
    before: DenyList, new: dict[str, str], order: DenyOrder, reaches: dict[str, DenyReach]
) -> DenyList:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rules = [
        DenyRule(rule, value, order.category.value, order.by, order.reason, now)
        for rule, value in new.items()
    ]
    cases = [case for rule in rules for case in (reaches[rule.rule].cases or [case_of_value(rule)])]
    return before.add_rules(rules, cases)


def _to_be_merged(files: StoreFiles, batches: Iterable[str]) -> tuple[str, ...]:
    """Discard the merged spans of batches, so that they are made again, and return those that had
    some.
    """
    made = tuple(batch for batch in sorted(batches) if files.find(MERGED_SPANS, batch))
    for batch in made:
        files.discard(MERGED_SPANS, batch)
    return made
