"""What a language knows about single words and phrases.

One look-up per word, whatever the number of lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from operator import or_
from typing import Any

from deid_assets.extending import Phi
from deid_assets.extending.lists import PHRASE_LISTS, Gazetteer
from deid_rules.view import words_of


class WordKind:
    """Kinds of a word, as bits; a word may be several things.

    Plain integers, for they are tested at each word.
    """

    FIRST = 1
    LAST = 2
    COMMON = 4
    STOP = 8
    PARTICLE = 16
    SUFFIX = 32
    CUE = 64
    EPONYM = 128
    EPONYM_TAIL = 256
    CONNECTOR = 512
    PLACE = 1024
    PLACE_CUE = 2048
    INSTITUTION = 4096
    ARTICLE = 8192
    PERSON_VERB = 16384
    PHRASE = 32768
    ALONE = 65536
    LETTER = 131072
    NAME = FIRST | LAST
    ANY = PHRASE - 1


WORD_KINDS: Mapping[str, int] = {
    "first_names": WordKind.FIRST,
    "last_names": WordKind.LAST,
    "common_words": WordKind.COMMON,
    "stops": WordKind.STOP,
    "particles": WordKind.PARTICLE,
    "suffixes": WordKind.SUFFIX,
    "cues": WordKind.CUE,
    "eponyms": WordKind.EPONYM,
    "eponym_tails": WordKind.EPONYM_TAIL,
    "connectors": WordKind.CONNECTOR,
    "place_cues": WordKind.PLACE_CUE,
    "institution_words": WordKind.INSTITUTION,
    "articles": WordKind.ARTICLE,
    "person_verbs": WordKind.PERSON_VERB,
}
"""Word lists, in ``rules.toml`` or as ``names/NAME.txt``, and what their words become."""

PHRASE_LABELS: Mapping[str, Phi] = PHRASE_LISTS
"""Phrase lists, ``names/NAME.txt``, and the category of their entries."""

REMEMBERED_WORDS = 30_000
MIN_STEM_LETTERS = 3
NEAR = 3
"""Words after the first of a phrase that is not long."""
Entries = Sequence[tuple[tuple[str, ...], Phi]]
Phrases = dict[str, dict[str, list[tuple[tuple[str, ...], Phi]]]]
"""First word, second word or the empty string, then the rest.

The rest is from the second word on, with its category.
"""


class _Memory(dict[str, Any]):
    """Answers of a function by word, forgotten when there are too many."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: str) -> Any:
        if len(self) >= REMEMBERED_WORDS:
            self.clear()
        self[word] = answer = self._function(word)
        return answer


@dataclass(frozen=True)
class WordLists:
    """Words by kind and phrases by first word, of one language or of the user.

    Keys are in lower case.
    """

    kinds: dict[str, int] = field(default_factory=dict, repr=False)
    phrases: Phrases = field(default_factory=dict, repr=False)

    def add_words(self, kind: int, words: Iterable[str]) -> None:
        """Note that each word may be of ``kind``."""
        kinds = self.kinds
        for word in words:
            key = word.lower()
            kinds[key] = kinds.get(key, 0) | kind

    def add_phrases(self, label: Phi, phrases: Iterable[str]) -> None:
        """Note that each phrase is a name of category ``label``."""
        for phrase in phrases:
            if not (parts := words_of(phrase.lower())):
                continue
            first, *rest = parts
            seconds = self.phrases.setdefault(first, {})
            seconds.setdefault(rest[0] if rest else "", []).append((tuple(rest), label))
            if not rest:
                self.kinds[first] = self.kinds.get(first, 0) | WordKind.PLACE

    @property
    def labels(self) -> frozenset[Phi]:
        """Categories of the phrases."""
        labels: set[Phi] = set()
        for seconds in self.phrases.values():
            for entries in seconds.values():
                labels.update(label for _, label in entries)
        return frozenset(labels)

    def kind_of(self, key: str) -> int | None:
        """Kinds of a word in lower case, or ``None``."""
        return self.kinds.get(key)

    def phrases_at(self, first: str) -> Mapping[str, Entries]:
        """Phrases that begin with a word in lower case, by second word."""
        return self.phrases.get(first, {})


@dataclass(frozen=True)
class CompiledList:
    """A list that ``deid gazetteer build`` made, read where it lies."""

    gazetteer: Gazetteer

    @property
    def labels(self) -> frozenset[Phi]:
        """Category of the phrases, if they are phrases."""
        return frozenset(
            label for kind, label in PHRASE_LABELS.items() if kind == self.gazetteer.kind
        )

    def kind_of(self, key: str) -> int | None:
        """Kinds of a word in lower case, or ``None``."""
        return (
            WORD_KINDS.get(self.gazetteer.kind, WordKind.PLACE) if key in self.gazetteer else None
        )

    def phrases_at(self, first: str) -> Mapping[str, Entries]:
        """Phrases that begin with a word in lower case, by second word."""
        found: dict[str, list[tuple[tuple[str, ...], Phi]]] = {}
        for label in self.labels:
            for _, *rest in self.gazetteer.beginning_with(first):
                found.setdefault(rest[0] if rest else "", []).append((tuple(rest), label))
        return found


