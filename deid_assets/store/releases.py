"""The list of releases: signed, and only ever longer, so that an older release put back is seen."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.store.manifests import MANIFEST, verify_release
from deid_assets.store.signing import PublicKey, ReleaseSigner
from deid_assets.system import strict_json
from deid_assets.system.reading import read_small_file

RELEASES = "releases.json"


@dataclass(frozen=True, slots=True)
class Release:
    """One entry of the list.

    Args:
        number: From 1, without gaps.
        batch: What was released.
        manifest: SHA-256 of its ``manifest.json``, which names its files; empty where the batch was
            withdrawn.
        created_at: UTC, ISO 8601.
    """

    number: int
    batch: str
    manifest: str
    created_at: str


@dataclass(frozen=True, slots=True)
class ReleaseList:
    """All releases of an installation, in order."""

    entries: tuple[Release, ...] = ()

    @classmethod
    def read(cls, path: Path, *, key: PublicKey) -> ReleaseList:
        """Return the list of a file.

        Raises:
            InputError: The file is missing.
            ProvenanceError: It is damaged, altered or signed with another key.
        """
        try:
            document: Any = strict_json.loads(read_small_file(path))
            signature = str(document.pop("signature"))
            entries = tuple(Release(**entry) for entry in document["releases"])
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read ({error.strerror}); name a {RELEASES}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ProvenanceError(f"{path}: no list of releases; get it again") from None
        if not key.accepts("releases", document, signature):
            raise ProvenanceError(
                f"{path}: the signature does not match public key {key.fingerprint}; it was"
                " altered, or signed with another key; get it again, or move it away if the key"
                " was changed on purpose"
            )
        return cls(entries)

    def to_bytes(self, signer: ReleaseSigner) -> bytes:
        """Return the content of a file, signed."""
        content: dict[str, Any] = {
            "format": 1,
            "public_key": signer.public.fingerprint,
            "releases": [asdict(entry) for entry in self.entries],
        }
        return (
            json.dumps({**content, "signature": signer.sign("releases", content)}, indent=1) + "\n"
        ).encode()

    def latest(self, batch: str) -> Release | None:
        """Return the newest release of a batch, or ``None`` where it was never released."""
        return next((entry for entry in reversed(self.entries) if entry.batch == batch), None)

    def add_release(self, batch: str, manifest: bytes, *, created_at: str) -> ReleaseList:
        """Return the list with one more entry."""
        digest = hashlib.sha256(manifest).hexdigest()
        return ReleaseList(
            (*self.entries, Release(len(self.entries) + 1, batch, digest, created_at))
        )

    def list_withdrawn(self) -> set[str]:
        """Return the batches whose last entry is that they were withdrawn."""
        return {
            batch
            for batch, last in {entry.batch: entry for entry in self.entries}.items()
            if not last.manifest
        }

    def add_withdrawal(self, batch: str, *, created_at: str) -> ReleaseList:
        """Return the list with one more entry, after which no release of the batch is
        the newest.
        """
        return ReleaseList((*self.entries, Release(len(self.entries) + 1, batch, "", created_at)))

    def continues(self, earlier: ReleaseList) -> bool:
        """Return whether this list begins with all of an earlier one."""
        return self.entries[: len(earlier.entries)] == earlier.entries

    def check(self, folder: Path, *, key: PublicKey, batch: str | None = None) -> dict[str, Any]:
        """Return the manifest of a release folder that is whole, signed and the newest of its
        batch.

        Args:
            folder: Of one release.
            key: Of who signed.
            batch: What the folder must hold; any batch where not given.

        Raises:
            InputError: There is no manifest, or it is not one.
            ProvenanceError: The folder was altered, or the list has a newer release of the batch,
                or none.
        """
        manifest = verify_release(folder, key=key)
        digest = hashlib.sha256(read_small_file(folder / MANIFEST)).hexdigest()
        if batch is not None and manifest.get("batch") != batch:
            raise ProvenanceError(
                f"{folder}: holds the release of another batch; release batch {batch} again"
            )
        latest = self.latest(str(manifest.get("batch")))
        if latest is None:
            raise ProvenanceError(
                f"{folder}: not in the list of releases; get a list of this release or a later one"
            )
        if not latest.manifest:
            raise ProvenanceError(
                f"{folder}: batch {latest.batch} was withdrawn on {latest.created_at}; delete the"
                " folder"
            )
        if latest.manifest != digest:
            found = next((entry.number for entry in self.entries if entry.manifest == digest), None)
            which = "not in the list of releases" if found is None else f"release {found}"
            raise ProvenanceError(
                f"{folder}: {which}; release {latest.number} took its place on {latest.created_at};"
                " get that one"
            )
        return manifest
