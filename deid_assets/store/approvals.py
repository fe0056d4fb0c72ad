"""Approval of a batch's release: a signed record that names the page that was read."""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path

from deid_assets.core.assets import APPROVAL, MAIN, REPORT, ReleaseAssets
from deid_assets.core.errors import InputError
from deid_assets.core.keys import Key
from deid_assets.store.files import StoreFiles
from deid_assets.store.manifests import UNVERIFIED
from deid_assets.store.receipts import Receipt, UnsignedReceipt, inputs_of
from deid_assets.store.signing import PublicKey, sign_with

__all__ = ["APPROVAL", "PAGE", "REPORT"]

PAGE = "page"
"""Count in the receipts of both: SHA-256 of the page."""
LOGIN_TAG = "deid/login"
"""Tag of a run: who launched it, as a proxy named them, and a code that the web server made of that
with the key.
"""

_VERSION = "1"
_NAME = re.compile(r"[\w.@+-]{2,100}", re.ASCII)


def digest_of_page(path: Path) -> str:
    """Return the SHA-256 of a page that was read."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Proof:
    """How the name of who approves was proved.

    Args:
        means: ``key`` or ``login``; empty where it was not.
        key: Fingerprint of the approver's public key.
        signature: By the approver's key, over name, batch and page; URL-safe base64.
    """

    means: str = ""
    key: str = ""
    signature: str = ""


def proof_by_key(
    path: Path, declared: Mapping[str, Path], *, by: str, batch: str, page: str
) -> Proof:
    """Return the proof that the holder of a declared key approves.

    Args:
        path: The approver's private key, Ed25519 in PEM.
        declared: Names to files with public keys, as the settings have them.
        by: Who approves.
        batch: Whose release is approved.
        page: SHA-256 of the page that was read.

    Raises:
        InputError: No key is declared under this name, or another one is.
    """
    if by not in declared:
        raise InputError(
            f"no key of {by} is declared; name the file of the public one in approvals.keys of the"
            " settings"
        )
    public = PublicKey.read(declared[by])
    content = {"by": by, "batch": batch, "page": page}
    signature = sign_with(path, APPROVAL, content)
    if not public.accepts(APPROVAL, content, signature):
        raise InputError(
            f"{path}: not the key that approvals.keys of the settings declares for {by}; approve"
            " with that"
        )
    return Proof(
        "key", public.fingerprint, urlsafe_b64encode(bytes.fromhex(signature)).decode().rstrip("=")
    )


def login_code(key: Key, run_id: str, login: str) -> str:
    """Return what proves that the web server saw this login when it launched a run."""
    return key.derive("login of a run", run_id, login).hex()


def proof_by_login(key: Key, tags: Mapping[str, str], *, run_id: str, by: str) -> Proof:
    """Return the proof that who launched a run was logged in under the name.

    An empty one where nobody was.

    Raises:
        InputError: Somebody else was logged in.
    """
    login, _, code = tags.get(LOGIN_TAG, "").rpartition(" ")
    if not login or not compare_digest(code, login_code(key, run_id, login)):
        return Proof()
    if login != by:
        raise InputError(
            f"you are logged in as another than {by}; approve under the name of your login"
        )
    return Proof("login")


def proof_in_words(approval: Receipt) -> str:
    """Return how the name of who approved was proved, as a manifest says it."""
    means = approval.counts.get("proof")
    if means == "key":
        return f"own key {approval.counts['key']}"
    return "login" if means == "login" else UNVERIFIED


def approval_draft(
    files: StoreFiles,
    batch: str,
    *,
    by: str,
    page: str,
    proof: Proof,
    declared: Mapping[str, Path],
    names: ReleaseAssets = MAIN,
) -> UnsignedReceipt:
    """Return the record of an approval, ready to be signed.

    Args:
        files: The store.
        batch: Whose release is approved.
        by: User name or e-mail address of who approves.
        page: SHA-256 of the page that was read.
        proof: That it is them.
        declared: Names to files with public keys; nobody approves under one of these names without
            proof.
        names: Whose release it is: the installation's own, or a study's.

    Raises:
        InputError: The name is none or somebody else's, or the page is not the present one on the
            batch.
        ProvenanceError: There is no report on the batch.
    """
    if not _NAME.fullmatch(by):
        raise InputError(
            "the name of who approves is 2 to 100 letters, digits and . _ @ + -: a user name or an"
            " address"
        )
    own = {name.casefold() for name in declared}
    if by.casefold() in own and not (proof.means and (by in declared or proof.means == "login")):
        raise InputError(
            f"{by} approves with a key of their own: `deid approve` with --key, or as they are"
            " logged in"
        )
    report = files.receipt(names.report, batch)
    if report.counts.get(PAGE) != page:
        raise InputError(
            f"batch {batch}: the page that was read is not the present one; read that one, and"
            " approve it"
        )
    proved = {"proof": proof.means, "key": proof.key, "signature": proof.signature}
    return UnsignedReceipt(
        code_version=_VERSION, inputs=inputs_of([report]), counts={"by": by, PAGE: page, **proved}
    )


def approve(
    files: StoreFiles,
    batch: str,
    *,
    by: str,
    page: str,
    proof: Proof,
    declared: Mapping[str, Path],
    names: ReleaseAssets = MAIN,
) -> Receipt:
    """Sign and store an approval in place of an earlier one; see ``approval_draft``."""
    draft = approval_draft(
        files, batch, by=by, page=page, proof=proof, declared=declared, names=names
    )
    return files.write(names.approval, batch, {}, receipt=draft)


def find_approval(files: StoreFiles, batch: str, names: ReleaseAssets = MAIN) -> Receipt | None:
    """Return the approval of the present page on a batch, or ``None`` where nobody has approved it.

    Raises:
        ProvenanceError: There is one that was altered.
    """
    found, report = files.find(names.approval, batch), files.find(names.report, batch)
    if found is None or report is None or found.inputs != inputs_of([report]):
        return None
    return found if found.counts.get(PAGE) == report.counts.get(PAGE) else None
