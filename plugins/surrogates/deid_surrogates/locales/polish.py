"""Cases of Polish names, with the sounds that change before endings.

Rules after Nagórko (2007), Zarys gramatyki polskiej, as far as names follow them. A form is a case
and, after a full stop, the sex where the name tells it, such as ``gen.m``: surnames in a consonant
change for men only, those in -ski have a form for each sex.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache

_IRREGULAR = {
    "aleksander": "aleksandr",
    "bruno": "brunon",
    "gołąb": "gołębi",
    "iwo": "iwon",
    "kacper": "kacpr",
    "kopeć": "kopci",
    "kozioł": "kozł",
    "kwiecień": "kwietni",
    "lew": "lw",
    "paweł": "pawł",
    "sylwester": "sylwestr",
    "stępień": "stępni",
    "wróbel": "wróbl",
}
"""Name to the stem that its endings follow; ``i`` at its end stands for a soft consonant."""
_SOFT = {"ń": "ni", "ś": "si", "ć": "ci", "ź": "zi"}
_FLEETING = (
    ("niek", "ńk"),
    ("ciek", "ćk"),
    ("siek", "śk"),
    ("ek", "k"),
    ("ec", "c"),
)
_BEFORE_E = {
    "ch": "sz",
    "k": "c",
    "g": "dz",
    "st": "ści",
    "t": "ci",
    "d": "dzi",
    "r": "rz",
    "ł": "l",
}
"""End of a stem to the same before the ending of dative and locative."""
_HARD = tuple("bdfłmnprstwz")
_HISSING = ("c", "cz", "sz", "rz", "ż", "dz")
_ADJECTIVES = {"gen": "iego", "dat": "iemu", "ins": "im"}
_WOMANS = {"": "a", "gen": "iej", "acc": "ą"}
_NASAL = ("ą", "ę")
_SHORT_NIA = 5  # letters: Ani of Ania, but Stefanii of Stefania
_LONGEST_ENDING = 4
_REGULAR = {"owi": "dat", "em": "ins", "a": "gen"}
"""Endings of names whose stem some leave as it is, such as Gołąbem: to the case."""
_LOCATIVE = re.compile(r".{2,}(?:[bdmnpstwz]ie|[^aeiouy]u|ach|skim|nym)")
_GENITIVE = re.compile(r".{2,}(?:ic|skiego|nego)")
_LEMMA_ENDINGS = ("", "a", "ia", "ja", "ek", "ec", "eł", "o", "y", "i")


def cases(name: str) -> Mapping[str, str]:
    """Return the cases of a name in lower case; of one in a consonant, as a man has it."""
    if name.endswith(("y", "i")):
        return _adjective(name)
    if name.endswith("a"):
        return _in_a(name)
    if name in _IRREGULAR or name[-1] not in "aeiouyąęó":
        return _in_consonant(name)
    return _in_a(f"{name[:-1]}a") if name.endswith("o") and len(name) > 3 else {}


def _adjective(name: str) -> Mapping[str, str]:
    stem, is_soft = name[:-1], name.endswith("i")
    return {case: stem + (end if is_soft else _hard(end)) for case, end in _ADJECTIVES.items()}


def _hard(ending: str) -> str:
    return "ym" if ending == "im" else ending[1:]


def _in_a(name: str) -> Mapping[str, str]:
    stem = name[:-1]
    soft = _soft_genitive(name)
    genitive = soft or (f"{stem}i" if stem.endswith(("k", "g")) else f"{stem}y")
    is_hissing = stem.endswith(_HISSING)
    dative = genitive if soft or is_hissing else _before_e(stem)
    return {"gen": genitive, "dat": dative, "acc": f"{stem}ę", "ins": f"{stem}ą"}


def _soft_genitive(name: str) -> str:
    """Return the genitive of a name in a soft consonant and ``a``, which is its dative too; else
    nothing.
    """
    stem = name[:-1]
    if name.endswith("ja"):
        return f"{stem[:-1]}i" if name[-3:-2] in "aeiouy" else f"{stem}i"
    if name.endswith("ia"):
        is_short = name.endswith(("sia", "zia", "cia")) or (
            name.endswith("nia") and len(name) <= _SHORT_NIA
        )
        return stem if is_short else f"{stem}i"
    return f"{stem}i" if stem.endswith(("l", "e")) else ""


def _before_e(stem: str) -> str:
    for end, softened in _BEFORE_E.items():
        if stem.endswith(end):
            return f"{stem[: -len(end)]}{softened}e"
    return f"{stem}ie"


def _in_consonant(name: str) -> Mapping[str, str]:
    stem = _stem(name)
    locative = (
        _before_e(stem) if stem.endswith(_HARD) and not stem.endswith(_HISSING) else f"{stem}u"
    )
    instrumental = f"{stem}iem" if stem.endswith(("k", "g")) else f"{stem}em"
    return {"gen": f"{stem}a", "dat": f"{stem}owi", "ins": instrumental, "loc": locative}


def _stem(name: str) -> str:
    if name in _IRREGULAR:
        return _IRREGULAR[name]
    for end, short in _FLEETING:
        if name.endswith(end) and len(name) > len(end) + 1:
            return name[: -len(end)] + short
    return name[:-1] + _SOFT[name[-1]] if name[-1] in _SOFT else name


def place_form(name: str) -> str:
    """Return ``in`` or ``gen`` where a place's ending tells locative or genitive, else nothing."""
    lower = name.lower()
    if _LOCATIVE.fullmatch(lower):
        return "in"
    return "gen" if _GENITIVE.fullmatch(lower) else ""


