"""``deid verify``: whether a release is what was signed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated as Arg
from typing import Any

import typer

from deid_assets.cli.app import app, guarded, say
from deid_assets.config import Settings
from deid_assets.core.errors import InputError
from deid_assets.store.manifests import verify_release
from deid_assets.store.releases import RELEASES, ReleaseList
from deid_assets.store.signing import PUBLIC_KEY, PublicKey


@app.command()
@guarded
def verify(
    folder: Arg[Path, typer.Argument(help="Folder of one released batch.", show_default=False)],
    *,
    public_key: Arg[
        Path | None,
        typer.Option(metavar="FILE", help=f"The {PUBLIC_KEY} of who released; this home's when not given."),
    ] = None,
    releases: Arg[
        Path | None,
        typer.Option(metavar="FILE", help=f"Signed list of releases; {RELEASES} beside the folder when not given."),
    ] = None,
    unsigned: Arg[
        bool,
        typer.Option(
            "--unsigned", help="Check the files against the manifest, not its signature; anyone may have made it."
        ),
    ] = False,
    as_json: Arg[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> int:
    """Check a release against its manifest, its signature against a public key, and that it is the newest."""
    if unsigned and (public_key or releases):
        raise InputError("--unsigned checks no signature; leave it out, or --public-key and --releases")
    if unsigned:
        manifest, key, lists = verify_release(folder, key=None), None, []
    else:
        key = PublicKey.read(public_key or _own_key())
        manifest, lists = verify_release(folder, key=key), _lists(folder, releases)
        for path in lists:
            ReleaseList.read(path, key=key).check(folder, key=key)
    if as_json:
        typer.echo(
            json.dumps({**manifest, "signature_checked": key is not None, "held_against_list": bool(lists)}, indent=1)
        )
    else:
        counts = manifest.get("counts", {})
        say(
            f"{folder}: as released; batch {manifest.get('batch')}, {counts.get('notes')} notes, "
            f"policy {manifest.get('policy', {}).get('name')}, made {manifest.get('created_at')}"
        )
        _say_what_is_known(manifest)
    if key is None:
        say("the signature was not checked: anyone could have written this manifest")
    else:
        say(f"signed with the key {key.fingerprint} of {public_key or _own_key()}")
        if not lists:
            say(f"an older release would pass too: name the list of releases, {RELEASES}, with --releases")
    return 0


def _lists(folder: Path, asked: Path | None) -> list[Path]:
    """Return the lists of releases to check the folder with; in its own installation, also the copy in the store."""
    parent = folder.resolve().parent
    settings = Settings.load()
    own = [settings.release_record] if parent == settings.released.resolve() else []
    beside = parent / RELEASES
    return [*own, *([asked] if asked else [beside] if own or beside.is_file() else [])]


def _say_what_is_known(manifest: Mapping[str, Any]) -> None:
    """Repeat whether anybody measured what was missed, and who approved the release."""
    measurement = manifest.get("measurement") or {}
    if not manifest.get("measured"):
        say(f"not measured: {measurement.get('reason') or 'the manifest does not say that anybody did.'}")
    else:
        say(
            f"measured on {measurement['annotated_notes']:,} annotated notes: {_covered(measurement):,} of "
            f"{measurement['gold_spans']:,} identifiers covered, at least {measurement['lower']:.4f} with 95 % confidence"
        )
    if approval := manifest.get("approval"):
        say(f"approved by {approval['by']} at {approval['at']}, who had read the page {approval['page'][:12]}")


def _covered(measurement: Mapping[str, Any]) -> int:
    """Return the covered identifiers; earlier versions called the field ``hidden``, and what is signed stays."""
    return int(measurement["covered" if "covered" in measurement else "hidden"])


def _own_key() -> Path:
    """Return the public key of this home.

    Raises:
        InputError: It has none: nothing was released here.
    """
    path = Settings.load().home / PUBLIC_KEY
    if not path.is_file():
        raise InputError(
            f"{path}: no public key here to check the signature with; name one with --public-key, "
            "or check no signature with --unsigned"
        )
    return path
