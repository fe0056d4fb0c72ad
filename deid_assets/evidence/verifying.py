"""A release, checked now: signatures, digests, files and the page, back to what arrived."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deid_assets.assets.evidence import page_of
from deid_assets.assets.release import release_chain, release_folder
from deid_assets.core.errors import DeidError, InputError, ProvenanceError
from deid_assets.evidence.document import CitedSource, SourceBook
from deid_assets.runtime.installation import Installation
from deid_assets.store.approvals import APPROVAL, PAGE, digest_of_page
from deid_assets.store.files import Receipt
from deid_assets.store.manifests import MANIFEST
from deid_assets.store.releases import RELEASES, Release
from deid_assets.store.signing import PublicKey
from deid_assets.system.digests import sha256_of

_MAKE = "run `deid run`, which makes the release again"


@dataclass(frozen=True, slots=True)
class VerifiedRelease:
    """A release of which everything was found to hold.

    Args:
        batch: Whose release it is.
        name: Under which it left.
        installation: As the release has it: the installation's, or a study's.
        manifest: Signed.
        entry: In the list of releases.
        chain: Receipt of each asset partition behind it, by ``asset@batch``, the first inputs
            first.
        checked_at: When.
        book: The sources of the document.
    """

    batch: str
    name: str
    installation: Installation
    manifest: Mapping[str, Any]
    entry: Release
    chain: Mapping[str, Receipt]
    checked_at: datetime
    book: SourceBook = field(repr=False)

    @property
    def policy(self) -> str:
        """Name of the policy under which it was redacted."""
        return str(self.manifest["policy"]["name"])

    def receipt(self, asset: str) -> Receipt:
        """Return the receipt of an asset of the batch.

        Raises:
            ProvenanceError: It is not behind the release.
        """
        found = self.find(asset)
        if found is None:
            raise ProvenanceError(f"{asset}, batch {self.batch}: not behind the release; {_MAKE}")
        return found

    def find(self, asset: str) -> Receipt | None:
        """Return the receipt of an asset of the batch, or ``None`` where the release has none."""
        return self.chain.get(f"{asset}@{self.batch}")

    def source(self, asset: str) -> CitedSource:
        """Return the entry of an asset's receipt in the appendix."""
        return self.book.receipt(self.receipt(asset))

    @property
    def manifest_source(self) -> CitedSource:
        """The entry of the manifest."""
        folder = release_folder(self.installation, self.batch)
        return self.book.other(
            "manifest",
            f"{self.name}/{MANIFEST}",
            sha256_of(folder / MANIFEST),
            made_at=str(self.manifest["created_at"]),
            version=str(self.manifest["software"]),
            checked=(
                "Signature (Ed25519) holds under key"
                f" {self.installation.release_signer.public.fingerprint}; every file of the release"
                " has the digest that it names."
            ),
        )

    @property
    def list_source(self) -> CitedSource:
        """The entry of the signed list of releases."""
        return self.book.other(
            "list of releases",
            RELEASES,
            self.entry.manifest,
            made_at=self.entry.created_at,
            checked="Signature holds, both copies agree, and the release is its batch's newest.",
        )

    @property
    def settings_source(self) -> CitedSource:
        """The entry of the settings, as they were read for the document."""
        told = json.dumps(self.installation.settings.model_dump(mode="json"), sort_keys=True)
        return self.book.other(
            "settings",
            "settings of the installation",
            self.installation.house.key.derive("evidence settings", told).hex(),
            made_at=self.checked_at.isoformat(timespec="seconds"),
            checked="Read for this document; the digest is keyed.",
        )


