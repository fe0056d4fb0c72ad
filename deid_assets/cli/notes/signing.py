"""The signed manifest of what a command redacted, which ``deid verify`` reads."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deid_assets.config.secret import secret_of_environment
from deid_assets.core.keys import MIN_SECRET_BYTES, Key
from deid_assets.evaluation.counts import Counts
from deid_assets.quality.measurement import BatchMeasurement, ReleaseRequirements
from deid_assets.store.manifests import MANIFEST, signed
from deid_assets.store.signing import PUBLIC_KEY, ReleaseSigner
from deid_assets.system.atomic import atomic_file


def unmeasured(notes: int) -> dict[str, Any]:
    """Return what a manifest says of notes of which nobody knows what was missed.

    ``measured``, and why not.
    """
    nothing = BatchMeasurement(
        notes=notes,
        annotated=0,
        held_out=0,
        covered=Counts(),
        wanted=ReleaseRequirements(gold=False, spans=1),
    )
    told = nothing.to_json()
    told["measurement"]["reason"] = "Annotations of the notes, if any, were not read."
    return told


def sign_folder(folder: Path, content: Mapping[str, Any]) -> str:
    """Write a manifest of all files of a folder into it, with the public key, and return the key's
    fingerprint.

    The key follows from ``DEID_KEY``; where that is not set, it is one for this folder alone.

    Args:
        folder: Named in the manifest, so that a renamed one is seen.
        content: What the manifest says besides.
    """
    secret = secret_of_environment() or secrets.token_bytes(MIN_SECRET_BYTES)
    signer = ReleaseSigner(Key(secret))
    _write(folder / PUBLIC_KEY, signer.public.to_pem())
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = {
        **content,
        "batch": folder.resolve().name,
        "created_at": created_at,
        "files": digests,
    }
    _write(
        folder / MANIFEST, (json.dumps(signed(manifest, signer=signer), indent=1) + "\n").encode()
    )
    return signer.public.fingerprint


def _write(path: Path, content: bytes) -> None:
    with atomic_file(path) as file:
        file.write(content)
