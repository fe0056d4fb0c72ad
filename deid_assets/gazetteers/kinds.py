"""What a list may hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from deid_assets.core.phi import Phi

WORD_LISTS: Mapping[str, str] = MappingProxyType(
    {
        "first_names": "given names",
        "last_names": "family names",
        "common_words": "ordinary words, which a capital does not make a name",
        "eponyms": "names in medicine, which are people only after a title or label",
    }
)
"""Lists of single words; an entry of several words gives each that begins with a capital."""

PHRASE_LISTS: Mapping[str, Phi] = MappingProxyType(
    {
        "cities": Phi.CITY,
        "regions": Phi.REGION,
        "countries": Phi.COUNTRY,
        "hospitals": Phi.HOSPITAL,
        "organizations": Phi.ORGANIZATION,
        "locations": Phi.LOCATION,
    }
)
"""Lists of phrases, each matched as a whole, and their category."""
