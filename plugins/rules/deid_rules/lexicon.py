"""What a language knows about single words and phrases: one look-up per word, whatever the number of lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntFlag

from deid_assets.core.phi import Phi


class Kind(IntFlag):
    """What a word may be; a word may be several things."""

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
    NAME = FIRST | LAST


WORD_KINDS: Mapping[str, Kind] = {
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

Phrases = dict[str, list[tuple[tuple[str, ...], Phi]]]


class Lexicon:
    """Words by kind and phrases by first word; keys are in lower case."""

    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}
        self.phrases: Phrases = {}

    def add_words(self, kind: Kind, words: Iterable[str]) -> None:
        """Note that each word may be of ``kind``."""
        kinds, flag = self.kinds, int(kind)
        for word in words:
            key = word.lower()
            kinds[key] = kinds.get(key, 0) | flag

    def add_phrases(self, label: Phi, phrases: Iterable[str]) -> None:
        """Note that each phrase is a name of category ``label``."""
        for phrase in phrases:
            first, *rest = phrase.lower().split()
            self.phrases.setdefault(first, []).append((tuple(rest), label))
            if not rest:
                self.kinds[first] = self.kinds.get(first, 0) | int(Kind.PLACE)

    def freeze(self) -> None:
        """Put the longest phrase of each first word first."""
        for entries in self.phrases.values():
            entries.sort(key=lambda entry: -len(entry[0]))

    def kind(self, word: str) -> int:
        """The kinds of a word, without its possessive ``'s``."""
        key = word.lower()
        found = self.kinds.get(key)
        if found is None and key[-2:] in ("'s", "\u2019s"):
            found = self.kinds.get(key[:-2])
        return found or 0
