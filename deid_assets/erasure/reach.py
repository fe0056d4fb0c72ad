"""Where values stand that are to be denied or allowed: counted before a rule is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets.config import Settings
from deid_assets.core.span import Span, SpanSet
from deid_assets.intake.states import open_batches
from deid_assets.pipeline.denying import AllowedPlace, AllowedValues
from deid_assets.pipeline.leaks import LeakedValues, LeakPlace
from deid_assets.store.denials import DenyCase
from deid_assets.store.files import StoreFiles
from deid_assets.store.frames import notes_from_table, spans_from_tables

MOST_CASES = 3
"""Pieces of notes that are kept with a rule."""
_AROUND = 40
"""Code points of a note that are kept with a value on either side."""
_RAW, _GOLD = "raw_notes", "gold_annotations"


@dataclass(slots=True)
class RuleReach:
    """What a value that is to be denied or allowed stands in.

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


def count_denied(
    settings: Settings, files: StoreFiles, values: dict[str, str]
) -> dict[str, RuleReach]:
    """Read every note that is stored, and return what each value stands in, by its rule."""
    known = LeakedValues(list(values.values()), list(values))
    reaches = {rule: RuleReach(rule) for rule in values}
    for batch in open_batches(settings, files) if values else ():
        if files.find(_RAW, batch) is None:
            continue
        notes = files.read(_RAW, batch, "notes")
        columns = (notes.column(name).to_pylist() for name in ("note_id", "patient_id", "text"))
        for note_id, patient, text in zip(*columns, strict=True):
            whose = ("note", note_id) if patient is None else ("patient", patient)
            _count(reaches, known.places(text), whose, text, batch)
    return reaches


def count_allowed(
    settings: Settings,
    files: StoreFiles,
    values: AllowedValues,
    identifiers: Mapping[str, Sequence[Span]],
) -> tuple[dict[str, RuleReach], set[str]]:
    """Read every note that is stored, and return by rule where its value stands, and the rules
    whose values people annotated somewhere, however they are written.
    """
    reaches = {rule: RuleReach(rule) for rule in values.rules}
    annotated = set[str]()
    for batch in open_batches(settings, files) if values else ():
        if files.find(_RAW, batch) is None:
            continue
        gold = _gold_of(files, batch)
        for note in notes_from_table(files.read(_RAW, batch, "notes")):
            known = (*gold.get(note.note_id, ()), *identifiers.get(note.note_id, ()))
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


def _count(
    reaches: dict[str, RuleReach],
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
