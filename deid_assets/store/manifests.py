"""The manifest of a release: signed when it is made, checked by whoever receives the folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.store.signing import PublicKey, ReleaseSigner
from deid_assets.system import strict_json
from deid_assets.system.digests import sha256_of
from deid_assets.system.reading import read_small_file

MANIFEST = "manifest.json"
UNVERIFIED = "unverified name"
"""What a manifest says of who approved, where nothing proves that it was them."""
FORMAT = 2
_MOST_NAMED = 5
_TABLES = ("files", "counts", "policy", "measurement", "approval")
_NUMBERS = ("annotated_notes", "gold_spans", "lower")
_NAMES = ("by", "at", "page")


def sign_manifest(manifest: Mapping[str, Any], *, signer: ReleaseSigner) -> dict[str, Any]:
    """Return the manifest with its format, the name of the key and an Ed25519 signature over its
    canonical JSON.
    """
    content = {**manifest, "format": FORMAT, "public_key": signer.public.fingerprint}
    return {**content, "signature": signer.sign("manifest", content)}


def verify_release(folder: Path, *, key: PublicKey | None) -> dict[str, Any]:
    """Return the manifest of a release folder after checking that nothing was altered, added or
    taken away.

    Args:
        folder: Holds ``manifest.json`` and the files that it names.
        key: Public key of the installation that made it. Without it the files are checked against
            the manifest, and the manifest itself is taken on trust.

    Raises:
        InputError: There is no manifest, or it is not one.
        ProvenanceError: The signature does not match, a file was altered or is a link, or one is
            missing or not named.
    """
    if (folder / MANIFEST).is_symlink():
        raise ProvenanceError(
            f"{folder / MANIFEST}: a link, which may lead elsewhere tomorrow; get the folder again"
        )
    manifest = _open(folder / MANIFEST, key)
    files = manifest["files"]
    present = files_of_folder(folder) - {MANIFEST}
    if present != files.keys():
        raise ProvenanceError(
            f"{folder}: {_list_names(present ^ files.keys())} missing or not named in the manifest;"
            " get the folder again"
        )
    for name, sha256 in files.items():
        path = folder / name
        if path.is_symlink() or not path.is_file() or sha256_of(path) != sha256:
            raise ProvenanceError(f"{path}: altered after it was signed; get the folder again")
    return manifest


def files_of_folder(folder: Path) -> set[str]:
    """Return all that lies in a folder and in the folders in it, by its path from there, with
    slashes. Links are not followed; a link and an empty folder are names of their own.
    """
    found: set[str] = set()
    waiting = [folder]
    while waiting:
        for path in waiting.pop().iterdir():
            if path.is_dir() and not path.is_symlink() and any(path.iterdir()):
                waiting.append(path)
            else:
                found.add(path.relative_to(folder).as_posix())
    return found


def _list_names(names: Collection[str]) -> str:
    """Return a few names, on one line whatever they hold: whoever added a file named it."""
    first = [
        name if name.isprintable() and name.strip() else ascii(name)
        for name in sorted(names)[:_MOST_NAMED]
    ]
    more = len(names) - len(first)
    return ", ".join(first) + (f" and {more:,} more" if more else "")


def check_name(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Check that a folder has the name under which it was signed: a renamed one passes for another.

    Raises:
        ProvenanceError: It has not.
    """
    if folder.resolve().name != manifest.get("batch"):
        raise ProvenanceError(
            f"{folder}: not the folder {manifest.get('batch')!r} that was signed; rename it so"
        )


def _open(path: Path, key: PublicKey | None) -> dict[str, Any]:
    try:
        manifest: Any = strict_json.loads(read_small_file(path))
        files, signature = dict(manifest["files"]), str(manifest.pop("signature"))
        _check_form(manifest)
    except FileNotFoundError:
        raise InputError(
            f"{path.parent}: no {MANIFEST}; name the folder of one released batch"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path}: not the manifest of a release; get the folder again") from None
    if manifest.get("format") != FORMAT:
        raise ProvenanceError(
            f"{path}: written by another version, whose signature needs its own; release it again"
        )
    if key is not None and not key.accepts("manifest", manifest, signature):
        raise ProvenanceError(
            f"{path}: the signature does not match public key {key.fingerprint}; "
            "it was altered, or signed by another installation"
        )
    return {**manifest, "files": files}


def _check_form(manifest: Mapping[str, Any]) -> None:
    """Check that what is shown of a manifest has the form in which it is written, on one line each.

    Raises:
        ValueError: A value has another type, or a text would take another line or move the cursor.
        KeyError: A value is missing.
    """
    tables = {name: manifest.get(name) or {} for name in _TABLES}
    if not all(isinstance(table, dict) for table in tables.values()):
        raise ValueError
    if manifest.get("measured"):
        covered = "covered" if "covered" in tables["measurement"] else "hidden"
        numbers = [tables["measurement"][name] for name in (*_NUMBERS, covered)]
        if not all(type(number) in (int, float) for number in numbers):
            raise ValueError
    if tables["approval"] and not all(type(tables["approval"][name]) is str for name in _NAMES):
        raise ValueError
    waiting: list[Any] = [manifest]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str) and not one.isprintable():
            raise ValueError
