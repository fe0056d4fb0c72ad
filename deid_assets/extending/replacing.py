"""What an action of a policy, which draws other values, is made of; ``docs/policies.md`` shows how a plugin brings one."""

from deid_assets.core.errors import PolicyError
from deid_assets.core.redact import Context, Policy, Replacer
from deid_assets.policies.drawing import Draw, cased_like, fold, listed
from deid_assets.policies.evidence import stands_in
from deid_assets.policies.fallbacks import fall_back
from deid_assets.policies.locales import languages, locale_of
from deid_assets.policies.names import is_somebodys, other_initials, parse
from deid_assets.policies.shapes import reshape
from deid_assets.policies.surrogate import LISTS, Surrogate
from deid_assets.policies.words import is_name

__all__ = [
    "LISTS",
    "Context",
    "Draw",
    "Policy",
    "PolicyError",
    "Replacer",
    "Surrogate",
    "cased_like",
    "fall_back",
    "fold",
    "is_name",
    "is_somebodys",
    "languages",
    "listed",
    "locale_of",
    "other_initials",
    "parse",
    "reshape",
    "stands_in",
]
