"""Notes that look like those of a site: its layout, their content from the grammar."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from random import Random

from deid_assets.extending import DisjointSpans, InputError, Note
from deid_synthesis.corpus import KINDS, MAX_SENTENCES, distort, plan_cases
from deid_synthesis.grammar import load_grammar
from deid_synthesis.layout import Style, lay_out
from deid_synthesis.nodes import Node
from deid_synthesis.patients import Encounter, Patient, World
from deid_synthesis.profile import END, OTHER, Shares, SiteProfile
from deid_synthesis.registers import lower_text
from deid_synthesis.sections import SectionBank, section_bank
from deid_synthesis.text import Piece, Text
from deid_synthesis.writer import NoteWriter, drop_double_stops

CANDIDATES = 3
"""Notes that are written for each one that is kept: the one that brings the mix of categories and
the length nearer to the site's.
"""
TRIED = 10
"""Sentences that are looked at for identifiers that are too few."""
_SENTENCE = re.compile(r"case\.\w+|[a-z]+\.phi")
MOST_SECTIONS = 14
JITTER = 0.15
"""By how much a length may differ from one of the profile."""


def draw_by_share(shares: Shares, rng: Random, default: str) -> str:
    """Return one of some things by their shares; the default where there are none."""
    things = [thing for thing, share in shares.items() if share > 0]
    if not things:
        return default
    return rng.choices(things, [shares[thing] for thing in things])[0]


def make_site_corpus(
    profile: SiteProfile, *, notes: int, seed: int
) -> Iterator[tuple[Note, DisjointSpans]]:
    """Return an iterator over notes that look like the site's, and their gold spans.

    The same arguments give the same bytes in every process, and a shorter corpus is the start of a
    longer one.

    Args:
        profile: How the site's notes look.
        notes: How many; 0 or more.
        seed: Chooses the hospitals, people and texts.

    Raises:
        InputError: ``notes`` is negative.
        ConfigError: The language of the profile has no grammar.
    """
    if notes < 0:
        raise InputError(f"notes must be 0 or more, got {notes}")
    return islice(_SiteWriter(profile, seed).notes(), notes)


@dataclass(slots=True)
class MixOfNotes:
    """How far the notes written so far are from a site's mix of categories.

    Args:
        wanted: Mean number by category in a note with any.
        counts: Of the notes so far.
        notes: Notes with any so far.
    """

    wanted: Shares
    counts: Counter[str] = field(default_factory=Counter)
    notes: int = 0

    def distance(self, text: Text) -> float:
        """Return how far they would be with one note more, in identifiers of a note."""
        found = self.counts + self.of(text)
        categories = {*self.wanted, *found}
        return sum(
            abs(found[one] / (self.notes + 1) - self.wanted.get(one, 0.0)) for one in categories
        )

    def lack(self, category: str) -> float:
        """Return how many of a category the notes so far have too few, in a note."""
        return self.wanted.get(category, 0.0) - self.counts[category] / max(self.notes, 1)

    def add(self, text: Text) -> None:
        """Count a note."""
        self.counts += self.of(text)
        self.notes += 1

    @staticmethod
    def of(text: Text) -> Counter[str]:
        """Return how many identifiers of each category a text has."""
        return Counter(str(piece.label) for piece in text.pieces if piece.label is not None)


@dataclass(slots=True)
class _SiteWriter:
    """Writes the notes of a corpus one after the other."""

    profile: SiteProfile
    seed: int
    _bank: SectionBank = field(init=False)
    _mix: MixOfNotes = field(init=False)

    def notes(self) -> Iterator[tuple[Note, DisjointSpans]]:
        lang = self.profile.lang
        self._bank = section_bank(lang)
        self._mix = MixOfNotes(self.profile.identifiers)
        world = World(load_grammar(lang), self.seed)
        number = count()
        for index in count():
            patient, rng = world.patient(index)
            for encounter in world.encounters(patient, rng, KINDS):
                text = self._best(world, patient, encounter, rng)
                note = Note(
                    f"like-{lang}-{self.seed}-{next(number):06d}",
                    str(text),
                    patient_id=patient.patient_id,
                    lang=lang,
                    meta={"kind": "site-like", "topic": patient.topic},
                )
                yield note, DisjointSpans.of(note, text.spans())

    def _best(self, world: World, patient: Patient, encounter: Encounter, rng: Random) -> Text:
        with_phi = rng.random() >= self.profile.without_identifiers
        length = rng.choice(list(self.profile.words)) * rng.uniform(1 - JITTER, 1 + JITTER)
        tries = [
            self._write(world, patient, encounter, rng, with_phi=with_phi, length=length)
            for _ in range(CANDIDATES)
        ]
        if not with_phi:
            return min(tries, key=lambda text: length_off(text, length))
        scale = max(sum(self.profile.identifiers.values()), 1.0)
        best = min(
            tries, key=lambda text: self._mix.distance(text) / scale + length_off(text, length)
        )
        self._mix.add(best)
        return best

    def _write(
        self,
        world: World,
        patient: Patient,
        encounter: Encounter,
        rng: Random,
        *,
        with_phi: bool,
        length: float,
    ) -> Text:
        style = style_of(self.profile, rng)
        very_old = int(encounter.variables["age"]) >= 90
        planned = plan_cases(rng, very_old=very_old) if with_phi else []
        writer = NoteWriter(
            grammar=world.grammar,
            rng=rng,
            tags=patient.tags,
            subjects=encounter.subjects,
            variables=encounter.variables,
            memory=patient.memory,
            style=style,
            cases=[case.name for case in planned if case.distort is None][:MAX_SENTENCES],
            with_phi=with_phi,
        )
        text = self._compose(writer, length)
        text, _ = distort(text, planned, rng)
        if draw_by_share(self.profile.letters, rng, "mixed") == "lower":
            text = lower_text(text)
        return lay_out(text, style)

    def _compose(self, writer: NoteWriter, length: float) -> Text:
        bank, rng = self._bank, writer.rng
        whole = bank.whole if writer.with_phi else bank.whole_free
        kinds = self._kinds(rng, writer)
        if not kinds and whole:
            return writer.write(rng.choice(whole))
        out: list[Piece] = []
        if writer.with_phi:
            self._header(writer, out)
        for kind in kinds or [rng.choice(sorted(self._bodies(writer)))]:
            if out and _words(out) >= length:
                break
            gap = draw_by_share(self.profile.blank_lines, rng, "1")
            out.append(Piece("\n" * (int(gap) + 1) if out else ""))
            writer.heading(kind, out)
            rng.choice(self._bodies(writer)[kind]).emit(writer, out)
        self._lengthen(writer, kinds, out, 0.9 * length)
        if writer.with_phi:
            self._add_lacking(writer, out, length)
            out.append(Piece("\n\n"))
            writer.refer("", "sign", out)
        return Text(tuple(drop_double_stops(out)))

    def _bodies(self, writer: NoteWriter) -> Mapping[str, tuple[Node, ...]]:
        return self._bank.bodies if writer.with_phi else self._bank.bodies_free

    def _lengthen(
        self, writer: NoteWriter, kinds: Sequence[str], out: list[Piece], length: float
    ) -> None:
        """Add to the last section until the note is about as long as it should be."""
        for kind in list(kinds)[::-1] * 2:
            if _words(out) >= length:
                return
            out.append(Piece("\n"))
            writer.rng.choice(self._bodies(writer)[kind]).emit(writer, out)

    def _add_lacking(self, writer: NoteWriter, out: list[Piece], length: float) -> None:
        """Add sentences with identifiers that the notes so far have too few of."""
        rules = sorted(name for name in writer.grammar.rules if _SENTENCE.fullmatch(name))
        had = MixOfNotes.of(Text(tuple(out)))
        for name in writer.rng.sample(rules, min(TRIED, len(rules))):
            if _words(out) >= 1.1 * length:
                return
            sentence: list[Piece] = []
            writer.refer("", name, sentence)
            own = MixOfNotes.of(Text(tuple(sentence)))
            if own and all(had[one] < self._count_wanted(one) for one in own):
                out.extend([Piece(" "), *sentence])
                out.append(Piece("" if sentence[-1].text.endswith(".") else "."))
                had += own

    def _count_wanted(self, category: str) -> float:
        """Return how many of a category a note should have: the mean, and what was too few."""
        return self._mix.wanted.get(category, 0.0) + min(max(self._mix.lack(category), 0.0), 1.0)

    def _kinds(self, rng: Random, writer: NoteWriter) -> list[str]:
        """Return the kinds of the sections of a note, in the order that the site's have."""
        profile = self.profile
        known = self._bodies(writer)
        kind = draw_by_share(profile.first, rng, END)
        found: list[str] = []
        for _ in range(MOST_SECTIONS):
            if kind == END:
                break
            if kind in known and kind not in found:
                found.append(kind)
            elif kind == OTHER or kind not in found:
                left = sorted(set(known) - set(found))
                found += [rng.choice(left)] if left else []
            kind = draw_by_share(profile.following.get(kind, {}), rng, END)
        return found

    def _header(self, writer: NoteWriter, out: list[Piece]) -> None:
        """Write header fields with about as many of each category as the site's have."""
        rng, style = writer.rng, writer.style
        categories = {*self.profile.fields, *self.profile.identifiers}
        wanted = Counter({one: self._count(one, rng) for one in sorted(categories)})
        names = sorted(
            {
                name.removeprefix("field.").partition("@")[0]
                for name in writer.grammar.rules
                if name.startswith("field.")
            }
        )
        rng.shuffle(names)
        for name in ["name", *(one for one in names if one != "name")]:
            line: list[Piece] = []
            if f"field.{name}" not in writer.grammar.rules or not +wanted:
                continue
            writer.header((name,), line)
            own = MixOfNotes.of(Text(tuple(line)))
            if not own or any(wanted[category] < 1 for category in own):
                continue
            wanted -= own
            out.extend([Piece(style.field_gap)] if out else [])
            out.extend(line)

    def _count(self, category: str, rng: Random) -> int:
        """Return how many header fields have a category: as the site's, and one more where the
        notes so far lack it.
        """
        mean = self.profile.fields.get(category, 0.0)
        lack = min(max(self._mix.lack(category), 0.0), 1.0)
        return int(mean) + (rng.random() < mean % 1) + (rng.random() < lack)


def _words(pieces: Sequence[Piece]) -> int:
    return len("".join(piece.text for piece in pieces).split())


def length_off(text: Text, length: float) -> float:
    """Return by what share of a length a text differs from it."""
    return abs(len(str(text).split()) - length) / max(length, 1.0)


def style_of(profile: SiteProfile, rng: Random) -> Style:
    """Return the habits of one note of a site."""
    return Style(
        heading=draw_by_share(profile.headings, rng, "{}:\n"),
        heading_capitals=rng.random() < profile.heading_capitals,
        field_mark=draw_by_share(profile.field_marks, rng, ": "),
        field_gap=draw_by_share(profile.field_gaps, rng, "\n"),
        field_capitals=rng.random() < profile.field_capitals,
        bullet=draw_by_share(profile.bullets, rng, "- "),
        wrap=int(draw_by_share(profile.widths, rng, "0")),
        crlf=rng.random() < profile.crlf,
        capitals=draw_by_share(profile.letters, rng, "mixed") == "capitals",
        plain_letters=rng.random() < profile.plain_letters,
    )
