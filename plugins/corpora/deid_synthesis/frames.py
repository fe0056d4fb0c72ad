"""True-to-life notes as frames: the composed training notes with other people, places and days.

The identifiers of a frame are exchanged as the policy ``surrogate`` does it, the same throughout
the note: names keep their form, dates move together, numbers have valid check digits. Then the note
is left in another register.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, islice
from random import Random

from deid_assets.extending import DisjointSpans, InputError, Note, Phi, Span
from deid_assets.extending.edits import Key, Policy, load_policy, redact
from deid_corpora.composed import FOLDERS
from deid_corpora.marked import MarkedText, read_marked
from deid_synthesis.corpus import distort, plan_cases
from deid_synthesis.grammar import Grammar, load_grammar
from deid_synthesis.layout import lay_out
from deid_synthesis.people import draw_person
from deid_synthesis.profile import SiteProfile
from deid_synthesis.registers import lower_text, scan_poorly
from deid_synthesis.sitelike import CANDIDATES, MixOfNotes, draw_by_share, length_off, style_of
from deid_synthesis.text import Piece, Text

LOWER_RATE = 0.15
CAPITALS_RATE = 0.05
SCAN_RATE = 0.12
DISTORTION_RATE = 0.3
"""Share of notes that get the distortions of hard cases."""


@cache
def frames(lang: str) -> tuple[MarkedText, ...]:
    """Return the composed training notes of a language.

    Raises:
        InputError: There are none, or the corpus did not come along.
    """
    folder = next((one for one in FOLDERS if one.is_dir()), None)
    if folder is None:
        raise InputError(
            "the composed notes are not there: frames come with a checkout, and with wheels that"
            " `make wheels` built in one; take the generator grammar"
        )
    path = folder / "train" / f"{lang}.txt"
    if not path.is_file():
        known = ", ".join(sorted(one.stem for one in path.parent.glob("*.txt")))
        raise InputError(f"no composed notes in {lang!r}; choose one of {known}")
    return tuple(read_marked(path))


def make_frame_corpus(
    *, lang: str, notes: int, seed: int, profile: SiteProfile | None = None
) -> Iterator[tuple[Note, DisjointSpans]]:
    """Return an iterator over notes and their gold spans.

    The same arguments give the same bytes in every process, and a shorter corpus is the start of a
    longer one. Of several frames the one is taken that brings the mix of categories and the lengths
    nearer to a profile's, and letters, widths and newlines are the profile's too; the layout is the
    frame's own.

    Args:
        lang: A language with composed notes.
        notes: How many; 0 or more.
        seed: Chooses frames, people and registers.
        profile: How the notes of a site look.

    Raises:
        InputError: There are no frames, or ``notes`` is negative.
        PluginError: The plugin of surrogates is not installed.
    """
    if notes < 0:
        raise InputError(f"notes must be 0 or more, got {notes}")
    return islice(_FrameWriter(lang, seed, profile).notes(), notes)


@dataclass(slots=True)
class _FrameWriter:
    """Fills frames, one after the other."""

    lang: str
    seed: int
    profile: SiteProfile | None

    def notes(self) -> Iterator[tuple[Note, DisjointSpans]]:
        grammar = load_grammar(self.lang)
        policy = _policy()
        mix = MixOfNotes(self.profile.identifiers if self.profile else {})
        known = frames(self.lang)
        waiting: list[MarkedText] = []
        for number in count():
            rng = Random(f"deid-frames/{self.lang}/{self.seed}/{number}")  # noqa: S311 - simulation
            if len(waiting) < CANDIDATES:
                waiting += rng.sample(known, len(known))
            frame = waiting.pop(self._best(waiting[:CANDIDATES], mix, rng))
            name = f"frame-{self.lang}-{self.seed}"
            note = Note(
                f"{name}-{number:06d}",
                frame.text,
                patient_id=f"{name}-p{number:06d}",
                lang=self.lang,
                meta={"kind": "frame", "frame": frame.note_id},
            )
            text = _exchange(note, frame, policy, grammar, rng)
            mix.add(text)
            text = self._apply_register(text, rng)
            made = replace(note, text=str(text))
            yield made, DisjointSpans.of(made, text.spans())

    def _best(self, offered: Sequence[MarkedText], mix: MixOfNotes, rng: Random) -> int:
        """Return which of the frames fits the profile best."""
        if self.profile is None:
            return 0
        length = rng.choice(list(self.profile.words))
        scale = max(sum(self.profile.identifiers.values()), 1.0)
        texts = [_plain(frame) for frame in offered]
        scores = [mix.distance(text) / scale + length_off(text, length) for text in texts]
        return scores.index(min(scores))

    def _apply_register(self, text: Text, rng: Random) -> Text:
        if rng.random() < DISTORTION_RATE:
            text, _ = distort(text, plan_cases(rng, very_old=False), rng)
        if self.profile is not None:
            if draw_by_share(self.profile.letters, rng, "mixed") == "lower":
                text = lower_text(text)
            return lay_out(text, style_of(self.profile, rng))
        draw = rng.random()
        if draw < LOWER_RATE:
            text = lower_text(text)
        elif draw < LOWER_RATE + CAPITALS_RATE:
            text = text.map(lambda piece: _same_length(piece.text, piece.text.upper()))
        return scan_poorly(text, rng) if rng.random() < SCAN_RATE else text


def _same_length(text: str, other: str) -> str:
    return other if len(other) == len(text) else text


@cache
def _policy() -> Policy:
    """Return the policy of surrogates, with ages left as they are."""
    policy = load_policy("surrogate")
    actions = dict(policy.actions)
    actions.pop(Phi.AGE, None)
    return replace(policy, actions=actions, keep=policy.keep | {Phi.AGE})


def _plain(frame: MarkedText) -> Text:
    """Return a frame as it is."""
    return _put_values(frame, [frame.text[mark.start : mark.end] for mark in frame.marks])


def _put_values(frame: MarkedText, values: Sequence[str]) -> Text:
    pieces: list[Piece] = []
    at = 0
    for mark, value in zip(frame.marks, values, strict=True):
        pieces.append(Piece(frame.text[at : mark.start]))
        pieces.append(Piece(value, mark.label, mark.role.upper()))
        at = mark.end
    return Text((*pieces, Piece(frame.text[at:])))


def _exchange(note: Note, frame: MarkedText, policy: Policy, grammar: Grammar, rng: Random) -> Text:
    """Return a frame with other identifiers; ages, and what has no surrogate, stay as composed."""
    secret = hashlib.sha256(note.note_id.encode()).digest()
    spans = DisjointSpans.of(note, [Span(one.start, one.end, one.label) for one in frame.marks])
    redacted = redact(note, spans, policy, key=Key(secret))
    replaced = {edit.start: redacted.text[edit.new_start : edit.new_end] for edit in redacted.edits}
    values = []
    names: dict[str, str] = {}
    for mark in frame.marks:
        original = frame.text[mark.start : mark.end]
        value = replaced.get(mark.start, original)
        if value == f"[{mark.label}]":  # no surrogate could be made
            value = original
            if mark.label is Phi.NAME:
                value = _draw_names(original, names, grammar, rng)
        values.append(value)
    return _put_values(frame, values)


def _draw_names(original: str, names: dict[str, str], grammar: Grammar, rng: Random) -> str:
    """Return other names of the grammar's lists, word by word, the same for the same word."""
    words = []
    for word in original.split():
        if word.casefold() not in names:
            person = draw_person(grammar, rng, role="")
            names[word.casefold()] = rng.choice((person.first, person.last))
        name = names[word.casefold()]
        words.append(name.lower() if word.islower() else name)
    return " ".join(words)
