"""The vault of an installation, opened only where one is set."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import PrivateAttr

from deid_assets.config import Settings

if TYPE_CHECKING:
    from deid_assets.vault.store import Vault


class VaultResource(dg.ConfigurableResource["Vault | None"]):
    """Opens the vault that a settings file names under ``[vault]``.

    The file's path is all that Dagster stores and shows: the URL may hold a password, and the key stays in
    ``DEID_VAULT_KEY`` or a file of its own.

    Args:
        config_file: TOML settings; the environment's ``DEID_CONFIG``, else the defaults, when empty.
    """

    config_file: str = ""
    _vault: Any = PrivateAttr(default=None)

    def open(self) -> "Vault | None":
        """Return the vault, the same one throughout a run; ``None`` where none is set.

        Raises:
            ConfigError: The URL or the key is wrong or missing.
        """
        if self._vault is None:
            named = Settings.load(Path(self.config_file) if self.config_file else None).vault
            if not named.url:
                return None
            from deid_assets.vault.keys import Keyring  # noqa: PLC0415 - loads cryptography
            from deid_assets.vault.store import Vault  # noqa: PLC0415 - loads SQLAlchemy

            self._vault = Vault(named.url, Keyring.load(named.key_file), require_patient=named.require_patient)
        vault: Vault = self._vault
        return vault

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:  # noqa: ARG002 - Dagster's signature
        """Close its connections with the run."""
        if self._vault is not None:
            self._vault.close()
            self._vault = None