def _candidates(word: str) -> Iterator[str]:
    """Yield what a word may be a form of."""
    for cut in range(1, min(_LONGEST_ENDING, len(word) - 3) + 1):
        for ending in _LEMMA_ENDINGS:
            yield word[:-cut] + ending


@lru_cache(maxsize=8192)
def _of_surname(word: str) -> tuple[str, str] | None:
    """Return base form and form of a surname in -ski, whose endings leave no doubt."""
    for root in ("sk", "ck", "dzk"):
        for sex, endings in (("m", _ADJECTIVES), ("f", _WOMANS)):
            for case, ending in endings.items():
                stem = word.removesuffix(root + ending)
                if len(stem) > 1 and stem != word:
                    return f"{stem}{root}i", f"{case}.{sex}"
    return None


class Polish:
    """Reads a case by looking the form up among the forms of known names, then by candidates.

    Args:
        women: Women's given names that are known.
        men: Men's given names.
        last: Surnames.
    """

    def __init__(self, women: Iterable[str], men: Iterable[str], last: Iterable[str]) -> None:
        self._women, self._men = tuple(women), tuple(men)
        self._last = tuple(last)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(map(str.lower, (*self._women, *self._men, *self._last)))

    @cached_property
    def _sexes(self) -> Mapping[str, str]:
        men = dict.fromkeys(map(str.lower, self._men), "m")
        return men | dict.fromkeys(map(str.lower, self._women), "f")

    @cached_property
    def _read(self) -> Mapping[str, tuple[str, str]]:
        """Form to the base form and the form's name, of given names before surnames."""
        known = [*map(str.lower, (*self._last, *self._men, *self._women))]
        return {
            word: (lemma, self._form(lemma, case))
            for lemma in known
            for case, word in reversed(tuple(cases(lemma).items()))
        }

    def _form(self, lemma: str, case: str) -> str:
        sex = self._sexes.get(lemma) or ("" if lemma[-1] in "ao" else "m")
        return f"{case}.{sex}" if sex else case

    def split(self, word: str, is_name: Callable[[str], bool]) -> tuple[str, str]:
        lower = word.lower()
        if lower in self._names:
            return word, ""
        found = self._read.get(lower)
        # No base form ends in a nasal vowel, which looking names up would take for a plain one.
        if found is None and (lower[-1] in _NASAL or not is_name(word)):
            found = _of_surname(lower) or self._by_candidates(lower, is_name)
        return found or (word, "")

    def _by_candidates(self, word: str, is_name: Callable[[str], bool]) -> tuple[str, str] | None:
        for lemma in (*_candidates(word), *_IRREGULAR):
            for case, form in cases(lemma).items():
                if form == word and is_name(lemma):
                    return lemma, self._form(lemma, case)
        for ending, case in _REGULAR.items():
            if word.endswith(ending) and is_name(word.removesuffix(ending)):
                return word.removesuffix(ending), f"{case}.m"
        if word.endswith(_NASAL) and len(word) > _LONGEST_ENDING:
            return f"{word[:-1]}a", "ins" if word.endswith("ą") else "acc"
        return None

    def join(self, lemma: str, form: str) -> str:
        lower, (case, _, sex) = lemma.lower(), form.partition(".")
        if not case or (sex != "m" and lower[-1] != "a"):
            return lemma
        found = cases(lower)
        fitting = "gen" if case == "acc" else "dat" if case == "loc" else case
        drawn = found.get(case) or found.get(fitting, lower)
        return drawn[:1].upper() + drawn[1:] if lemma[:1].isupper() else drawn

    def can_join(self, lemma: str) -> bool:
        """Whether the name is written alike for women and men: none in -ski or -y."""
        lower = lemma.lower()
        is_given = lower in self._sexes
        return lemma.isalpha() and bool(cases(lower)) and (is_given or lower[-1] not in "iy")
