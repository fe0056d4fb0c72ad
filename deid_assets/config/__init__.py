"""Settings of an installation: read once, checked before anything starts."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deid_assets.config.settings import Gates, Settings, VaultSettings

__all__ = ["Gates", "Settings", "VaultSettings"]


def __getattr__(name: str) -> Any:
    """Load the settings at first use: they import pydantic, and the secret beside them does not."""
    if name in __all__:
        return getattr(import_module("deid_assets.config.settings"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
