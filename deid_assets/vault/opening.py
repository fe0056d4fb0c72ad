"""Opening a vault for a while. What it needs is loaded when one is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deid_assets.vault.keys import Keyring
    from deid_assets.vault.store import Vault


@contextmanager
def open_vault(
    url: str, key_file: Path | None, *, require_patient: bool = True
) -> Iterator[tuple[Vault, Keyring]]:
    """Open a vault with its keys, and close it afterwards.

    Raises:
        ConfigError: The URL or a key is wrong or missing.
    """
    from deid_assets.vault.keys import Keyring  # noqa: PLC0415 - loads cryptography
    from deid_assets.vault.store import Vault  # noqa: PLC0415 - loads SQLAlchemy

    keyring = Keyring.load(key_file)
    vault = Vault(url, keyring, require_patient=require_patient)
    try:
        yield vault, keyring
    finally:
        vault.close()
