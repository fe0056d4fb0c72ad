"""Which ages are over 89, the ages that Safe Harbor does not let stand (45 CFR 164.514(b)(2)(i)(C))."""

from __future__ import annotations

import re

from deid_assets.core.phi import Phi
from deid_rules.candidate import Candidate

OVER_89 = "over_89"
_YEARS = re.compile(r"\D{0,12}(\d{1,3})(?!\d)")
_SHORTER = re.compile(
    r"(?:\.\d)?[\s-]{0,2}(?:mo|month|w(?:ee)?k|day|hour|hr|mes\b|meses|semana|d[ií]a|hora)", re.IGNORECASE
)


def with_years(candidate: Candidate, text: str) -> Candidate:
    """Return the candidate, with the finer kind ``over_89`` where it is an age of 90 years or more in digits."""
    if candidate.label is not Phi.AGE or candidate.native:
        return candidate
    found = _YEARS.match(text, candidate.start, candidate.end)
    if found is None or int(found[1]) <= 89 or _SHORTER.match(text, found.end()):
        return candidate
    return candidate._replace(native=OVER_89)
