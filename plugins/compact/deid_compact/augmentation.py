"""Copies of annotated notes as other writers, scanners and keyboards would have left them.

A copy keeps its marks: each change says how the offsets move. Names, places and employers are
exchanged for others, so that the words around them are learnt and not they themselves.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from deid_assets.extending import Phi

Marks = list[tuple[int, int, Phi]]

_EXCHANGED = (Phi.CITY, Phi.STREET, Phi.HOSPITAL, Phi.ORGANIZATION, Phi.LOCATION)
_NUMBERED = frozenset(
    {
        Phi.NATIONAL_ID,
        Phi.MRN,
        Phi.HEALTH_PLAN,
        Phi.ACCOUNT,
        Phi.LICENSE,
        Phi.VEHICLE,
        Phi.DEVICE,
        Phi.ID,
        Phi.PHONE,
        Phi.FAX,
        Phi.ZIP,
    }
)
_WORD = re.compile(r"\w[\w'\u2019-]*")
_SCANNED = {
    "l": "1I",
    "1": "lI",
    "0": "O",
    "O": "0",
    "o": "0",
    "S": "5",
    "5": "S",
    "B": "8",
    "8": "B",
    "i": "1l",
    "e": "c",
    "a": "o",
    "n": "ri",
    "m": "rn",
    "u": "ii",
    "g": "q",
    "h": "b",
    "t": "f",
    ".": ",",
    ",": ".",
    "I": "l1",
    "Z": "2",
}
LOWER_SHARE = 0.4
UPPER_SHARE = 0.08
SCAN_SHARE = 0.3
WRAP_SHARE = 0.2
SCAN_RATE = 0.025
"""Of the characters, how many a poor scan damages."""


@dataclass(frozen=True, slots=True)
class Pools:
    """What marked texts may be exchanged for.

    Args:
        names: Words of names: first names, surnames.
        others: Category to whole texts, for places and institutions.
    """

    names: Sequence[str]
    others: Mapping[Phi, Sequence[str]] = field(default_factory=dict)


def pools_of(notes: Sequence[tuple[str, Marks]], more_names: Sequence[str] = ()) -> Pools:
    """Return what the marks of some notes hold, with more names."""
    names: set[str] = set(more_names)
    others: dict[Phi, set[str]] = {category: set() for category in _EXCHANGED}
    for text, marks in notes:
        for start, end, category in marks:
            marked = text[start:end]
            if category is Phi.NAME:
                names.update(
                    word for word in _WORD.findall(marked) if len(word) > 2 and word[:1].isupper()
                )
            elif category in others and "\n" not in marked:
                others[category].add(marked)
    return Pools(sorted(names), {category: sorted(texts) for category, texts in others.items()})


def exchange(text: str, marks: Marks, pools: Pools, chance: random.Random) -> tuple[str, Marks]:
    """Exchange names, places, institutions and digits, each the same way throughout the note."""
    words: dict[str, str] = {}
    wholes: dict[tuple[Phi, str], str] = {}

    def name_for(match: re.Match[str]) -> str:
        word = match[0]
        if len(word) < 3:
            return word
        known = words.setdefault(word.casefold(), chance.choice(pools.names))
        return _case_like(known, word)

    def replacement(marked: str, category: Phi) -> str:
        if category is Phi.NAME:
            return _WORD.sub(name_for, marked)
        if category in pools.others and pools.others[category] and "\n" not in marked:
            key = (category, marked.casefold())
            chosen = wholes.setdefault(key, chance.choice(pools.others[category]))
            return _case_like(chosen, marked)
        if category in _NUMBERED:
            return re.sub(r"\d", lambda _match: str(chance.randrange(10)), marked)
        return marked

    return _replace_marks(text, marks, replacement)


def _case_like(text: str, model: str) -> str:
    if model.islower():
        return text.lower()
    if model.isupper() and len(model) > 1:
        return text.upper()
    return text


def _replace_marks(
    text: str, marks: Marks, replacement: Callable[[str, Phi], str]
) -> tuple[str, Marks]:
    parts: list[str] = []
    moved: Marks = []
    last = 0
    length = 0
    for start, end, category in sorted(marks):
        if start < last:
            continue
        before = text[last:start]
        inside = replacement(text[start:end], category)
        parts += [before, inside]
        moved.append((length + len(before), length + len(before) + len(inside), category))
        length += len(before) + len(inside)
        last = end
    parts.append(text[last:])
    return "".join(parts), moved


def lower(text: str) -> str:
    """Write a text in lower case; characters whose lower case is longer stay."""
    return "".join(_keep_length(letter, letter.lower()) for letter in text)


def upper(text: str) -> str:
    """Write a text in capitals; characters whose capital is longer stay."""
    return "".join(_keep_length(letter, letter.upper()) for letter in text)


def _keep_length(letter: str, changed: str) -> str:
    return changed if len(changed) == 1 else letter


def scan(text: str, marks: Marks, chance: random.Random) -> tuple[str, Marks]:
    """Damage a text as a poor scan does.

    Letters and digits taken for one another, blanks lost or added.
    """
    parts: list[str] = []
    moved = [0] * (len(text) + 1)
    length = 0
    for at, letter in enumerate(text):
        moved[at] = length
        written = letter
        if chance.random() < SCAN_RATE:
            written = _damage(letter, chance)
        parts.append(written)
        length += len(written)
    moved[len(text)] = length
    damaged = [(moved[start], moved[end], category) for start, end, category in marks]
    return "".join(parts), [mark for mark in damaged if mark[0] < mark[1]]


def _damage(letter: str, chance: random.Random) -> str:
    if letter == " ":
        return chance.choice(["", "  "])
    taken_for = _SCANNED.get(letter)
    if taken_for is None:
        return letter
    if letter in "nmu":
        return taken_for
    return chance.choice(taken_for)


def wrap(text: str, chance: random.Random) -> str:
    """Break lines as a narrow column does, or join them; no character is added or lost."""
    if chance.random() < 0.5:
        return text.replace("\n", " ")
    width = chance.randrange(24, 60)
    letters = list(text)
    column = 0
    for at, letter in enumerate(letters):
        column = 0 if letter == "\n" else column + 1
        if letter == " " and column > width:
            letters[at] = "\n"
            column = 0
    return "".join(letters)


def vary(text: str, marks: Marks, pools: Pools, chance: random.Random) -> tuple[str, Marks]:
    """Return a copy of a note in another register."""
    text, marks = exchange(text, marks, pools, chance)
    draw = chance.random()
    if draw < LOWER_SHARE:
        text = lower(text)
    elif draw < LOWER_SHARE + UPPER_SHARE:
        text = upper(text)
    if chance.random() < WRAP_SHARE:
        text = wrap(text, chance)
    if chance.random() < SCAN_SHARE:
        text, marks = scan(text, marks, chance)
    return text, marks
