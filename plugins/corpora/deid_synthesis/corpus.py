"""Corpora of synthetic notes with exact gold spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from random import Random
from types import MappingProxyType

from deid_assets.extending import DisjointSpans, InputError, Note, SpanSet
from deid_synthesis.grammar import load_grammar
from deid_synthesis.hard_cases import HARD_CASES, HardCase
from deid_synthesis.layout import draw_style, lay_out
from deid_synthesis.patients import SPREAD, Encounter, Patient, World
from deid_synthesis.text import Text
from deid_synthesis.writer import NoteWriter

KINDS = tuple(SPREAD)
MAX_SENTENCES = 5
"""Hard-case sentences planned for one note at most."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Options of a synthetic corpus.

    Args:
        kinds: Kinds of notes.
        phi_free: Share of notes without PHI.
        chars: Length of the shortest and the longest note.
    """

    kinds: tuple[str, ...]
    phi_free: float
    chars: tuple[int, int]


MIXES: Mapping[str, Mix] = MappingProxyType(
    {
        "hospital": Mix(KINDS, 0.125, (300, 6000)),
        # A French emergency department: 31.2 % of 3,000 notes with PHI, 3 to 2,138 characters
        # (Dorémus et al. 2025).
        "triage": Mix(("triage",), 0.688, (3, 2138)),
        # Blocks, tables, lists of family, signatures, names in passing: no word announces what
        # follows.
        "bare": Mix(("bare",), 0.0, (100, 6000)),
    }
)
"""Mixes by name."""

GUIDELINE = """\
NAME: names of patients, staff, relatives and others, initials included; no title ("Dr."), suffix
  ("MD") or "'s".
  native_label: PATIENT, DOCTOR or RELATIVE.
DATE: every calendar date, also without a year ("3/14") or a day ("March 2019"); a weekday only as
  part of a date.
  Not labelled: a year alone, a weekday alone, a time of day, a duration.
AGE: every age; in English and German the number alone ("54", "nineties"), elsewhere with its unit
  ("54 años").
STREET: street, number, storey and flat. CITY, REGION (state, county, province), ZIP, COUNTRY: each
  by itself.
HOSPITAL: hospitals, clinics, practices and care homes by name; not departments. ORGANIZATION: other
  bodies by name.
PHONE, FAX: the number with its extension. EMAIL, URL, IP, USERNAME: the whole string.
NATIONAL_ID: SSN, NHS number, DNI, NIE, codice fiscale, NIR, Steuer-ID, SVNR, AHV, BSN, NISS,
  personnummer, HETU.
HEALTH_PLAN: member and insurance numbers such as NASS, KVNR, UZOVI, tessera sanitaria.
MRN: record numbers, NHC, CIP, IPP.
LICENSE: NPI, DEA, medical licences, collegiate numbers, driving licences.
ACCOUNT: account and bank numbers. VEHICLE: plates and VIN. DEVICE: serial numbers.
ID: encounter, accession and other numbers. PROFESSION: occupations.
Every occurrence is labelled. Eponyms, scores, measurements, doses, drug names and relations
("wife") are not.
"""
"""Guideline: what is labelled, and how far a span reaches."""


def make_corpus(
    *, lang: str, notes: int, seed: int, kinds: Sequence[str] | None = None, mix: str = "hospital"
) -> Iterator[tuple[Note, SpanSet]]:
    """Return an iterator over notes and their gold spans.

    The same arguments give the same bytes in every process, and a shorter corpus is the start of a
    longer one.

    Args:
        lang: A language with a grammar, one of ``languages()``.
        notes: How many; 0 or more.
        seed: Chooses the hospitals, people and texts.
        kinds: Note kinds to write, of those of the mix; all when not given.
        mix: One of ``MIXES``; ``triage`` is there for French alone.

    Raises:
        InputError: The mix or a kind is not known or not written in the language, or ``notes`` is
            negative.
        ConfigError: The language has no grammar.
    """
    if mix not in MIXES:
        raise InputError(f"unknown mix {mix!r}; choose one of {', '.join(MIXES)}")
    known = MIXES[mix].kinds
    chosen = tuple(known if kinds is None else dict.fromkeys(kinds))
    unknown = sorted(set(chosen) - set(known))
    if unknown or not chosen:
        raise InputError(
            f"unknown note kinds {', '.join(unknown) or '(none given)'}; choose of"
            f" {', '.join(known)}"
        )
    if notes < 0:
        raise InputError(f"notes must be 0 or more, got {notes}")
    world = World(load_grammar(lang), seed)
    if f"note.{chosen[0]}" not in world.grammar.rules:
        raise InputError(f"the mix {mix!r} is not written in {lang!r}; choose another language")
    return islice(_notes(world, replace(MIXES[mix], kinds=chosen)), notes)


def _notes(world: World, mix: Mix) -> Iterator[tuple[Note, SpanSet]]:
    number = count()
    for index in count():
        patient, rng = world.patient(index)
        for encounter in world.encounters(patient, rng, mix.kinds):
            note_id = f"syn-{world.grammar.lang}-{world.seed}-{next(number):06d}"
            yield _note(world, patient, encounter, mix, rng=rng, note_id=note_id)


def _note(
    world: World, patient: Patient, encounter: Encounter, mix: Mix, *, rng: Random, note_id: str
) -> tuple[Note, DisjointSpans]:
    """Write a note; one that is too short or too long is written again."""
    with_phi = rng.random() >= mix.phi_free
    shortest, longest = mix.chars
    while True:
        text, cases = _write(world, patient, encounter, rng, with_phi=with_phi)
        if shortest <= len(str(text)) <= longest:
            break
    meta = {
        "kind": encounter.kind,
        "topic": patient.topic,
        "phi": "yes" if with_phi else "no",
        "cases": ",".join(cases),
    }
    note = Note(
        note_id, str(text), patient_id=patient.patient_id, lang=world.grammar.lang, meta=meta
    )
    return note, DisjointSpans.of(note, text.spans())


def _write(
    world: World, patient: Patient, encounter: Encounter, rng: Random, *, with_phi: bool
) -> tuple[Text, list[str]]:
    planned = plan_cases(rng, very_old=int(encounter.variables["age"]) >= 90) if with_phi else []
    sentences = [case.name for case in planned if case.distort is None][:MAX_SENTENCES]
    style = draw_style(rng)
    writer = NoteWriter(
        grammar=world.grammar,
        rng=rng,
        tags=patient.tags,
        subjects=encounter.subjects,
        variables=encounter.variables,
        memory=patient.memory,
        style=style,
        cases=sentences,
        with_phi=with_phi,
    )
    text = writer.write(f"note.{encounter.kind}" if with_phi else f"free.{encounter.kind}")
    text, distortions = distort(text, planned, rng)
    return lay_out(text, style), sorted(writer.placed + distortions)


def distort(text: Text, planned: Sequence[HardCase], rng: Random) -> tuple[Text, list[str]]:
    """Return a text with the planned distortions, and the names of those that changed it."""
    names = []
    for case in planned:
        if case.distort is not None:
            changed = case.distort(text, rng)
            names += [case.name] if changed is not text else []
            text = changed
    return text, names


def plan_cases(rng: Random, *, very_old: bool) -> list[HardCase]:
    """Return the hard cases of a note with identifiers, drawn by their rates."""
    cases = [
        case
        for case in HARD_CASES
        if rng.random() < case.rate and (very_old or case.name != "old_age")
    ]
    rng.shuffle(cases)
    return cases
