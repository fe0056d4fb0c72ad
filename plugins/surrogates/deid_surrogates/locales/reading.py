"""Locale packs as TOML files: read, checked and filled up from the lists that they name."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib import metadata
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deid_assets.extending import ConfigError
from deid_assets.extending.grammars import grammars
from deid_assets.extending.replacing import fold, spelt_out
from deid_surrogates.locales import inflection, lists
from deid_surrogates.locales.finnish import Finnish
from deid_surrogates.locales.pack import (
    Inflection,
    Locale,
    NameWords,
    PhraseWords,
    PlaceWords,
    Pool,
    Sex,
)
from deid_surrogates.locales.polish import Polish

InflectionName = Literal[
    "none", "english", "german", "dutch", "swedish", "french", "finnish", "polish"
]
_INFLECTIONS: Mapping[str, Inflection] = {
    "none": inflection.Plain(),
    "english": inflection.English(),
    "german": inflection.GERMAN,
    "dutch": inflection.DUTCH,
    "swedish": inflection.SWEDISH,
    "french": inflection.Elision(),
}


_FEW = 8  # neutral names; below, either sex's are taken


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NameTable(_Table):
    """Names; each list is one string, separated by blanks."""

    female: str = ""
    male: str = ""
    neutral: str = ""
    last: str = ""
    female_titles: str = ""
    male_titles: str = ""
    titles: str = ""
    degrees: str = ""
    particles: str = ""
    female_endings: str = ""
    male_endings: str = ""
    spells_out: bool = False
    nicknames: Mapping[str, str] = Field(default_factory=dict)


class PhraseTable(_Table):
    """Patterns of street or institution names."""

    kinds: str = ""
    links: str = ""
    suffixes: str = ""
    stems: str = ""
    grammar: str = ""
    grammar_stems: str = ""
    faker: str = ""
    names: tuple[str, ...] = ()
    female_saints: str = ""
    male_saints: str = ""
    before_towns: str = ""
    templates: tuple[str, ...] = Field(min_length=1)


class PlaceTable(_Table):
    """Places."""

    countries: tuple[str, ...] = Field(min_length=1)
    other_names: Mapping[str, str] = Field(default_factory=dict)
    endonyms: Mapping[str, str] = Field(default_factory=dict)
    forms: Mapping[str, str] = Field(default_factory=dict)
    regions: tuple[tuple[str, ...], ...] = ()
    faker_regions: str = ""
    same_region: bool = False


class LocaleFile(_Table):
    """The content of a pack's TOML file."""

    lang: str = Field(pattern=r"^[a-z]{2,3}$")
    version: str = "1"
    faker: str = ""
    grammar: bool = False
    inflection: InflectionName = "none"
    names: NameTable
    streets: PhraseTable
    hospitals: PhraseTable
    organizations: PhraseTable
    places: PlaceTable
    jobs: tuple[tuple[str, ...], ...] = ()
    relatives: tuple[tuple[str, ...], ...] = ()

    def locale(self) -> Locale:
        """Return the pack, with the lists of Faker and of the generator that the file asks for."""
        female, male = self._read_given("f"), self._read_given("m")
        last = self._last()
        both = {*self.names.neutral.split(), *self._settle(female, male)}
        changes = self._changes(female, male, both, last)
        given: dict[str, Sex] = {}
        lists.add_given(given, female, "f")
        lists.add_given(given, male, "m")
        lists.add_given(given, both, "n")
        surnames = self._surnames(last)
        for name, sex in lists.foreign_given_names().items():
            if name not in surnames:
                given.setdefault(name, sex)
        own = {*female, *male, *both}
        return Locale(
            lang=self.lang,
            female=_pool(female, changes, without=both),
            male=_pool(male, changes, without=both),
            neutral=_pool(
                dict.fromkeys(sorted(both), 1) if len(both) >= _FEW else female | male, changes
            ),
            # A surname that is a given name too would be read back as one.
            last=_pool(last, changes, without=own),
            given=given,
            surnames=surnames,
            name_words=_name_words(self.names, sorted({*own, *last})),
            inflection=changes,
            streets=self._phrase_words(self.streets),
            hospitals=self._phrase_words(self.hospitals),
            organizations=self._phrase_words(self.organizations),
            places=self._place_words(),
            jobs=self.jobs,
            relatives=self.relatives,
            version=self._version(),
        )

    def _changes(
        self, female: Iterable[str], male: Iterable[str], both: set[str], last: Iterable[str]
    ) -> Inflection:
        if self.inflection == "finnish":
            return Finnish([*female, *male, *sorted(both)], last)
        if self.inflection == "polish":
            return Polish(female, male, last)
        return _INFLECTIONS[self.inflection]

    def _read_given(self, sex: Literal["f", "m"]) -> dict[str, int]:
        kind, own = ("female", self.names.female) if sex == "f" else ("male", self.names.male)
        known = lists.faker_names(self.faker, f"first_names_{kind}") if self.faker else {}
        return lists.merge_names(known, [*own.split(), *self._lines("names", f"given @{sex}")])

    def _settle(self, female: dict[str, int], male: dict[str, int]) -> set[str]:
        """Take a name out of the list of the sex that has it less.

        Return those that both have as often.
        """
        either = set()
        women, men = (set(self._lines("names", f"given @{sex}")) for sex in "fm")
        for name in female.keys() & male.keys():
            lead = female[name] - male[name] or (name in women) - (name in men)
            if not lead:
                either.add(name)
            else:
                (male if lead > 0 else female).pop(name)
        return either

    def _last(self) -> dict[str, int]:
        known = lists.faker_names(self.faker, "last_names") if self.faker else {}
        return lists.merge_names(
            known, [*self.names.last.split(), *self._lines("names", "surname")]
        )

    def _surnames(self, last: Iterable[str]) -> frozenset[str]:
        """Return the folded surnames that are recognised.

        Those of the pool, and Faker's after a particle.
        """
        known = lists.faker_names(self.faker, "last_names") if self.faker else {}
        return frozenset(map(fold, (*last, *(name.split()[-1] for name in known if " " in name))))

    def _lines(self, file: str, rule: str) -> tuple[str, ...]:
        return grammars.plain_lines(self.lang, file, rule) if self.grammar else ()

    def _phrase_words(self, table: PhraseTable) -> PhraseWords:
        suffixes = tuple(sorted(map(fold, table.suffixes.split()), key=len, reverse=True))
        names, stems = list(table.names), table.stems.split()
        for line in self._lines("forms", table.grammar):
            suffix = next((end for end in suffixes if fold(line).endswith(end)), "")
            if " " in line or not suffix:
                names.append(line)
            else:
                stems.append(line[: -len(suffix)])
        stems += self._lines("forms", table.grammar_stems)
        if table.faker:
            stems += getattr(lists.faker("address", self.faker), table.faker, ())
        return PhraseWords(
            kinds=_fold_words(table.kinds),
            links=_fold_words(table.links),
            suffixes=suffixes,
            stems=tuple(sorted({stem for stem in stems if stem.isalpha()})),
            names=tuple(sorted(set(names))),
            templates=table.templates,
            female_saints=tuple(table.female_saints.split()),
            male_saints=tuple(table.male_saints.split()),
            before_towns=_fold_words(table.before_towns),
        )

    def _place_words(self) -> PlaceWords:
        table = self.places
        rows = [
            line.split("/")
            for code in table.countries
            for line in self._lines("places", f"cities @{code.lower()}")
        ]
        rows += [line.split("/") for line in self._lines("places", "cities")]
        forms = {
            (city, form): word for city, row in table.forms.items() for form, word in _forms(row)
        }
        return PlaceWords(
            countries=table.countries,
            other_names={fold(name): code for name, code in table.other_names.items()},
            endonyms=table.endonyms,
            city_forms={fold(word): place for place, word in forms.items()},
            form_of_city=forms,
            regions=(*table.regions, *self._faker_regions()),
            postcodes={fold(row[0]): row[3] for row in rows if len(row) == 4},
            same_region=table.same_region,
        )

    def _faker_regions(self) -> Iterable[tuple[str, ...]]:
        for kind in self.places.faker_regions.split():
            found = getattr(lists.faker("address", self.faker), kind, ())
            yield tuple(sorted({row if isinstance(row, str) else row[-1] for row in found}))

    def _version(self) -> str:
        named = [f"{self.lang} {self.version}"]
        return " ".join([*named, f"faker {metadata.version('faker')}"] if self.faker else named)


