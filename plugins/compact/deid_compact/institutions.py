"""Names of institutions, for training alone.

Well-known ones to look words up in, and others for varied copies, by language. Both were written
for this project; of the second kind many are invented.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deid_assets.extending import Phi
from deid_assets.extending.lists import read_words

_FOLDER = Path(__file__).parent / "data" / "institutions"


def list_known_institutions() -> Iterator[str]:
    """Yield names that really exist, of all languages, as staff write them."""
    for path in sorted((_FOLDER / "known").glob("*.txt")):
        yield from read_words(path)


def institutions_for_copies() -> dict[Phi, list[str]]:
    """Return institutions, streets and other places of all languages, by category."""
    found: dict[Phi, list[str]] = {}
    for path in sorted((_FOLDER / "copies").glob("*.txt")):
        for line in read_words(path):
            category, _, name = line.partition("\t")
            found.setdefault(Phi(category), []).append(name)
    return found
