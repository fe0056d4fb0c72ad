"""What a locale pack holds.

The words of one language that surrogates are made from and recognised by.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from string import ascii_lowercase
from typing import Literal, Protocol

from deid_assets.extending.replacing import Draw, fold

Sex = Literal["f", "m", "n"]
"""Whose given name it is: a woman's, a man's, either's."""
_FEW, _MANY = 3, 10  # names of one letter


class Inflection(Protocol):
    """Inflections of a name in a language, as far as they are written without a blank."""

    def split(self, word: str, is_name: Callable[[str], bool]) -> tuple[str, str]:
        """Return the word's base form and the name of its form, ``""`` where it stands in its base
        form.

        Args:
            word: As written.
            is_name: Whether a base form is known.
        """
        ...

    def join(self, lemma: str, form: str) -> str:
        """Return a base form in the form that ``split`` named."""
        ...

    def can_join(self, lemma: str) -> bool:
        """Whether every form of the name is known, so that it may stand for any other."""
        ...


class Pool:
    """Names with rough frequencies, also by their first letter.

    Args:
        weights: Name to its frequency; only the proportions matter.
    """

    __slots__ = ("_by_initial", "_cumulative", "_totals", "names")

    def __init__(self, weights: Mapping[str, int]) -> None:
        self.names = tuple(weights)
        self._cumulative = (
            () if len(set(weights.values())) <= 1 else tuple(accumulate(weights.values()))
        )
        groups: dict[str, dict[str, int]] = {}
        for name, weight in weights.items():
            groups.setdefault(fold(name)[0], {})[name] = weight
        self._totals = {letter: sum(group.values()) for letter, group in groups.items()}
        self._by_initial = (
            {letter: Pool(group) for letter, group in groups.items()} if len(groups) > 1 else {}
        )

    def pick(self, draw: Draw) -> str:
        """Return one name, more often one that more people have."""
        if not self._cumulative:
            return draw.pick(self.names)
        return self.names[bisect_right(self._cumulative, draw.below(self._cumulative[-1]))]

    def nth(self, number: int) -> str:
        """Return the name that a number chooses, more often one that more people have."""
        if not self._cumulative:
            return self.names[number % len(self.names)]
        return self.names[bisect_right(self._cumulative, number % self._cumulative[-1])]

    def starting(self, letter: str) -> Pool:
        """Return the names with a folded first letter; all of them where there is none."""
        return self._by_initial.get(letter, self)

    def size(self, letter: str) -> int:
        """Return how many names start with a folded letter."""
        return len(self._by_initial[letter].names) if letter in self._by_initial else 0

    def total(self, letter: str) -> int:
        """Return the sum of the frequencies of the names that start with a folded letter."""
        return self._totals.get(letter, 0)