def read_locale(source: Path | Traversable) -> Locale:
    """Return the locale pack of a TOML file.

    Raises:
        ConfigError: The file is wrong; the message names the file and the key.
    """
    try:
        return LocaleFile.model_validate(tomllib.loads(source.read_text("utf-8"))).locale()
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source.name}: not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"])) or "file"
        raise ConfigError(f"{source.name}: {key}: {first['msg']}") from None


def _pool(weights: Mapping[str, int], changes: Inflection, *, without: Iterable[str] = ()) -> Pool:
    left_out = set(map(fold, without))
    fitting = (name for name in weights if fold(name) not in left_out and changes.can_join(name))
    return Pool({name: weights[name] for name in fitting})


def _name_words(table: NameTable, names: Iterable[str]) -> NameWords:
    return NameWords(
        female_titles=_fold_words(table.female_titles),
        male_titles=_fold_words(table.male_titles),
        titles=_fold_words(table.titles),
        degrees=_fold_words(table.degrees),
        particles=_fold_words(table.particles),
        nicknames={fold(short): fold(full) for short, full in table.nicknames.items()},
        short_forms={fold(full): short for short, full in reversed(tuple(table.nicknames.items()))},
        spelt_out={
            spelt: value for name in names if (spelt := spelt_out(name)) != (value := fold(name))
        },
        spells_out=table.spells_out,
        female_endings=tuple(table.female_endings.split()),
        male_endings=tuple(table.male_endings.split()),
    )


def _forms(row: str) -> Iterable[tuple[str, str]]:
    return (
        (form, word) for form, word in zip(("gen", "in", "from", "to"), row.split(), strict=True)
    )


def _fold_words(words: str) -> frozenset[str]:
    return frozenset(map(fold, words.split()))
