"""``deid verify``: whether a release is what was signed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app, guarded, say
from deid_assets.cli.redaction import secret_of_environment
from deid_assets.core.keys import Key
from deid_assets.store.manifests import verify_release


@app.command()
@guarded
def verify(
    folder: Arg[Path, typer.Argument(help="Folder of one released batch.", show_default=False)],
    *,
    as_json: Arg[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> int:
    """Check a release against its manifest, and the manifest's signature where DEID_KEY is set."""
    secret = secret_of_environment()
    manifest = verify_release(folder, key=None if secret is None else Key(secret))
    if as_json:
        typer.echo(json.dumps({**manifest, "signature_checked": secret is not None}, indent=1))
    else:
        counts = manifest.get("counts", {})
        say(
            f"{folder}: as released; batch {manifest.get('batch')}, {counts.get('notes')} notes, "
            f"policy {manifest.get('policy', {}).get('name')}, made {manifest.get('created_at')}"
        )
    if secret is None:
        say("the signature was not checked: set DEID_KEY to the key that the release was made with")
    return 0
