"""The category that a found word's form tells; a masked language model itself names none."""

from __future__ import annotations

import re

from deid_assets import Phi

_FORMS: tuple[tuple[Phi, re.Pattern[str]], ...] = (
    (Phi.EMAIL, re.compile(r"[\w.+-]+@[\w.-]+")),
    (Phi.URL, re.compile(r"(?:https?://|www\.).+", re.IGNORECASE)),
    (Phi.IP, re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")),
    (Phi.DATE, re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2}")),
    (Phi.ID, re.compile(r"(?=.*\d)(?=.*[^\W\d_]).{4,}|[\d\W_]*(?:\d[\W_]*){5,}")),
)
CERTAIN = frozenset({Phi.EMAIL, Phi.URL, Phi.IP})
"""Categories whose form is that of nothing else."""
LABELS = frozenset({*(label for label, _ in _FORMS), Phi.OTHER})
"""Every category that ``label_of`` gives."""


def label_of(word: str) -> Phi:
    """Return the category of a word by its form, ``OTHER`` where that tells none."""
    return next((label for label, form in _FORMS if form.fullmatch(word)), Phi.OTHER)
