"""Cases of Finnish names, with consonant gradation and vowel harmony.

Rules after Hakulinen et al. (2004), Iso suomen kielioppi, sections 41 to 95, as far as names follow
them: kk, pp and tt are graded in every name, single consonants only in surnames that end in a known
word of nature (Mäki, Lahti).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property

from deid_assets.extending.replacing import fold

CASES = ("gen", "par", "ine", "ela", "ill", "ade", "abl", "all", "ess", "tra")
_ENDINGS = {
    "gen": "n",
    "ine": "ssA",
    "ela": "stA",
    "ade": "llA",
    "abl": "ltA",
    "all": "lle",
    "ess": "nA",
    "tra": "ksi",
}
_NATURE = {
    "mäki": ("mäke", "mäe"),
    "lahti": ("lahte", "lahde"),
    "niemi": ("nieme", "nieme"),
    "järvi": ("järve", "järve"),
    "joki": ("joke", "joe"),
    "salmi": ("salme", "salme"),
    "saari": ("saare", "saare"),
    "vuori": ("vuore", "vuore"),
    "koski": ("koske", "koske"),
    "lampi": ("lampe", "lamme"),
    "ranta": ("ranta", "ranna"),
    "lehto": ("lehto", "lehdo"),
    "kangas": ("kankaa", "kankaa"),
    "pelto": ("pelto", "pello"),
    "aalto": ("aalto", "aallo"),
    "virta": ("virta", "virra"),
    "silta": ("silta", "silla"),
    "korpi": ("korpe", "korve"),
    "hirvi": ("hirve", "hirve"),
    "nurmi": ("nurme", "nurme"),
    "kivi": ("kive", "kive"),
    "rinne": ("rintee", "rintee"),
    "laine": ("lainee", "lainee"),
    "halme": ("halmee", "halmee"),
    "helenius": ("heleniukse", "heleniukse"),
    "suo": ("suo", "suo"),
    "maa": ("maa", "maa"),
}
"""Final word of a surname to the stem in the strong and in the weak grade."""
_VOWELS = "aeiouyäö"
_DOUBLES = ("kk", "pp", "tt")
_CASE_OF = {ending.replace("A", a): case for case, ending in _ENDINGS.items() for a in "aä"}
# A vowel before -nen: Virtasella is of Virtanen, Andersenilla of Andersen.
_NEN = re.compile(
    r"(\w{2,}[aeiouyäö])se(n|ss[aä]|st[aä]|ll[aä]|lt[aä]|lle|n[aä]|ksi)", re.IGNORECASE
)
# A name that ends as no Finnish one does, and the vowel that cases need: Kowalczykin, Smithille.
_FOREIGN = re.compile(
    r"(\w{3,}[bcdfghjkmpqtvwxz])i(n|ss[aä]|st[aä]|ll[aä]|lt[aä]|lle|n[aä]|ksi)", re.IGNORECASE
)
# Rekolalle
_LA = re.compile(r"(\w{3,}l[aä])(n|ss[aä]|st[aä]|ll[aä]|lt[aä]|lle|n[aä]|ksi)", re.IGNORECASE)
_UNSURE = frozenset(("satu", "meri", "toivo", "lumi", "veli", "taito"))


def cases(name: str, *, is_given: bool) -> Mapping[str, str]:
    """Return the ten cases of a name, or nothing where the rules do not tell its stem."""
    found = _stems(name, is_given=is_given)
    if found is None:
        return {}
    strong, weak = found
    a = "a" if _is_back(name) else "ä"
    stems = {"ess": strong}
    forms = {
        case: stems.get(case, weak) + ending.replace("A", a) for case, ending in _ENDINGS.items()
    }
    forms["par"] = _partitive(name, strong, a)
    forms["ill"] = (
        f"{strong}seen" if strong.endswith("ee") and not name.endswith("nen") else _illative(strong)
    )
    return forms


def _stems(name: str, *, is_given: bool) -> tuple[str, str] | None:
    """Return the stem in the strong and the weak grade."""
    lower = name.casefold()
    if lower in _UNSURE and is_given:
        return None
    if lower.endswith("nen") and len(lower) > 4:
        return (f"{name[:-3]}se",) * 2
    for word, (strong, weak) in _NATURE.items():
        if lower.endswith(word) and not is_given:
            kept = name[: len(name) - len(word)]
            return _case(name, kept, strong), _case(name, kept, weak)
    return _regular(name, lower, is_given=is_given)


def _regular(name: str, lower: str, *, is_given: bool) -> tuple[str, str] | None:
    if lower[-1] not in _VOWELS:
        # Foreign names: Anderssonin. Names in -s have stems of their own.
        return None if lower[-1] == "s" else (f"{name}i", f"{name}i")
    if lower[-3:-1] in _DOUBLES:
        return name, name[:-2] + name[-1]
    is_plain = lower[-1] not in "ie" and (lower[-2] not in "kptd" or lower.endswith(("sto", "stö")))
    return (name, name) if is_given or is_plain else None


def _case(name: str, kept: str, stem: str) -> str:
    if kept:
        return kept + stem
    return stem[0].upper() + stem[1:] if name[0].isupper() else stem


def _is_back(name: str) -> bool:
    return next(
        (vowel in "aouå" for vowel in reversed(name.casefold()) if vowel in "aouåäöy"), False
    )


def _partitive(name: str, strong: str, a: str) -> str:
    if name.casefold().endswith("nen"):
        return f"{strong[:-1]}t{a}"
    if strong.endswith("ee"):
        return f"{strong[:-1]}tt{a}"
    if strong[-2:] in ("io", "iö", "uo", "aa"):
        return f"{strong}t{a}"
    return strong + a


def _illative(strong: str) -> str:
    if strong[-2:] in ("aa", "uo"):
        return f"{strong}h{strong[-1]}n"
    return f"{strong}{strong[-1]}n"


def _by_ending(word: str) -> tuple[str, str] | None:
    """Return base form and case of an unknown name whose ending leaves no doubt."""
    nen = _NEN.fullmatch(word)
    if nen is not None:
        return f"{nen[1]}nen", _CASE_OF[nen[2].casefold()]
    lower = word.casefold()
    for ending, (nature, case) in _nature_forms().items():
        if lower.endswith(ending) and len(lower) > len(ending):
            return word[: -len(ending)] + nature, case
    unknown = _FOREIGN.fullmatch(word) or _LA.fullmatch(word)
    return None if unknown is None else (unknown[1], _CASE_OF[unknown[2].casefold()])


def _strip(word: str, is_name: Callable[[str], bool]) -> tuple[str, str] | None:
    """Return base form and case of a name that is known, or stands in the note, in its
    base form.
    """
    for ending, case in _CASE_OF.items():
        stem = word[: -len(ending)]
        if len(stem) > 2 and word.casefold().endswith(ending):
            for lemma in (stem, stem[:-1] if stem[-1] in "iI" else stem):
                if is_name(lemma):
                    return lemma, case
    return None


@cache
def _nature_forms() -> Mapping[str, tuple[str, str]]:
    """Return the forms of the words that surnames and villages end in, with word and case, the
    longest first.
    """
    rows = [
        (form, word, case) for word in _NATURE for case, form in cases(word, is_given=False).items()
    ]
    return {
        form: (word, case) for form, word, case in sorted(rows, key=lambda row: (-len(row[0]), row))
    }


class Finnish:
    """Reads a case by looking the form up among all forms of all known names.

    Args:
        given: Known given names.
        last: Known surnames.
    """

    def __init__(self, given: Iterable[str], last: Iterable[str]) -> None:
        self._given, self._last = tuple(given), tuple(last)

    @cached_property
    def _cases(self) -> Mapping[str, Mapping[str, str]]:
        known = {fold(name): cases(name, is_given=True) for name in self._given}
        return known | {
            fold(name): found for name in self._last if (found := cases(name, is_given=False))
        }

    @cached_property
    def _read(self) -> Mapping[str, tuple[str, str]]:
        """Folded form to the folded base form and the case."""
        return {
            fold(form): (lemma, case)
            for lemma, found in self._cases.items()
            for case, form in found.items()
        }

    def split(self, word: str, is_name: Callable[[str], bool]) -> tuple[str, str]:
        if is_name(word):
            return word, ""
        return self._read.get(fold(word)) or _by_ending(word) or _strip(word, is_name) or (word, "")

    def join(self, lemma: str, form: str) -> str:
        return self._cases[fold(lemma)][form] if form else lemma

    def can_join(self, lemma: str) -> bool:
        return bool(self._cases.get(fold(lemma)))
