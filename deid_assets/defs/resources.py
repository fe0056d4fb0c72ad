"""The resources of the graph: the installation, its vault, and an IO manager that
stores nothing.
"""

from typing import TYPE_CHECKING

import dagster as dg

from deid_assets.config import VaultSettings
from deid_assets.core.errors import DeidError
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.snapshot import Snapshot
from deid_resources.nowhere import nowhere
from deid_resources.opened import build_resource

if TYPE_CHECKING:
    from deid_assets.vault.store import Vault

NOWHERE = nowhere(DeidError)


def installation_resource(snapshot: Snapshot) -> dg.ResourceDefinition:
    """Return what opens the installation for a run."""
    return build_resource(
        lambda: Installation(snapshot.settings, snapshot=snapshot),
        description="The installation, as its settings were when the code location loaded.",
    )


def vault_resource(settings: VaultSettings) -> dg.ResourceDefinition:
    """Return what opens the vault for a run."""
    return build_resource(
        lambda: VaultResource(settings),
        description="The vault that the settings name, if they name one.",
    )


class VaultResource:
    """Opens the vault that the settings name under ``[vault]``.

    Args:
        settings: URL, which may hold a password, and the file of the key, else ``DEID_VAULT_KEY``.
    """

    def __init__(self, settings: VaultSettings) -> None:
        self._settings = settings
        self._vault: Vault | None = None

    def open(self) -> "Vault | None":
        """Return the vault, the same one throughout a run; ``None`` where none is set.

        Raises:
            ConfigError: The URL or the key is wrong or missing.
        """
        named = self._settings
        if self._vault is None and named.url:
            from deid_assets.vault.keys import Keyring  # noqa: PLC0415 - loads cryptography
            from deid_assets.vault.store import Vault  # noqa: PLC0415 - loads SQLAlchemy

            self._vault = Vault(
                named.url, Keyring.load(named.key_file), require_patient=named.require_patient
            )
        return self._vault

    def close(self) -> None:
        """Close its connections."""
        if self._vault is not None:
            self._vault.close()
            self._vault = None
