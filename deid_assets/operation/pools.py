"""Pools of Dagster: of the steps that share one, as many run at once as it has slots."""

from deid_assets.config import Settings
from deid_assets.plugins import Plugin

GPU = "gpu"
NEEDS_ACCELERATOR = "needs-accelerator"
"""Keyword of a plugin whose detector, or whose training, takes the GPU."""


def pool_of(settings: Settings, name: str, plugin: Plugin) -> str:
    """Return the pool of a detector, or of a recipe's training; empty where it waits for nobody.

    Args:
        settings: Of the installation, which may say another than the plugin.
        name: Of the detector or recipe.
        plugin: That runs or trains it.
    """
    if name in settings.pools:
        return settings.pools[name]
    return GPU if NEEDS_ACCELERATOR in plugin.keywords else ""