@dataclass(frozen=True, slots=True)
class NameWords:
    """Words beside and within names; all folded.

    Args:
        female_titles: Titles and relations that tell a woman or girl.
        male_titles: The same of a man or boy.
        titles: Titles that tell no sex.
        degrees: What follows a name: MD, Jr.
        particles: Words within a name that stay: van, de la.
        nicknames: Short form to full form.
        short_forms: Full form to short form.
        spelt_out: Folded name as addresses on the net spell it, such as ``mueller``, to the name,
            ``muller``.
        spells_out: Whether such addresses are written ``mueller`` rather than ``muller``.
        female_endings: Endings that tell a woman's name where no list has it.
        male_endings: The same of a man's.
    """

    female_titles: frozenset[str]
    male_titles: frozenset[str]
    titles: frozenset[str]
    degrees: frozenset[str]
    particles: frozenset[str]
    nicknames: Mapping[str, str]
    short_forms: Mapping[str, str]
    spelt_out: Mapping[str, str] = field(default_factory=dict)
    spells_out: bool = False
    female_endings: tuple[str, ...] = ()
    male_endings: tuple[str, ...] = ()

    all_titles: frozenset[str] = field(init=False)
    """Titles of either sex and of none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "all_titles", self.female_titles | self.male_titles | self.titles)


@dataclass(frozen=True, slots=True)
class PhraseWords:
    """Patterns of street or institution names.

    Args:
        kinds: Folded words that say what it is; they stay.
        links: Folded words that link others, or say a floor or a side; they stay.
        suffixes: Folded ends of compounds that say what it is, the longest first: straße,
            sairaalassa.
        stems: What stands before such an end.
        names: Names of one or more words.
        female_saints: Women whom institutions are named after; where there are none, any given name
            is drawn.
        male_saints: The same of men.
        before_towns: Folded links after which a name is a town's.
        templates: For a text without any of the kinds; ``{name}`` and ``{city}`` are filled in.
    """

    kinds: frozenset[str]
    links: frozenset[str]
    suffixes: tuple[str, ...]
    stems: tuple[str, ...]
    names: tuple[str, ...]
    templates: tuple[str, ...]
    female_saints: tuple[str, ...] = ()
    male_saints: tuple[str, ...] = ()
    before_towns: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PlaceWords:
    """Places of a language.

    Args:
        countries: ISO 3166 codes of the countries where it is spoken, the first the most likely.
        other_names: Folded names of countries that the Unicode CLDR does not have, to their codes.
        endonyms: GeoNames' name of a city to the one that people there use.
        city_forms: Folded inflected form of a city to the city and the form's name.
        form_of_city: City and form to the inflected form.
        regions: Groups of regions; one of a group is replaced by another of it.
        postcodes: Folded city to the first digits of its postcodes.
        same_region: Whether a city is replaced by one of its own region where there are enough.
    """

    countries: tuple[str, ...]
    other_names: Mapping[str, str]
    endonyms: Mapping[str, str]
    city_forms: Mapping[str, tuple[str, str]]
    form_of_city: Mapping[tuple[str, str], str]
    regions: tuple[tuple[str, ...], ...]
    postcodes: Mapping[str, str]
    same_region: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Locale:
    """One language.

    Args:
        lang: ISO 639-1 code.
        female: Women's given names.
        male: Men's given names.
        neutral: Given names that either may have.
        last: Surnames; none of them is a given name.
        surnames: Folded surnames that are recognised, given names among them.
        name_words: Words beside and within names.
        inflection: How names change within a sentence.
        streets: Street names.
        hospitals: Names of hospitals, clinics, practices, wards.
        organizations: Names of employers, schools, authorities, associations.
        places: Cities, regions, countries.
        jobs: Groups of professions; one of a group is replaced by another of it.
        relatives: Groups of relations, such as women of any kinship.
        version: What the lists come from, part of a policy's digest.
    """

    lang: str
    female: Pool
    male: Pool
    neutral: Pool
    last: Pool
    surnames: frozenset[str]
    name_words: NameWords
    inflection: Inflection
    streets: PhraseWords
    hospitals: PhraseWords
    organizations: PhraseWords
    places: PlaceWords
    jobs: tuple[tuple[str, ...], ...]
    relatives: tuple[tuple[str, ...], ...]
    version: str = ""
    given: Mapping[str, Sex] = field(default_factory=dict, repr=False)
    """Folded given name to ``f``, ``m`` or ``n`` (either)."""
    initials: Pool = field(init=False, repr=False)
    """Letters that names of either sex and surnames start with, as often as surnames do."""

    def __post_init__(self) -> None:
        pools = (self.female, self.male, self.last)
        for least in (_MANY, _FEW, 0):
            letters = [
                letter
                for letter in ascii_lowercase
                if min(pool.size(letter) for pool in pools) >= least
            ]
            if len(letters) > _FEW:
                break
        object.__setattr__(
            self, "initials", Pool({letter: self.last.total(letter) or 1 for letter in letters})
        )