class Lexicon:
    """The lists of some languages, looked up together.

    Args:
        layers: Lists; what they say of a word adds up.
        endings: Inflectional endings with what stands in their place in the lists, such as
            ``("sen", "nen")``. A word that no list has is looked up again without each; such a word
            is a name or a place, or nothing.
    """

    def __init__(
        self, layers: Sequence[WordLists | CompiledList], *, endings: Iterable[tuple[str, str]] = ()
    ) -> None:
        self._layers = tuple(layers)
        self._endings: dict[str, list[str]] = {}
        for ending, instead in sorted(set(endings)):
            self._endings.setdefault(ending, []).append(instead)
        self._longest_ending = max(map(len, self._endings), default=0)
        self.inflects = bool(self._endings)
        """Whether words have endings."""
        self.stems: Callable[[str], tuple[str, ...]] = _Memory(self._stems_of).__getitem__
        """Words that a word in lower case may be without its ending, the longest ending first."""
        self.kind: Callable[[str], int] = _Memory(self._look_up).__getitem__
        """Tells the kinds of a word, without its possessive ``'s``.

        Asked at every word, so answers are remembered.
        """
        self.phrases_at: Callable[[str], Mapping[str, Entries]] = _Memory(
            self._phrases_of
        ).__getitem__
        """The phrases that begin with a word, in any case.

        By second word, the longest first, or "" for the word alone.
        """
        self.flags: Callable[[str], int] = _Memory(self._flags_of).__getitem__
        """Kinds of a word, and whether it is one letter or begins a phrase.

        What is asked of each with a capital.

        ``PHRASE`` where at most ``NEAR`` words follow in a phrase, ``ALONE`` where none does, or
        more.
        """

    def is_phrase(self, words: Sequence[str]) -> bool:
        """Whether the words are a whole phrase of a list."""
        first, *rest = (word.lower() for word in words)
        entries = self.phrases_at(first).get(rest[0] if rest else "", ())
        return any(entry == tuple(rest) for entry, _ in entries)

    def _stems_of(self, key: str) -> tuple[str, ...]:
        if not self._longest_ending:
            return ()
        lengths = range(min(self._longest_ending, len(key) - MIN_STEM_LETTERS), 0, -1)
        return tuple(
            key[:-length] + instead
            for length in lengths
            for instead in self._endings.get(key[-length:], ())
        )

    def _flags_of(self, word: str) -> int:
        flags = self.kind(word) | (WordKind.LETTER if len(word) == 1 else 0)
        for rest, _ in chain.from_iterable(self.phrases_at(word).values()):
            flags |= WordKind.PHRASE if 1 <= len(rest) <= NEAR else WordKind.ALONE
        return flags

    def _kinds(self, key: str) -> int | None:
        found = [kinds for layer in self._layers if (kinds := layer.kind_of(key)) is not None]
        return reduce(or_, found) if found else None

    def _look_up(self, word: str) -> int:
        key = word.lower()
        found = self._kinds(key)
        if found is None and key[-2:] in ("'s", "\u2019s"):
            found = self._kinds(key[:-2])
        if found is None and "-" in key:
            return self._compound(key)
        return self._find_inflected(key) if found is None else found

    def _find_inflected(self, key: str) -> int:
        """Kinds of the first stem that is a name or a place and no word."""
        for stem in self.stems(key):
            kind = self._kinds(stem) or 0
            if kind & (WordKind.NAME | WordKind.PLACE):
                return kind & (WordKind.NAME | WordKind.PLACE | WordKind.COMMON | WordKind.EPONYM)
        return 0

    def _compound(self, key: str) -> int:
        """Kind of a hyphenated word: common when a part is common and no part is a name."""
        parts = [self._kinds(part) or 0 for part in key.split("-")]
        common = any(part & WordKind.COMMON for part in parts) and not any(
            part & WordKind.NAME for part in parts
        )
        return WordKind.COMMON if common else 0

    def _phrases_of(self, word: str) -> Mapping[str, Entries]:
        first = word.lower()
        found = [phrases for layer in self._layers if (phrases := layer.phrases_at(first))]
        if not found:
            if not self.inflects or self._kinds(first) is not None:
                return {}
            stemmed = (self._phrases_at_stem(stem) for stem in self.stems(first))
            return {"": inflected} if (inflected := next(filter(None, stemmed), [])) else {}
        merged: dict[str, list[tuple[tuple[str, ...], Phi]]] = {}
        for phrases in found:
            for second, entries in phrases.items():
                merged.setdefault(second, []).extend(entries)
        alone = merged.pop("", [])
        longer = {
            second: sorted(entries, key=lambda entry: -len(entry[0]))
            for second, entries in merged.items()
        }
        return {second: entries + alone for second, entries in longer.items()} | {"": alone}

    def _phrases_at_stem(self, stem: str) -> list[tuple[tuple[str, ...], Phi]]:
        """Phrases of one word; in longer ones it is the last word that is inflected."""
        return [entry for layer in self._layers for entry in layer.phrases_at(stem).get("", ())]
