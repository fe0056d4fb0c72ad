"""Settings of an installation: read once, checked before anything starts."""

from deid_assets.config.settings import Gates, Settings, VaultSettings

__all__ = ["Gates", "Settings", "VaultSettings"]
