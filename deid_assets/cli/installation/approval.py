"""``deid approve``: approval of a release by somebody who has read the page on the batch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guarded, say
from deid_assets.cli.tables import print_json
from deid_assets.config import Settings
from deid_assets.core.errors import InputError


@app.command()
@guarded
def approve(
    page: Arg[
        Path,
        typer.Argument(metavar="PAGE", help="The page that you read: reports/release-BATCH.html."),
    ],
    *,
    by: Arg[
        str, typer.Option(metavar="NAME", help="Who approves: a user name or an e-mail address.")
    ],
    key: Arg[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Your private key, Ed25519 in PEM: proves that it is you who approves.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Approve the release of a batch whose page you have read.

    The approval holds for this very page: it is void as soon as the batch is made again with
    another result. With --key it is signed by you; the settings name your public key in
    approvals.keys. Without, the manifest calls your name unverified.
    """
    # Imported late: the store loads pyarrow, which other commands do without.
    from deid_assets.store.approvals import (  # noqa: PLC0415
        PAGE,
        REPORT,
        Proof,
        digest_of_page,
        proof_by_key,
        proof_in_words,
    )
    from deid_assets.store.approvals import approve as sign_approval  # noqa: PLC0415
    from deid_assets.store.files import StoreFiles  # noqa: PLC0415

    settings = Settings.load()
    files = StoreFiles(settings.store, key=settings.receipt_key())
    digest = digest_of_page(page)
    batch = next(
        (
            one
            for one in files.batches(REPORT)
            if files.receipt(REPORT, one).counts.get(PAGE) == digest
        ),
        None,
    )
    if batch is None:
        raise InputError(
            f"{page}: not the present page on any batch; read the one under {settings.reports}"
        )
    declared = settings.approvals.keys
    proof = proof_by_key(key, declared, by=by, batch=batch, page=digest) if key else Proof()
    receipt = sign_approval(files, batch, by=by, page=digest, proof=proof, declared=declared)
    proved = proof_in_words(receipt)
    if as_json:
        print_json(
            {"batch": batch, "by": by, "proof": proved, "at": receipt.created_at, "page": digest}
        )
        return 0
    say(
        f"batch {batch}: release approved by {by} ({proved}), who read the page {digest[:12]};"
        " `make run` makes it"
    )
    if not settings.release.approval:
        say("release.approval is off, so the release does not ask for it")
    return 0
