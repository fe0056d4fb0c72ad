"""Redaction policies: typed TOML files and the replacers they name."""

from deid_assets.policies.files import BUILTIN, check_key, descriptions, load_policy, needs_key

__all__ = ["BUILTIN", "check_key", "descriptions", "load_policy", "needs_key"]
