"""What an action of a policy, which draws other values, is made of.

``docs/policies.md`` shows how a plugin brings one.
"""

from deid_assets.core.keys import Key
from deid_assets.core.redact import Context, Policy, Replacer
from deid_assets.policies.ages import whole_years
from deid_assets.policies.collisions import IDENTIFIERS, NUMBERS, PERSONAL, covered, normal
from deid_assets.policies.dates import moved_day, patient_days, shifted
from deid_assets.policies.drawing import (
    ATTEMPTS,
    Draw,
    cased_like,
    characters_of,
    digits_of,
    fold,
    listed,
    owner_of,
    spelt_out,
)
from deid_assets.policies.fallbacks import fall_back
from deid_assets.policies.generalize import is_month, months_of, years_of
from deid_assets.policies.safe_harbor import state_of, zip_area

__all__ = [
    "ATTEMPTS",
    "IDENTIFIERS",
    "NUMBERS",
    "PERSONAL",
    "Context",
    "Draw",
    "Key",
    "Policy",
    "Replacer",
    "cased_like",
    "characters_of",
    "covered",
    "digits_of",
    "fall_back",
    "fold",
    "is_month",
    "listed",
    "months_of",
    "moved_day",
    "normal",
    "owner_of",
    "patient_days",
    "shifted",
    "spelt_out",
    "state_of",
    "whole_years",
    "years_of",
    "zip_area",
]
