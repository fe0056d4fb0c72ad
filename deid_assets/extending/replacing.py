"""What an action of a policy, which draws other values, is made of.

``docs/policies.md`` shows how a plugin brings one.
"""

from deid_assets.core.keys import Key
from deid_assets.core.redact import Context, Policy, Replacer
from deid_assets.policies.ages import whole_years
from deid_assets.policies.collisions import IDENTIFIERS, NUMBERS, PERSONAL, normal, read_covered
from deid_assets.policies.dates import move_day, patient_days, shift_date
from deid_assets.policies.drawing import (
    ATTEMPTS,
    Draw,
    case_like,
    characters_of,
    digits_of,
    fold,
    owner_of,
    spelt_out,
    split_words,
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
    "case_like",
    "characters_of",
    "digits_of",
    "fall_back",
    "fold",
    "is_month",
    "months_of",
    "move_day",
    "normal",
    "owner_of",
    "patient_days",
    "read_covered",
    "shift_date",
    "spelt_out",
    "split_words",
    "state_of",
    "whole_years",
    "years_of",
    "zip_area",
]
