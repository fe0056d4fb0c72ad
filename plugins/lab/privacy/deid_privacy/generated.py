"""Generated notes: which of them are kept, labels that stand in their text, and how many different
words they have.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from deid_assets.extending import Document, InputError, Phi, Span
from deid_assets.extending.lists import languages_in
from deid_assets.extending.measuring import percentiles
from deid_audits.models.measures import AttackEstimate
from deid_audits.models.quality import is_repetitive
from deid_privacy.overlap import Gram, find_marked_grams, grams

STEMMERS = {
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
}
"""Snowball stemmers by language."""
DRAWS = 200
_WORD = re.compile(r"\w+")
_TAG = re.compile(r"<(/?)([A-Z_]+)>")
_PART = re.compile(r"</?[A-Z_]|[A-Z_]>")
_LABELS = {label.value for label in Phi}

Words = tuple[str, ...]
DIRECT = frozenset(
    {
        Phi.NAME,
        Phi.USERNAME,
        Phi.PHONE,
        Phi.FAX,
        Phi.EMAIL,
        Phi.NATIONAL_ID,
        Phi.MRN,
        Phi.HEALTH_PLAN,
        Phi.ACCOUNT,
        Phi.LICENSE,
        Phi.VEHICLE,
        Phi.DEVICE,
        Phi.URL,
        Phi.IP,
        Phi.BIOMETRIC,
        Phi.ID,
        Phi.STREET,
    }
)
"""Categories whose values identify by themselves; dates and ages of others are said by chance."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a generated note must be to be kept; a filter that is ``None`` or empty is not applied.

    Args:
        shortest: Fewest words.
        longest: Most words.
        copied: Words in a row that no training note may have too.
        sensitive: Words in a row, one of them of an identifier of the training notes, that it may
            not have.
        names: Whether identifiers that are given to the sieve are looked for whole.
        lang: Language that its text must be in, where one can be told.
    """

    shortest: int = 4
    longest: int | None = None
    copied: int | None = 10
    sensitive: int | None = 3
    names: bool = True
    lang: str = ""


@dataclass(frozen=True, slots=True)
class Sieve:
    """Filters with what they look up; reasons are counted as texts pass through.

    Args:
        filters: Them.
        training: Words of each training note.
        marked: Which of them belong to identifiers; nothing is sensitive where not given.
        identifiers: Words of identifiers of real notes, of the training ones and of those that
            begin the generated ones: no note is kept that says one whole.
    """

    filters: Filters
    training: Sequence[Words] = field(repr=False)
    marked: Sequence[Sequence[bool]] = field(default=(), repr=False)
    identifiers: frozenset[Words] = field(default=frozenset(), repr=False)

    def sieve(self, texts: Sequence[str]) -> tuple[list[str], Counter[str]]:
        """Return the texts that every filter keeps, in their order, and how many each filter took.

        The first that does counts.
        """
        own = self.filters
        copied = grams(self.training, own.copied) if own.copied else frozenset()
        sensitive: frozenset[Gram] = frozenset()
        if own.sensitive and self.marked:
            sensitive = find_marked_grams(self.training, self.marked, own.sensitive)
        seen: set[Words] = set()
        found: list[str] = []
        dropped: Counter[str] = Counter()
        for text in texts:
            words = words_of(text)
            reason = self._reason(text, words, seen, copied, sensitive)
            seen.add(words)
            if reason:
                dropped[reason] += 1
            else:
                found.append(text)
        return found, dropped

    def _says_identifier(self, words: Words) -> bool:
        sizes = {len(one) for one in self.identifiers}
        return any(not self.identifiers.isdisjoint(grams([words], size)) for size in sizes)

    def _reason(
        self,
        text: str,
        words: Words,
        seen: set[Words],
        copied: frozenset[Gram],
        sensitive: frozenset[Gram],
    ) -> str:
        own = self.filters
        checks: dict[str, Callable[[], bool]] = {
            "too short": lambda: len(words) < own.shortest,
            "too long": lambda: own.longest is not None and len(words) > own.longest,
            "repeats itself": lambda: is_repetitive(words),
            "said before": lambda: words in seen,
            "copy of a training note": lambda: (
                not copied.isdisjoint(grams([words], own.copied or 1))
            ),
            "identifier with what stands beside it": lambda: (
                not sensitive.isdisjoint(grams([words], own.sensitive or 1))
            ),
            "identifier of a real note": lambda: own.names and self._says_identifier(words),
            "another language": lambda: bool(
                own.lang and (told := languages_in(text)) and own.lang not in told
            ),
        }
        return next((reason for reason, holds in checks.items() if holds()), "")


def identifiers_of(documents: Sequence[Document]) -> frozenset[Words]:
    """Return the words of what identifies a person in annotated notes.

    Whole, and of a name each of its words.
    """
    found: set[Words] = set()
    for document in documents:
        for span in document.spans:
            if span.label not in DIRECT:
                continue
            words = words_of(document.note.text[span.start : span.end])
            found.add(words)
            if span.label is Phi.NAME:
                found |= {(word,) for word in words if len(word) > 2}
    return frozenset(found - {()})


def starter_of(document: Document, words: int) -> str:
    """Return the first words of an annotated note, as many as stand before its first identifier."""
    text = document.note.text
    free = text[: min((span.start for span in document.spans), default=len(text))]
    if free and not free[-1].isspace() and len(free) < len(text):
        free = free.rpartition(" ")[0]  # a word that an identifier is part of
    return " ".join(free.split()[:words])


def words_of(text: str) -> Words:
    """Return the words of a text in lower case."""
    return tuple(found[0].lower() for found in _WORD.finditer(text))


def marks_of(text: str, spans: Sequence[Span]) -> list[bool]:
    """Return which words of a text belong to a span."""
    return [
        any(span.start < found.end() and found.start() < span.end for span in spans)
        for found in _WORD.finditer(text)
    ]


def inline(text: str, spans: Sequence[Span]) -> str:
    """Return a text with its labels in it, ``<NAME>…</NAME>``, for a generator that is to write
    them.

    Args:
        text: Of a note.
        spans: In order, not overlapping.

    Raises:
        InputError: The text holds such a tag itself.
    """
    if _TAG.search(text):
        raise InputError(
            "a note holds a tag such as <NAME> itself, so that labels cannot stand in it"
        )
    parts, at = [], 0
    for span in spans:
        parts += [
            text[at : span.start],
            f"<{span.label.value}>",
            text[span.start : span.end],
            f"</{span.label.value}>",
        ]
        at = span.end
    return "".join([*parts, text[at:]])


def parse_tagged(text: str) -> tuple[str, list[Span]] | None:
    """Return text and spans of a text with labels in it, or nothing where a tag is unknown, broken,
    empty, nested or open.
    """
    plain, spans = "", []
    at, opened, begin = 0, "", 0
    for tag in _TAG.finditer(text):
        plain += text[at : tag.start()]
        at = tag.end()
        closes, label = bool(tag[1]), tag[2]
        if (
            label not in _LABELS
            or closes is not bool(opened)
            or (closes and (label != opened or not plain[begin:].strip()))
        ):
            return None
        if closes:
            spans.append(Span(begin, len(plain), Phi(label)))
        opened, begin = ("" if closes else label), len(plain)
    plain += text[at:]
    return None if opened or _PART.search(plain) else (plain, spans)


def diversity(texts: Sequence[str], lang: str, *, tokens: int, seed: int = 1) -> AttackEstimate:
    """Return unique stems by tokens (Vakili et al. 2025), of so many tokens.

    The ratio falls with the size of a corpus.

    Texts are drawn at random without putting back until so many tokens are there, ``DRAWS`` times:
    mean, and the interval that 95 % of the draws lie in.

    Args:
        texts: Notes.
        lang: Of the stemmer.
        tokens: Size at which corpora are compared; at most half of the smallest, or the draws are
            too alike.
        seed: Of the draws.

    Raises:
        InputError: There is no stemmer for the language, or there are too few tokens.
    """
    from nltk.stem.snowball import SnowballStemmer  # noqa: PLC0415 - loads NLTK

    if lang not in STEMMERS:
        raise InputError(
            f"there is no Snowball stemmer for {lang!r}; choose of {', '.join(STEMMERS)}"
        )
    stem = SnowballStemmer(STEMMERS[lang]).stem
    known = {word: stem(word) for word in {word for text in texts for word in words_of(text)}}
    stems = [[known[word] for word in words_of(text)] for text in texts]
    if tokens < 1 or sum(map(len, stems)) < tokens:
        raise InputError(
            f"the texts have {sum(map(len, stems))} words, {tokens} are asked for; generate more"
        )
    rng = random.Random(f"diversity {seed}")  # noqa: S311 - draws
    drawn = [_ratio(rng.sample(stems, len(stems)), tokens) for _ in range(DRAWS)]
    low, high = percentiles(drawn)
    mean = sum(drawn) / len(drawn)
    return AttackEstimate(
        "unique stems by tokens", mean, min(low, mean), max(high, mean), float("nan"), len(texts)
    )


def _ratio(stems: Sequence[Sequence[str]], tokens: int) -> float:
    taken: list[str] = []
    for own in stems:
        taken += own
        if len(taken) >= tokens:
            break
    return len(set(taken[:tokens])) / tokens
