"""Which ages are over 89.

Safe Harbor does not let these ages stand (45 CFR 164.514(b)(2)(i)(C)).

Every age is found; which of them are over 89:

====  ===============================  =====================================
Lang  Text                             Why
====  ===============================  =====================================
en    A <AGE>95</AGE>-year-old woman.  over 89: digits, with a word of years
en    Age: <AGE>92</AGE>               over 89: digits, after a label
en    A <AGE>89</AGE>-year-old woman.  an age that may stand
en    A <AGE>96</AGE>-week-old girl.   a unit shorter than a year
en    HR 95, weight 91 kg, 95 mg/dL.   kept: numbers of other things
====  ===============================  =====================================
"""

from __future__ import annotations

import re

from deid_assets.extending import Phi
from deid_rules.candidate import Candidate
from deid_rules.patterns import OVER_89

_YEARS = re.compile(r"\D{0,12}(\d{1,3})(?!\d)")
_UNITS = (
    "mo",
    "month",
    "wk",
    "week",
    "day",
    "hour",
    "hr",  # English
    r"mes\b",
    "meses",
    "semana",
    r"d[ií]as?",
    "hora",  # Spanish
    r"mes[ei]\b",
    "settiman",
    "giorn",
    "ore",  # Italian
    "mois",
    "semaine",
    "jour",
    "heure",
    r"sa\b",  # French
    "monat",
    "woche",
    "tag",
    "stunde",
    "ssw",  # German
    "maand",
    r"we?ken?\b",
    "dag",
    "uur",  # Dutch
    "mån",
    r"man\b",
    "veck",
    "dygn",
    "timm",  # Swedish; dagar begin as in Dutch
    r"u[kg]e",
    r"veker?\b",
    "månad",
    r"mdr?\b",
    r"mnd\b",
    "døgn",  # Danish and Norwegian; måneder begin as in Swedish
    "kuukau",
    "kk",
    "viiko",
    "vk",
    "vrk",
    "päiv",
    "paiv",
    "tunti",
    "tunni",  # Finnish
    "mies",
    "tyg",
    r"dni\b",
    "dob",
    "godz",  # Polish; in Portuguese they begin as in Spanish
)
_SHORTER = re.compile(rf"(?:[.,]\d)?[\s-]{{0,2}}(?:{'|'.join(_UNITS)})", re.IGNORECASE)
"""A unit shorter than a year, after the number."""


def refine_age(candidate: Candidate, text: str) -> Candidate:
    """Return the candidate, with the finer kind ``over_89`` where that applies.

    It applies to an age of 90 years or more in digits.
    """
    if candidate.label is not Phi.AGE or candidate.native:
        return candidate
    found = _YEARS.match(text, candidate.start, candidate.end)
    if found is None or int(found[1]) <= 89 or _SHORTER.match(text, found.end()):
        return candidate
    return candidate._replace(native=OVER_89)
