"""What a language knows about single words and phrases: one look-up per word, whatever the number of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from deid_assets.core.phi import Phi
from deid_rules.view import words_of


class Kind:
    """What a word may be, as bits; a word may be several things. Plain integers, for they are tested at each word."""

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
    NAME = FIRST | LAST


WORD_KINDS: Mapping[str, int] = {
    "first_names": Kind.FIRST,
    "last_names": Kind.LAST,
    "common_words": Kind.COMMON,
    "stops": Kind.STOP,
    "particles": Kind.PARTICLE,
    "suffixes": Kind.SUFFIX,
    "cues": Kind.CUE,
    "eponyms": Kind.EPONYM,
    "eponym_tails": Kind.EPONYM_TAIL,
    "connectors": Kind.CONNECTOR,
    "place_cues": Kind.PLACE_CUE,
    "institution_words": Kind.INSTITUTION,
    "articles": Kind.ARTICLE,
}
"""Word lists, in ``language.toml`` or as ``dictionaries/NAME.txt``, and what their words become."""

PHRASE_LABELS: Mapping[str, Phi] = {
    "cities": Phi.CITY,
    "regions": Phi.REGION,
    "countries": Phi.COUNTRY,
    "hospitals": Phi.HOSPITAL,
    "organizations": Phi.ORGANIZATION,
    "locations": Phi.LOCATION,
}
"""Phrase lists, ``dictionaries/NAME.txt``, and the category of their entries."""

REMEMBERED_WORDS = 30_000
Phrases = dict[str, dict[str, list[tuple[tuple[str, ...], Phi]]]]
"""First word, second word or the empty string, then the rest from the second word on with its category."""


class _Memory(dict[str, int]):
    """Answers of a function by word, forgotten when there are too many."""

    def __init__(self, function: Callable[[str], int]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: str) -> int:
        if len(self) >= REMEMBERED_WORDS:
            self.clear()
        self[word] = kind = self._function(word)
        return kind


class Lexicon:
    """Words by kind and phrases by first word; keys are in lower case."""

    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}
        self.phrases: Phrases = {}

    def copy(self) -> Lexicon:
        """A lexicon that can be added to without changing this one."""
        copied = Lexicon()
        copied.kinds = dict(self.kinds)
        copied.phrases = {
            first: {second: list(entries) for second, entries in seconds.items()}
            for first, seconds in self.phrases.items()
        }
        return copied

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
                self.kinds[first] = self.kinds.get(first, 0) | Kind.PLACE

    def is_phrase(self, words: Sequence[str]) -> bool:
        """Whether the words are a whole phrase of a list."""
        first, *rest = (word.lower() for word in words)
        entries = self.phrases.get(first, {}).get(rest[0] if rest else "", ())
        return any(entry == tuple(rest) for entry, _ in entries)

    def freeze(self) -> None:
        """Put the longest phrase of each pair of first words first."""
        for seconds in self.phrases.values():
            for entries in seconds.values():
                entries.sort(key=lambda entry: -len(entry[0]))

    @cached_property
    def kind(self) -> Callable[[str], int]:
        """Tells the kinds of a word, without its possessive ``'s``; asked at every word, so answers are remembered."""
        return _Memory(self._look_up).__getitem__

    def _look_up(self, word: str) -> int:
        key = word.lower()
        found = self.kinds.get(key)
        if found is None and key[-2:] in ("'s", "\u2019s"):
            found = self.kinds.get(key[:-2])
        if found is None and "-" in key:
            return self._compound(key)
        return found or 0

    def _compound(self, key: str) -> int:
        """Kind of a hyphenated word: common when a part is common and no part is a name."""
        parts = [self.kinds.get(part, 0) for part in key.split("-")]
        common = any(part & Kind.COMMON for part in parts) and not any(part & Kind.NAME for part in parts)
        return Kind.COMMON if common else 0
