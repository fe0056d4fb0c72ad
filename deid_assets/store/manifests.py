"""The manifest of a release: signed when it is made, checked by whoever receives the folder."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.keys import Key

MANIFEST = "manifest.json"


def signed(manifest: Mapping[str, Any], *, key: Key) -> dict[str, Any]:
    """Return the manifest with its signature, HMAC-SHA-256 over its canonical JSON."""
    return {**manifest, "signature": _signature(manifest, key)}


def verify_release(folder: Path, *, key: Key | None) -> dict[str, Any]:
    """Return the manifest of a release folder after checking that nothing was altered, added or taken away.

    Args:
        folder: Holds ``manifest.json`` and the files that it names.
        key: The key of the installation that made it. Without it the files are held against the manifest, and
            the manifest itself is taken on trust.

    Raises:
        InputError: There is no manifest, or it is not one.
        ProvenanceError: The signature does not match, a file was altered, or one is missing or not named.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        files, signature = dict(manifest["files"]), str(manifest.pop("signature"))
    except FileNotFoundError:
        raise InputError(f"{folder}: no {MANIFEST}; name the folder of one released batch") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{folder / MANIFEST}: not the manifest of a release; get the folder again") from None
    if key is not None and not hmac.compare_digest(signature, _signature(manifest, key)):
        raise ProvenanceError(
            f"{folder / MANIFEST}: the signature does not match; it was altered, or the key is another"
        )
    present = {path.name for path in folder.iterdir()} - {MANIFEST}
    if present != files.keys():
        names = ", ".join(sorted(present ^ files.keys()))
        raise ProvenanceError(f"{folder}: {names} missing or not named in the manifest; get the folder again")
    for name, sha256 in files.items():
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise ProvenanceError(f"{folder / name}: altered after the release; get the folder again")
    return dict(manifest)


def _signature(manifest: Mapping[str, Any], key: Key) -> str:
    return key.derive("manifest", json.dumps(manifest, sort_keys=True, separators=(",", ":"))).hex()
