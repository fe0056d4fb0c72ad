"""redacted_notes_<release policy> with a vault.

What is taken out is sealed before anything is stored.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import dagster as dg
import pyarrow as pa

from deid_assets.assets import ingest, redaction
from deid_assets.assets.declarations import AssetDeclaration, AssetOutput
from deid_assets.assets.detection import read_notes_of
from deid_assets.assets.parts import rebuild_redacted
from deid_assets.assets.redaction import make_redacted_notes
from deid_assets.assets.release import pseudonym
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy
from deid_assets.defs.audit import build_audited_asset
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.snapshot import software_version

if TYPE_CHECKING:
    from deid_assets.vault.store import Vault, VaultEntry

_AT_ONCE = 500


def build_redacted_notes(
    settings: Settings, policy: Policy, *, released: Policy
) -> dg.AssetsDefinition:
    """Return the asset of one redaction policy; that of the released one uses the vault."""
    is_released = policy.name == released.name
    role = "released" if is_released else "not released"
    make = make_vaulted_notes if is_released else make_redacted_notes
    vaulted = "+vault" if is_released and settings.vault.url else ""
    return build_audited_asset(
        partial(make, policy=policy),
        AssetDeclaration(
            key=Family.REDACTED_NOTES.of(policy.name),
            checks=redaction.CHECKS,
            deps=[ingest.RAW_NOTES, ingest.GOLD, MERGED_SPANS],
            code_version=(
                f"{software_version()}+{policy.digest[:12]}"
                f"+{settings.digest('redact_gold', 'ensemble', 'gates')}{vaulted}"
            ),
            uses_vault=is_released,
            group="redaction",
            description=(
                f"Notes redacted under policy `{policy.name}` ({role}); notes with anything left"
                " are withheld."
            ),
            kinds={"redacted", "parquet", "restricted"},
            schema=redaction.NOTES,
            tags={"deid/policy": policy.name},
            metadata={"policy_digest": policy.digest},
        ),
    )


def make_vaulted_notes(
    batch: str, installation: Installation, *, policy: Policy, vault: "Vault | None"
) -> AssetOutput:
    """Redact a batch, and put the originals into the vault where there is one.

    Nothing goes into the vault unless every blocking check passed, and nothing is stored unless all
    is in the vault.

    Raises:
        PolicyError: A note has no patient id, and the vault requires one.
    """
    output = make_redacted_notes(batch, installation, policy=policy)
    if vault is None or any(verdict.stops for verdict in output.verdicts):
        return output
    entries = vault_entries(
        read_notes_of(batch, installation),
        output.tables["notes"],
        output.tables["edits"],
        installation,
    )
    for entry in entries:
        vault.check_patient(entry.note)
    sealed = sum(
        vault.store(entries[at : at + _AT_ONCE]) for at in range(0, len(entries), _AT_ONCE)
    )
    return replace(output, counts={**output.counts, "sealed_edits": sealed})


def vault_entries(
    originals: list[Note], notes: pa.Table, edits: pa.Table, installation: Installation
) -> "list[VaultEntry]":
    """Return what the vault is to hold of a redacted batch.

    Released ids are derived from the key, so known already.
    """
    from deid_assets.vault.store import VaultEntry  # noqa: PLC0415 - loads SQLAlchemy

    by_id = {note.note_id: note for note in originals}
    return [
        VaultEntry(
            by_id[note.note_id], redacted, (str(pseudonym(installation, "note", note.note_id)),)
        )
        for note, redacted in rebuild_redacted(notes, edits)
    ]
