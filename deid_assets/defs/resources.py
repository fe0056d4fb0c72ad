"""The resources of the graph: the installation, its vault, and an IO manager that
stores nothing.
"""

import dagster as dg

from deid_assets.config import VaultSettings
from deid_assets.core.errors import DeidError
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.snapshot import Snapshot
from deid_assets.runtime.vault import VaultResource
from deid_resources.nowhere import nowhere
from deid_resources.opened import opened_resource

NOWHERE = nowhere(DeidError)


def installation_resource(snapshot: Snapshot) -> dg.ResourceDefinition:
    """Return what opens the installation for a run."""
    return opened_resource(
        lambda: Installation(snapshot.settings, snapshot=snapshot),
        description="The installation, as its settings were when the code location loaded.",
    )


def vault_resource(settings: VaultSettings) -> dg.ResourceDefinition:
    """Return what opens the vault for a run."""
    return opened_resource(
        lambda: VaultResource(settings),
        description="The vault that the settings name, if they name one.",
    )
