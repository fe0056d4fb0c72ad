"""Approval of a batch's release: a signed record that names the page that was read."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from deid_assets.core.errors import InputError
from deid_assets.store.files import StoreFiles
from deid_assets.store.receipts import Receipt, UnsignedReceipt, inputs_of

REPORT = "release_report"
APPROVAL = "release_approval"
PAGE = "page"
"""Count in the receipts of both: SHA-256 of the page."""

_VERSION = "1"
_NAME = re.compile(r"[\w.@+-]{2,100}", re.ASCII)


def digest_of_page(path: Path) -> str:
    """Return the SHA-256 of a page that was read."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def approval_draft(files: StoreFiles, batch: str, *, by: str, page: str) -> UnsignedReceipt:
    """Return the record of an approval, ready to be signed.

    Args:
        files: The store.
        batch: Whose release is approved.
        by: User name or e-mail address of who approves.
        page: SHA-256 of the page that was read.

    Raises:
        InputError: The name is none, or the page is not the present one on the batch.
        ProvenanceError: There is no report on the batch.
    """
    if not _NAME.fullmatch(by):
        raise InputError(
            "the name of who approves is 2 to 100 letters, digits and . _ @ + -: a user name or an address"
        )
    report = files.receipt(REPORT, batch)
    if report.counts.get(PAGE) != page:
        raise InputError(f"batch {batch}: the page that was read is not the present one; read that one, and approve it")
    return UnsignedReceipt(code_version=_VERSION, inputs=inputs_of([report]), counts={"by": by, PAGE: page})


def approve(files: StoreFiles, batch: str, *, by: str, page: str) -> Receipt:
    """Sign and store an approval in place of an earlier one; see ``approval_draft``."""
    return files.write(APPROVAL, batch, {}, receipt=approval_draft(files, batch, by=by, page=page))


def find_approval(files: StoreFiles, batch: str) -> Receipt | None:
    """Return the approval of the present page on a batch, or ``None`` where nobody has approved it.

    Raises:
        ProvenanceError: There is one that was altered.
    """
    found, report = files.find(APPROVAL, batch), files.find(REPORT, batch)
    if found is None or report is None or found.inputs != inputs_of([report]):
        return None
    return found if found.counts.get(PAGE) == report.counts.get(PAGE) else None
