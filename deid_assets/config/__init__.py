"""Settings of an installation: read once, checked before anything starts."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deid_assets.config.gates import Gates
    from deid_assets.config.settings import Settings, VaultSettings

__all__ = ["Gates", "Settings", "VaultSettings"]
_MODULES = {"Gates": "gates", "Settings": "settings", "VaultSettings": "settings"}


def __getattr__(name: str) -> Any:
    """Load the settings at first use: they import pydantic, and the secret beside them does not."""
    if name in _MODULES:
        return getattr(import_module(f"deid_assets.config.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
