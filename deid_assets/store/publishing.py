"""Released corpora on disk.

Each batch's folder is the one before or the new one, whenever a process is killed.

::

    released/releases.json                signed list of all releases
    released/b-0001/notes.jsonl
    released/b-0001/manifest.json
    released/.b-0001.new                  only while a release is being published
    released/.b-0001.old
    store/published/releases.json         this installation's own copy of the list
    store/published/releases.lock         held while the list or a release is changed

A release is written whole beside the folder, then entered in the list, then put in the folder's
place. Before the entry, a killed run's work is taken back; after it, completed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deid_assets.core.errors import DeidError, InputError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.store.atomic import (
    TEMPORARY,
    lock_by_file,
    lock_folder,
    write_bytes,
    write_copy,
)
from deid_assets.store.generation import mark_store
from deid_assets.store.manifests import MANIFEST, sign_manifest
from deid_assets.store.releases import RELEASES, ReleaseList
from deid_assets.store.signing import ReleaseSigner
from deid_assets.store.withdrawals import Withdrawals
from deid_assets.store.zones import Zone
from deid_assets.system.atomic import remove, replace_folder

_VARYING = {"created_at", "signature"}


class ReleaseFolders:
    """The released corpora of an installation.

    Args:
        root: Created on first release.
        record: The house's own copy of the list of releases.
        signer: Of manifests and the list.
        withdrawals: Batches that must not be released.
        study: Whose releases they are; the installation's own where none is named.
        key: Of the installation; the folders of a study have names that follow from it, so that
            those of two studies do not tell which were made of one batch.
    """

    def __init__(
        self,
        root: Path,
        *,
        record: Path,
        signer: ReleaseSigner,
        withdrawals: Withdrawals,
        study: str = "",
        key: Key | None = None,
    ) -> None:
        self.root = root
        self._record = record
        self._signer = signer
        self._withdrawals = withdrawals
        self._study = study
        self._key = key

    def name_of(self, batch: str) -> str:
        """Return the name under which a batch is released, which is that of its folder."""
        if not self._study or self._key is None:
            return batch
        return f"r-{self._key.derive('released batch', self._study, batch).hex()[:16]}"

    def publish(
        self, batch: str, files: Mapping[str, bytes | Path], manifest: Mapping[str, Any]
    ) -> None:
        """Put a release in the place of the batch's last one.

        Does nothing where it is there already.

        Args:
            batch: What is released.
            files: Name to content, or to a file that has it; the manifest has their digests.
            manifest: Without signature.

        Raises:
            InputError: The batch was withdrawn.
            ProvenanceError: It was, and the record of that is gone; or the list of releases was
                altered, or its two copies contradict each other.
        """
        with self.hold():
            releases = self._settle_all()
            self._check_is_open(batch, releases)
            name = self.name_of(batch)
            if self._is_there(name, manifest, releases):
                return
            document = (
                json.dumps(sign_manifest(manifest, signer=self._signer), indent=1, sort_keys=True)
                + "\n"
            ).encode()
            staging = self._name_staged(name)
            staging.mkdir()
            for file, content in (*files.items(), (MANIFEST, document)):
                if isinstance(content, Path):
                    write_copy(staging, file, content, Zone.PUBLISHED)
                else:
                    write_bytes(staging, file, content, Zone.PUBLISHED)
            self._keep(
                releases.add_release(name, document, created_at=_now()).to_bytes(self._signer)
            )
            self._put(name)

    def _check_is_open(self, batch: str, releases: ReleaseList) -> None:
        if self._withdrawals.is_withdrawn(batch):
            back = self._withdrawals.bring_back(batch)
            raise InputError(f"batch {batch} was withdrawn; `{back}` brings it back")
        is_closed = self.name_of(batch) in releases.list_withdrawn()
        if is_closed and not self._withdrawals.is_recorded(batch):
            raise ProvenanceError(
                f"batch {batch} was withdrawn by the list of releases, and the record of that is"
                f" gone; withdraw it again, and `{self._withdrawals.bring_back(batch)}` brings it"
                " back"
            )

    def withdraw(self, *, record: Callable[[], None]) -> None:
        """Record a withdrawal, and take the batch's release back. Nothing is published meanwhile.

        Args:
            record: Writes the record of the withdrawal, which is all that has to survive a kill.

        Raises:
            ProvenanceError: The list of releases was altered, or its two copies contradict each
                other.
        """
        with self.hold():
            record()
            self._settle_all()

    def go_on_from(self, releases: ReleaseList, *, are_all_withdrawn: bool) -> None:
        """Begin with the list of an earlier version, so that its releases stay known and numbers go
        on.

        Args:
            releases: That list.
            are_all_withdrawn: Enter for each release that it was withdrawn.
        """
        with self.hold():
            live = {entry.batch for entry in releases.entries} - releases.list_withdrawn()
            for batch in sorted(live) if are_all_withdrawn else ():
                releases = releases.add_withdrawal(batch, created_at=_now())
            self._keep(releases.to_bytes(self._signer))
            self._settle_all()

    def check(self, batch: str) -> dict[str, Any]:
        """Return the manifest of a batch's release that is whole, signed and the newest.

        Raises:
            InputError: There is none.
            ProvenanceError: It was altered, or is not the newest, or the list of releases was
                altered.
        """
        return self.check_folder(self.name_of(batch))

    def check_folder(self, name: str) -> dict[str, Any]:
        """Return what ``check`` does, of the release in the folder of this name."""
        return self.releases().check(self.root / name, key=self._signer.public, batch=name)

    def releases(self) -> ReleaseList:
        """Return all releases; the longer of the two copies, where a killed run left one behind.

        Raises:
            ProvenanceError: A copy was altered, or they contradict each other.
        """
        key = self._signer.public
        found = [ReleaseList.read(path, key=key) for path in self._copies() if path.exists()]
        found.sort(key=lambda releases: len(releases.entries))
        if any(not found[-1].continues(earlier) for earlier in found):
            ours, theirs = self._copies()
            raise ProvenanceError(
                f"{ours} and {theirs} contradict each other; remove the one that is not yours"
            )
        return found[-1] if found else ReleaseList()

    def sweep(self) -> None:
        """Complete or take back what killed runs left.

        Raises:
            ProvenanceError: The list of releases was altered, or its two copies contradict each
                other.
        """
        if self.root.is_dir():
            with self.hold():
                self._settle_all()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the releases against other writers, on this machine and on others.

        Nothing is published or withdrawn meanwhile.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        mark_store(self._record.parent.parent)
        self._record.parent.mkdir(parents=True, exist_ok=True)
        with lock_folder(self.root), lock_by_file(self._record.with_suffix(".lock")):
            yield

    def _settle_all(self) -> ReleaseList:
        for leftover in self.root.glob(f"{TEMPORARY}*"):
            remove(leftover)
        releases = self.releases()
        document = releases.to_bytes(self._signer)
        if releases.entries and not all(
            path.is_file() and path.read_bytes() == document for path in self._copies()
        ):
            self._keep(document)
        for batch in self._withdrawals.batches():
            releases = self._take_back(self.name_of(batch), releases)
        for batch in sorted(
            {path.name[1:-4] for path in self.root.glob(".*") if path.suffix in (".new", ".old")}
        ):
            self._settle(batch, releases)
        for batch in releases.list_withdrawn():
            remove(self.root / batch)
        return releases

    def _take_back(self, name: str, releases: ReleaseList) -> ReleaseList:
        """Enter in the list that a batch was withdrawn, so that its release is refused where
        somebody puts it back.
        """
        latest = releases.latest(name)
        if latest is not None and latest.manifest:
            releases = releases.add_withdrawal(name, created_at=_now())
            self._keep(releases.to_bytes(self._signer))
        for folder in (self.root / name, self._name_staged(name), self._name_replaced(name)):
            remove(folder)
        return releases

    def _settle(self, batch: str, releases: ReleaseList) -> None:
        staging, folder, replaced = (
            self._name_staged(batch),
            self.root / batch,
            self._name_replaced(batch),
        )
        try:
            releases.check(staging, key=self._signer.public, batch=batch)
        except DeidError:
            # Never entered in the list, or in its place already.
            if replaced.exists() and not folder.exists():
                replaced.rename(folder)
            for leftover in (staging, replaced):
                remove(leftover)
            return
        self._put(batch)

    def _put(self, batch: str) -> None:
        """Put the staged release in the folder's place."""
        replace_folder(
            self._name_staged(batch), self.root / batch, aside=self._name_replaced(batch)
        )

    def _is_there(self, batch: str, manifest: Mapping[str, Any], releases: ReleaseList) -> bool:
        try:
            found = releases.check(self.root / batch, key=self._signer.public, batch=batch)
        except (InputError, ProvenanceError):
            return False
        wanted = json.loads(json.dumps(sign_manifest(manifest, signer=self._signer)))
        return {**wanted, **dict.fromkeys(_VARYING)} == {**found, **dict.fromkeys(_VARYING)}

    def _keep(self, document: bytes) -> None:
        """Write both copies, the installation's own first.

        It may be the first file of a store that was removed.
        """
        mark_store(self._record.parent.parent)
        for path in self._copies():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path.parent, path.name, document, Zone.PUBLISHED)

    def _copies(self) -> tuple[Path, Path]:
        return self._record, self.root / RELEASES

    def _name_staged(self, batch: str) -> Path:
        return self.root / f".{batch}.new"

    def _name_replaced(self, batch: str) -> Path:
        return self.root / f".{batch}.old"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
