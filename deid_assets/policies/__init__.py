"""Redaction policies: typed TOML files and the replacers they name."""

from deid_assets.policies.files import BUILTIN, descriptions, load_policy
from deid_assets.policies.needs import check_key, needs_key

__all__ = ["BUILTIN", "check_key", "descriptions", "load_policy", "needs_key"]
