"""Policies in words, for people who sign releases."""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy, Replacer
from deid_assets.policies.ages import Age90, ShiftAge
from deid_assets.policies.encrypt import Encrypt
from deid_assets.policies.generalize import AgeBand, Region, YearMonth
from deid_assets.policies.hashes import Hash
from deid_assets.policies.safe_harbor import UsState, YearOnly, Zip3
from deid_assets.policies.sentences import DropSentence
from deid_assets.policies.shift import Shift
from deid_assets.policies.tags import Blackout, Hide, MimicTag, Numbered, Placeholder, Tag

WORDS: Mapping[type, str] = {
    Tag: "category tag",
    Numbered: "numbered tag",
    Hide: "hidden, category too",
    Blackout: "blacked out",
    Age90: "ages over 89 pooled, others kept",
    ShiftAge: "moved by a few years, over 89 pooled",
    YearOnly: "year kept",
    Zip3: "first three digits, where the area is populous",
    UsState: "US state kept, else tag",
    AgeBand: "age band, over 89 pooled",
    YearMonth: "year and month kept",
    Region: "US state where the text names one, else region tag",
    Hash: "keyed hash",
    Encrypt: "encrypted, can be read back with the key",
    Shift: "moved by one offset per patient",
    DropSentence: "its sentence is taken out",
    Placeholder: "one placeholder for all categories",
    MimicTag: "numbered tag in MIMIC-III brackets",
}


def in_words(policy: Policy) -> tuple[dict[str, str], str]:
    """Return what the policy does with each category it names, and with every other."""
    named = {label.value: _words(replacer) for label, replacer in policy.actions.items()}
    kept = {label.value: "kept" for label in policy.keep if label in Phi}
    return {**named, **kept}, _words(policy.default)


def _words(replacer: Replacer) -> str:
    return WORDS.get(type(replacer)) or str(getattr(replacer, "in_words", type(replacer).__name__))
