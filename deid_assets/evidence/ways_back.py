"""Who can get from a release back to the originals: by the vault, or by a key."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.core.assets import Family
from deid_assets.core.errors import ConfigError, InputError
from deid_assets.core.phi import Phi
from deid_assets.core.redact import Policy
from deid_assets.evidence.document import (
    CitedSource,
    EvidencePart,
    EvidenceRow,
    EvidenceTable,
    MissingMeasure,
    Statement,
    make_statement,
)
from deid_assets.evidence.verifying import VerifiedRelease
from deid_assets.evidence.wording import at, list_words, many
from deid_assets.policies.encrypt import Encrypt
from deid_assets.store.files import RECEIPT
from deid_assets.vault.log import LogRow
from deid_assets.vault.opening import open_vault
from deid_assets.vault.store import Vault
from deid_assets.vault.upkeep import verify

SEALED = "sealed_edits"
"""Count of a receipt: replacements of which the originals went into the vault."""
VAULT_FOLDER = "vault"
"""Folder of an installation with room for a vault, as ``deid init`` makes it."""
SQLITE = b"SQLite format 3\0"
"""First bytes of a database of SQLite."""


@dataclass(frozen=True, slots=True)
class VaultEvidence:
    """What is known of the vault behind a release.

    Args:
        sealed: Replacements of the batch that its receipt, of the newest redaction, says were
            sealed.
        counts: What the vault holds, each value opened now; ``None`` where it was not.
        notes: Of the release.
        restored: Of these, notes that it can give back.
        log: Rows of its log, followed now.
        reason: Why it was not opened.
        sources: The receipt, and the vault where it was opened.
    """

    sealed: int
    counts: Mapping[str, int] | None = None
    notes: int = 0
    restored: int = 0
    log: tuple[LogRow, ...] = field(default=(), repr=False)
    reason: str = ""
    sources: tuple[CitedSource, ...] = ()


def vault_of(release: VerifiedRelease) -> VaultEvidence | None:
    """Return what the vault behind a release holds, opened and checked now; ``None`` where neither
    the settings, a receipt of the batch nor the folder of the installation shows one.

    The vault of the installation's own release holds the originals of a study's notes too. A
    receipt tells of the newest redaction alone: one before it may have sealed what is still there.

    Raises:
        ProvenanceError: A value or a row of the log is missing, altered or moved.
    """
    house, settings = release.installation.house, release.installation.settings.vault
    own = Family.REDACTED_NOTES.of(release.installation.snapshot.released.name)
    receipt = house.files.find(own, release.batch)
    sealed = int(receipt.counts.get(SEALED, 0)) if receipt else 0
    if receipt is not None:
        house.files.check(receipt)
    source = release.book.receipt(receipt) if receipt else _redaction_source(release)
    if not settings.url and not sealed:
        trace = _find_trace(release)
        return VaultEvidence(0, reason=trace, sources=(source,)) if trace else None
    if reason := _why_not_there(settings.url):
        return VaultEvidence(sealed, reason=reason, sources=(source,))
    try:
        with open_vault(settings.url, settings.key_file) as (vault, _):
            counts, log = verify(vault), tuple(vault.log_rows())
            notes, restored = _count_restored(release, vault)
    except (ConfigError, InputError):
        reason = "it cannot be opened with the keys that are given"
        return VaultEvidence(sealed, reason=reason, sources=(source,))
    told = json.dumps([sorted(counts.items()), [(row.seq, row.at, row.action) for row in log]])
    opened = release.book.other(
        "vault",
        "vault of the installation",
        house.key.derive("evidence vault", told).hex(),
        made_at=release.checked_at.isoformat(timespec="seconds"),
        checked="Every value was opened, and its log followed to the end; the digest is keyed.",
    )
    return VaultEvidence(sealed, counts, notes, restored, log, sources=(source, opened))


def _redaction_source(release: VerifiedRelease) -> CitedSource:
    return release.source(release.installation.names.name_redacted(release.policy))


def _find_trace(release: VerifiedRelease) -> str:
    """Return what shows that there is or was a vault though the settings name none; empty where
    nothing does.
    """
    files = release.installation.house.files
    found = files.root.glob(f"*/{Family.REDACTED_NOTES.of('*')}/{release.batch}/{RECEIPT}")
    receipts = (files.find(path.parent.parent.name, release.batch) for path in sorted(found))
    if any(int(one.counts.get(SEALED, 0)) for one in receipts if one):
        return "the settings name none, and another redaction of the batch sealed originals in one"
    home = release.installation.house.settings.home
    for folder in (home / VAULT_FOLDER, Path(VAULT_FOLDER)):
        if folder.is_dir() and any(map(_is_database, folder.iterdir())):
            return f"the settings name none, and a database lies in the folder {VAULT_FOLDER}"
    return ""


def _is_database(path: Path) -> bool:
    """Whether a file is a database of SQLite; one that cannot be read counts as one."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return True


