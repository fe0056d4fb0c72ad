"""Parquet files of asset partitions, written atomically, each with a signed receipt.

::

    root/restricted/raw_notes/b-0001/notes-4f1c09a7d2e3.parquet     0600, folder 0700
    root/restricted/raw_notes/b-0001/receipt.json
    root/internal/spans_rules/b-0001/spans-….parquet                no text
    root/published/released_corpus/b-0001/…

Data files carry their content's digest in their name and the receipt is replaced last, so a crash
leaves the old state or the new one. Digests of notes are sealed in the internal zone. Whoever can
write to the folder can put an older signed state back; a downstream receipt names its inputs by
digest and shows that.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from deid_assets.core.errors import ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.store.atomic import file_name, lock_folder, make_folder, write_bytes, write_table
from deid_assets.store.generation import check_store
from deid_assets.store.receipts import (
    ALL,
    Receipt,
    Signer,
    UnsignedReceipt,
    check_batch,
    inputs_of,
)
from deid_assets.store.sealing import DigestSeal
from deid_assets.store.zones import Zone, check_table, zone_of
from deid_assets.system.reading import read_file, read_small_file

__all__ = ["ALL", "Receipt", "StoreFiles", "UnsignedReceipt", "Zone", "inputs_of", "zone_of"]

RECEIPT = "receipt.json"
_READ_ATTEMPTS = 3


class StoreFiles:
    """The folder tree of one deployment.

    Args:
        root: Created on first write.
        key: Secret for the receipts' signatures, at least 16 bytes.

    Raises:
        ConfigError: The key is too short, or another version wrote what is there.
    """

    def __init__(self, root: Path, *, key: bytes) -> None:
        self.root = Path(root)
        check_store(self.root)
        self._signer = Signer(key)
        self._seal = DigestSeal(Key(key))

    def write(
        self, asset: str, batch: str, tables: Mapping[str, pa.Table], *, receipt: UnsignedReceipt
    ) -> Receipt:
        """Store the tables of one partition in place of what was there, and return the signed
        receipt.

        Raises:
            InputError: A name is not allowed, or a table with text is written to the internal zone.
        """
        folder = self._folder(asset, batch)
        zone = zone_of(asset)
        for name, table in tables.items():
            check_table(asset, name, table)
        if zone is Zone.INTERNAL:
            tables = {name: self._seal.seal_table(table) for name, table in tables.items()}
        make_folder(self.root, folder, zone)
        with lock_folder(folder):
            outputs = {
                name: write_table(folder, name, table, zone) for name, table in tables.items()
            }
            signed = self._signer.sign(asset, batch, outputs, receipt)
            write_bytes(folder, RECEIPT, signed.to_json().encode(), zone)
            keep = {
                RECEIPT,
                *(file_name(name, output["sha256"]) for name, output in outputs.items()),
            }
            for path in folder.iterdir():
                if path.is_file() and path.name not in keep:
                    path.unlink()
        return signed

    def read(self, asset: str, batch: str, table: str) -> pa.Table:
        """Return a table after checking the receipt's signature and the file's SHA-256.

        Raises:
            ProvenanceError: The partition or table is missing, or anything was altered.
        """
        receipt = self.receipt(asset, batch)
        for _ in range(_READ_ATTEMPTS):
            try:
                found = pq.read_table(pa.BufferReader(_arrow_buffer(self._verify(receipt, table))))
                return self._seal.open_table(found) if zone_of(asset) is Zone.INTERNAL else found
            except FileNotFoundError:
                # A writer may have replaced the file between our two reads; then the receipt is new
                # too.
                receipt = self.receipt(asset, batch)
        raise ProvenanceError(
            f"{asset}, batch {batch}: the file of table {table!r} is missing; re-materialize"
            f" {asset} for batch {batch}"
        )

    def receipt(self, asset: str, batch: str) -> Receipt:
        """Return the receipt of a partition after checking its signature.

        Raises:
            ProvenanceError: It is missing, unsigned, altered or another partition's.
        """
        found = self.find(asset, batch)
        if found is None:
            raise ProvenanceError(
                f"{asset}, batch {batch}: never written; materialize {asset} for batch {batch}"
            )
        return found

    def find(self, asset: str, batch: str) -> Receipt | None:
        """Return the receipt of a partition, or ``None`` if there is none.

        Raises:
            ProvenanceError: There is one, and it is unsigned, altered or another partition's.
        """
        path = self._folder(asset, batch) / RECEIPT
        try:
            document = read_small_file(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ProvenanceError(
                f"{path}: the receipt cannot be read ({error.strerror}); make it readable, or"
                f" remove it and re-materialize {asset} for batch {batch}"
            ) from None
        return self._signer.open(document, asset, batch)

    def batches(self, asset: str) -> list[str]:
        """Return the batches of an asset that have a receipt, sorted.

        The receipts are not checked.
        """
        folder = self.root / zone_of(asset) / asset
        return sorted(path.parent.name for path in folder.glob(f"*/{RECEIPT}"))

    def partitions(self) -> list[tuple[str, str]]:
        """Return asset and batch of everything that has a receipt, sorted.

        The receipts are not checked.
        """
        return sorted(
            (path.parent.parent.name, path.parent.name)
            for zone in Zone
            for path in (self.root / zone).glob(f"*/*/{RECEIPT}")
            if path.parent.parent.name != "landing"
        )

    def erase(self, batch: str, *, keep: Collection[str] = ()) -> list[str]:
        """Delete every asset's files for the batch, and the files it came from, and return the
        assets' names.

        Assets in ``keep`` stay; the files that arrived are ``landing``.
        Deleting is not shredding: backups and the disk's free blocks may still hold the bytes.
        What was made from the batch for other partitions (``dependents``) then fails
        ``verify_chain``.
        """
        erased = []
        arrived = self._folder("landing", batch)  # holds folders as they were dropped
        # of a part, what it was cut from
        whole = arrived.parent / ".whole" / batch.rpartition("-")[0]
        for folder in (arrived, *([whole] if whole.name else [])):
            if folder.is_dir() and "landing" not in keep:
                shutil.rmtree(folder)
                erased.append("landing")
        for zone in Zone:
            base = self.root / zone
            for folder in base.glob(f"*/{check_batch(batch)}/"):
                name = folder.parent.name
                if name in keep or name == "landing":
                    continue
                _remove(folder)
                erased.append(name)
        return sorted(set(erased))

    def discard(self, asset: str, batch: str) -> None:
        """Delete an asset's files for the batch, such as a record that no longer holds.

        Nothing where there are none.
        """
        folder = self._folder(asset, batch)
        if folder.is_dir():
            _remove(folder)

    def dependents(self, batch: str) -> list[str]:
        """Return ``asset@batch`` of every partition outside ``batch`` made from one inside it,
        sorted.

        Raises:
            ProvenanceError: A receipt on the way is altered.
        """
        direct: dict[str, set[str]] = {}
        for asset, other in self.partitions():
            receipt = self.receipt(asset, other)
            direct[receipt.name] = set(receipt.inputs)
        tainted = {
            name for names in direct.values() for name in names if name.endswith(f"@{batch}")
        }
        while more := {name for name, inputs in direct.items() if inputs & tainted} - tainted:
            tainted |= more
        return sorted(name for name in tainted if not name.endswith(f"@{batch}"))

    def verify_chain(self, asset: str, batch: str) -> None:
        """Check a partition and everything it was made from, back to the first inputs.

        Every receipt must exist under the digest that its user recorded, be signed, have passed its
        blocking checks, and name files whose SHA-256 still holds.

        Raises:
            ProvenanceError: One of these fails; the message names the asset and batch to
                re-materialize.
        """
        top = self.receipt(asset, batch)
        pending, seen = [top], {top.name}
        while pending:
            receipt = pending.pop()
            self.check(receipt)
            for name, digest in sorted(receipt.inputs.items()):
                source = self.receipt(*_split(receipt, name))
                if source.digest != digest:
                    raise ProvenanceError(
                        f"{receipt.asset}, batch {receipt.batch}: made from an earlier {name}; "
                        f"re-materialize {receipt.asset} for batch {receipt.batch}"
                    )
                if name not in seen:
                    seen.add(name)
                    pending.append(source)

    def check(self, receipt: Receipt) -> None:
        """Check that a partition passed its checks, and that its files are there and unaltered.

        Raises:
            ProvenanceError: One of these fails.
        """
        where, remedy = (
            f"{receipt.asset}, batch {receipt.batch}",
            f"re-materialize {receipt.asset} for batch",
        )
        if not receipt.passed:
            failed = ", ".join(receipt.failed_checks)
            raise ProvenanceError(
                f"{where}: blocking checks failed: {failed}; fix and {remedy} {receipt.batch}"
            )
        for table in receipt.outputs:
            try:
                self._verify(receipt, table)
            except FileNotFoundError:
                raise ProvenanceError(
                    f"{where}: the file of table {table!r} is missing; {remedy} {receipt.batch}"
                ) from None

    def _verify(self, receipt: Receipt, table: str) -> bytes:
        """The bytes of a table's file, which are the very bytes that were hashed."""
        where = f"{receipt.asset}, batch {receipt.batch}"
        if table not in receipt.outputs:
            raise ProvenanceError(
                f"{where}: no table {table!r}; it has"
                f" {', '.join(sorted(receipt.outputs)) or 'none'}"
            )
        sha256 = receipt.outputs[table]["sha256"]
        path = self._folder(receipt.asset, receipt.batch) / file_name(table, sha256)
        try:
            content = read_file(path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ProvenanceError(
                f"{path}: the file of table {table!r} cannot be read ({error.strerror}); make it"
                f" readable, or remove it and re-materialize {receipt.asset} for batch"
                f" {receipt.batch}"
            ) from None
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ProvenanceError(
                f"{where}: the file of table {table!r} was altered; "
                f"re-materialize {receipt.asset} for batch {receipt.batch}"
            )
        return content

    def _folder(self, asset: str, batch: str) -> Path:
        return self.root / zone_of(asset) / asset / check_batch(batch)


def _remove(folder: Path) -> None:
    with lock_folder(folder):
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
        folder.rmdir()


def _split(receipt: Receipt, name: str) -> tuple[str, str]:
    asset, _, batch = name.rpartition("@")
    if not asset:
        raise ProvenanceError(
            f"{receipt.asset}, batch {receipt.batch}: an input is not named asset@batch; "
            f"re-materialize {receipt.asset} for batch {receipt.batch}"
        )
    return asset, batch


def _arrow_buffer(content: bytes) -> pa.Buffer:
    """Return a copy in Arrow's memory.

    Its threads let go of Python's only with the interpreter, which aborts at exit.
    """
    sink = pa.BufferOutputStream()
    sink.write(content)
    return sink.getvalue()
