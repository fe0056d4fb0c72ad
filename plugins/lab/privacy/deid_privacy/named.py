"""Sentences of made notes with names and without, and the same under other names.

What the A/B/C protocol asks for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from deid_assets.extending import Document, InputError, sentences, tokenize
from deid_assets.extending.corpora import read_corpus
from deid_audits.models.slots import GAP, Slot

WORDS = range(5, 41)
"""Words of a sentence."""
OTHERS = 30
"""Names among which a true one is ranked."""
_SEED, _PER_SENTENCE = 93_000, 2


@dataclass(frozen=True, slots=True)
class NamedSentence:
    """A sentence with a name.

    Args:
        text: It.
        twin: The same, every name replaced by one of the same form that no note of the corpus has.
        name: Its first name, as it is written.
        start: Where that begins.
    """

    text: str = field(repr=False)
    twin: str = field(repr=False)
    name: str = field(repr=False)
    start: int

    def question(self, others: Sequence[str]) -> Slot:
        """Return whether the name is known, asked among others of the same form."""
        fragment = self.text[: self.start] + GAP + self.text[self.start + len(self.name) :]
        return Slot(fragment, self.name, tuple(others), 1, self.text)


@dataclass(frozen=True, slots=True)
class Part:
    """Sentences of some patients' notes, all different, none of them in another part.

    Args:
        plain: Without a name.
        named: With one or more.
    """

    plain: tuple[str, ...] = field(repr=False)
    named: tuple[NamedSentence, ...] = field(repr=False)

    @property
    def texts(self) -> list[str]:
        """Those without names, and those with them."""
        return [*self.plain, *(one.text for one in self.named)]


def make_named_parts(each: int, *, seed: int) -> tuple[Part, Part, Part, dict[str, list[str]]]:
    """Return three parts of different patients, for training, held out and for calibration, and
    other names by their form.

    Args:
        each: Sentences with names in each part, and as many without.
        seed: Of every draw.

    Raises:
        InputError: The generator's notes have too few.
    """
    documents = read_corpus(f"synthetic:en:{each * _PER_SENTENCE}:{seed + _SEED}").documents
    known = {name for names in _names(documents).values() for name in names}
    spare = _names(read_corpus(f"synthetic:en:{2 * each}:{seed + 2 * _SEED}").documents)
    pool = {
        own: new
        for own, names in spare.items()
        if len(new := [one for one in names if one not in known]) > OTHERS
    }
    patients = dict.fromkeys(one.note.patient_id or one.note.note_id for one in documents)
    side = {patient: number % 3 for number, patient in enumerate(patients)}
    rng = random.Random(f"named {seed}")  # noqa: S311 - simulation
    found: list[tuple[dict[str, None], dict[str, NamedSentence]]] = [({}, {}) for _ in range(3)]
    seen: set[str] = set()
    for document in documents:
        plain, named = found[side[document.note.patient_id or document.note.note_id]]
        for text, names in _sentences(document):
            if text in seen or any(form(name) not in pool for _, name in names):
                continue
            seen.add(text)
            if names:
                named[text] = NamedSentence(
                    text, _rename(text, names, pool, rng), names[0][1], names[0][0]
                )
            else:
                plain[text] = None
    if (least := min(len(one) for part in found for one in part)) < each:
        raise InputError(
            f"the generator's notes give {least} sentences of a kind in a part, {each} are wanted;"
            " ask for fewer"
        )
    parts = [
        Part(tuple(rng.sample(list(plain), each)), tuple(rng.sample(list(named.values()), each)))
        for plain, named in found
    ]
    return parts[0], parts[1], parts[2], pool


def _rename(
    text: str, names: Sequence[tuple[int, str]], pool: dict[str, list[str]], rng: random.Random
) -> str:
    for start, name in reversed(names):
        text = text[:start] + rng.choice(pool[form(name)]) + text[start + len(name) :]
    return text


def _sentences(document: Document) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield sentences on one line, each with the places and texts of its names."""
    text = document.note.text
    tokens = tokenize(text)
    spans = [(span.start, span.end) for span in document.spans if span.label.value == "NAME"]
    for part in sentences(text, tokens):
        if not len(part):
            continue
        begin, end = tokens[part[0]][0], tokens[part[-1]][1]
        own = [
            (start - begin, text[start:stop])
            for start, stop in spans
            if begin <= start and stop <= end
        ]
        line = text[begin:end]
        crossed = any(
            start < end and begin < stop and not (begin <= start and stop <= end)
            for start, stop in spans
        )
        if len(line.split()) in WORDS and "\n" not in line and not crossed:
            yield line, own


def form(name: str) -> str:
    """Return how a name is written, letters aside: ``Aa, Aa``."""
    letters = "".join(map(_shape, name))
    return re.sub("AA+", "AA", re.sub("a+", "a", letters))


def _shape(character: str) -> str:
    if character.isupper():
        return "A"
    return "a" if character.isalpha() else character


def _names(documents: Sequence[Document]) -> dict[str, list[str]]:
    """Return the names of notes by their form."""
    found: dict[str, dict[str, None]] = {}
    for document in documents:
        for span in document.spans:
            name = document.note.text[span.start : span.end]
            if span.label.value == "NAME" and "\n" not in name:
                found.setdefault(form(name), {})[name] = None
    return {own: list(names) for own, names in found.items()}