def _why_not_there(url: str) -> str:
    """Return why there is no vault to open, which opening would make; empty where there is one."""
    if not url:
        return "the settings name none any more"
    try:
        named = make_url(url)
    except ArgumentError:
        return "its URL cannot be read"
    if named.get_backend_name() == "sqlite" and not Path(named.database or "").is_file():
        return "its database is not there"
    return ""


def _count_restored(release: VerifiedRelease, vault: Vault) -> tuple[int, int]:
    """Return the notes of a release, and how many of them the vault can give back."""
    names = release.installation.names
    notes = release.installation.files.read(names.released, release.batch, "notes")
    rows = notes.select(["id", "text"]).to_pylist()
    with vault.begin() as connection:
        records = (vault.record_of(connection, row["id"], row["text"]) for row in rows)
        return len(rows), sum(record is not None for record in records)


def missing_of_vault(vault: VaultEvidence | None) -> Iterator[MissingMeasure]:
    """Yield that a vault behind a release was not checked."""
    if vault is not None and vault.counts is None:
        yield MissingMeasure(
            "check of the vault",
            vault.reason,
            "`deid evidence` where `deid vault verify` opens the vault of the settings",
        )


def part_on_ways_back(
    release: VerifiedRelease, policy: Policy, vault: VaultEvidence | None
) -> EvidencePart:
    """Return who can get from the release back to the originals, and by what."""
    study = release.installation.study
    whose = "the study" if study else "the installation"
    if study and study.settings.key_file is None:
        whose = "the study, which follows from that of the installation"
    statements = [
        make_statement(
            f"Ids follow from the secret key of {whose}: who has it, and the ids of the source,"
            " finds whose a released note is. Who has the key is for you to write.",
            release.source(RAW_NOTES),
            release.manifest_source,
        ),
        *_of_policy(release, policy),
        *_of_vault(release, vault),
    ]
    tables = (_log_table(vault),) if vault is not None and vault.log else ()
    return EvidencePart("Ways back to the originals", tuple(statements), tables)


def _of_policy(release: VerifiedRelease, policy: Policy) -> Iterator[Statement]:
    actions = {label: policy.action(label) for label in Phi if label not in policy.keep}
    sealed = sorted(one.value for one, action in actions.items() if isinstance(action, Encrypt))
    keyed = sorted(
        one.value
        for one, action in actions.items()
        if getattr(action, "keyed", False) and not isinstance(action, Encrypt)
    )
    if sealed:
        yield make_statement(
            f"Values of {list_words(sealed)} stand in the released text itself, encrypted: who has"
            " the key reads them, without a vault and without a log.",
            release.manifest_source,
        )
    if keyed:
        told = "all that it replaces" if len(keyed) == len(actions) else list_words(keyed)
        yield make_statement(
            f"What stands for {told} is drawn from the key: who has it can try which"
            " original gives it, or undo it.",
            release.manifest_source,
        )


def _of_vault(release: VerifiedRelease, vault: VaultEvidence | None) -> Iterator[Statement]:
    if vault is None:
        yield make_statement(
            "This redaction sealed nothing into a vault, and the settings name none; whether an"
            " earlier one sealed originals of these notes is not known here.",
            _redaction_source(release),
        )
        return
    sources, study = vault.sources, release.installation.study
    own = "the installation's own release of these notes" if study else "this release"
    told = (
        f"The originals of {many(vault.sealed, 'replacement')} of {own} were sealed in a vault."
        if vault.sealed
        else f"The redaction of {own} sealed nothing into a vault; an earlier one may have."
    )
    yield make_statement(
        f"{told} A vault is encrypted with keys of its own: who has one of these and reads its"
        " database gets the originals in it. Who has them is for you to write.",
        *sources,
    )
    if vault.counts is None:
        yield make_statement(f"The vault was not checked: {vault.reason}.", *sources)
        return
    yield make_statement(
        f"The vault was opened now: it holds the originals of {many(vault.counts['notes'], 'note')}"
        f" of {many(vault.counts['patients'], 'patient')}, all intact, and gives back"
        f" {vault.restored:,} of the {many(vault.notes, 'note')} of this release from their"
        " released ids.",
        *sources,
    )
    if not vault.log:
        yield make_statement(
            "Its log has no entry: nobody opened, erased or rotated anything by it.", *sources
        )


def _log_table(vault: VaultEvidence) -> EvidenceTable:
    """Return how often what was done to the vault; reasons and names stay in its log."""
    done = Counter(row.action for row in vault.log)
    rows = []
    for action, times in sorted(done.items()):
        own = [row for row in vault.log if row.action == action]
        names = len({row.who for row in own})
        cells = action, f"{times:,}", f"{names:,}", at(own[0].at), at(own[-1].at)
        rows.append(EvidenceRow(cells, vault.sources))
    return EvidenceTable(
        "What was done to the vault, by its log; `deid vault log` has names and reasons.",
        ("Action", "Times", "Names", "First", "Last"),
        tuple(rows),
        frozenset({1, 2}),
    )