def verify_evidence(batch: str, installation: Installation) -> VerifiedRelease:
    """Check a release and everything behind it, and return it.

    Args:
        batch: Whose release.
        installation: The installation, or a study's.

    Raises:
        InputError: The batch has no release.
        ProvenanceError: A signature, digest, file, or the page was altered, or something behind the
            release was made again since.
    """
    names, files = installation.names, installation.files
    receipt = files.find(names.released, batch)
    if receipt is None:
        raise InputError(f"batch {batch}: not released; `deid batches list` says what it waits for")
    manifest = installation.releases.check(batch)
    files.verify_chain(names.released, batch)
    chain = release_chain(receipt, installation)
    name = installation.releases.name_of(batch)
    shown = _map_receipts(manifest, chain, installation)
    _check_page(batch, installation)
    entry = installation.releases.releases().latest(name)
    if entry is None:
        raise ProvenanceError(f"batch {batch}: not in the list of releases; {_MAKE}")
    return VerifiedRelease(
        batch,
        name,
        installation,
        manifest,
        entry,
        {link.name: link for link in chain},
        datetime.now(UTC),
        SourceBook(shown),
    )


def _map_receipts(
    manifest: Mapping[str, Any], chain: list[Receipt], installation: Installation
) -> dict[str, tuple[str, str]]:
    """Return how the manifest shows each receipt: name and digest.

    Raises:
        ProvenanceError: It names other receipts than those that are stored.
    """
    named, shown = manifest["receipts"], {}
    for link in chain:
        name = f"{link.asset}@{installation.releases.name_of(link.batch)}"
        digests = {link.digest}
        if installation.study is not None:
            digests.add(installation.key.derive("receipt in a manifest", link.digest).hex())
        if named.get(name, {}).get("digest") not in digests:
            raise ProvenanceError(
                f"{link.name}: made again since the release, whose manifest names another; {_MAKE}"
            )
        shown[link.name] = name, str(named[name]["digest"])
    if len(named) != len(shown):
        raise ProvenanceError(
            f"batch {chain[-1].batch}: the manifest names {len(named)} receipts, and"
            f" {len(shown)} are behind the release; {_MAKE}"
        )
    return shown


def _check_page(batch: str, installation: Installation) -> None:
    """Check that the page on which the release was judged is the one that was signed."""
    names = installation.names
    path = page_of(installation.settings, names.of_batch(batch))
    signed = installation.files.receipt(names.report, batch).counts[PAGE]
    if not path.is_file() or digest_of_page(path) != signed:
        raise ProvenanceError(
            f"{path}: missing, or not the page that was signed; materialize {names.report} for"
            f" batch {batch} again"
        )


@dataclass(frozen=True, slots=True)
class ApprovalCheck:
    """An approval, and what was checked of it.

    Args:
        receipt: Of the approval.
        by: Who approved.
        proof: How that was proved: ``key``, of which the signature was checked now, ``login``, or
            empty.
    """

    receipt: Receipt
    by: str
    proof: str


def check_approval(release: VerifiedRelease) -> ApprovalCheck | None:
    """Return who approved a release, the signature of their own key checked again; ``None`` where
    nobody was asked.

    Raises:
        ProvenanceError: The signature does not hold, or the key is declared no longer.
    """
    receipt = release.find(release.installation.names.approval)
    if receipt is None:
        return None
    by, proof = str(receipt.counts["by"]), str(receipt.counts["proof"])
    if proof == "key":
        declared = release.installation.settings.approvals.keys
        _check_signature(release, receipt, by, declared)
    return ApprovalCheck(receipt, by, proof)


def _check_signature(
    release: VerifiedRelease, receipt: Receipt, by: str, declared: Mapping[str, Path]
) -> None:
    remedy = "declare the approver's key in approvals.keys again, or approve the page again"
    if by not in declared:
        raise ProvenanceError(f"{receipt.name}: the key of {by} is not declared; {remedy}")
    content = {"by": by, "batch": release.batch, "page": receipt.counts[PAGE]}
    try:
        coded = str(receipt.counts["signature"])
        signature = urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).hex()
        holds = PublicKey.read(declared[by]).accepts(APPROVAL, content, signature)
    except (DeidError, ValueError):
        holds = False
    if not holds:
        raise ProvenanceError(
            f"{receipt.name}: the signature of {by} does not hold under the declared key; {remedy}"
        )
