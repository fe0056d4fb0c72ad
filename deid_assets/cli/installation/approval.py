"""``deid approve``: approval of a release by somebody who has read the page on the batch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as Arg

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import JsonOption
from deid_assets.cli.endings import guard_command, say
from deid_assets.cli.tables import print_json
from deid_assets.config import Settings
from deid_assets.core.assets import MAIN, ReleaseAssets
from deid_assets.core.errors import InputError

if TYPE_CHECKING:
    from deid_assets.store.files import StoreFiles


@dataclass(frozen=True, slots=True)
class _Approved:
    """An approval, as it is told to who gave it.

    Args:
        batch: Of the release.
        by: Who approved.
        proof: How that is proved, in words.
        at: When.
        page: Digest of the page that was read.
    """

    batch: str
    by: str
    proof: str
    at: str
    page: str

    def to_json(self, study: str) -> dict[str, str]:
        """Return what JSON says; of a release of the installation without a study."""
        told = asdict(self)
        return {"batch": told.pop("batch"), **({"study": study} if study else {}), **told}

    def in_words(self, study: str) -> str:
        """Return a line for people."""
        of_study = f" of study {study}" if study else ""
        return (
            f"batch {self.batch}: release{of_study} approved by {self.by} ({self.proof}), who read"
            f" the page {self.page[:12]}; `deid run` makes it"
        )


@app.command()
@guard_command
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
    from deid_assets.store import approvals  # noqa: PLC0415
    from deid_assets.store.files import StoreFiles  # noqa: PLC0415

    settings = Settings.load()
    files = StoreFiles(settings.store, key=settings.receipt_key())
    digest = approvals.digest_of_page(page)
    batch, names = _batch_of(settings, files, digest, page=page)
    declared = settings.approvals.keys
    proof = approvals.Proof()
    if key:
        proof = approvals.proof_by_key(key, declared, by=by, batch=batch, page=digest)
    receipt = approvals.approve(
        files, batch, by=by, page=digest, proof=proof, declared=declared, names=names
    )
    made = _Approved(batch, by, approvals.proof_in_words(receipt), receipt.created_at, digest)
    if as_json:
        print_json(made.to_json(names.study))
        return 0
    say(made.in_words(names.study))
    whose = settings.of_study(names.study) if names.study in settings.studies else settings
    if not whose.release.approval:
        say("release.approval is off, so the release does not ask for it")
    return 0


def _batch_of(
    settings: Settings, files: StoreFiles, digest: str, *, page: Path
) -> tuple[str, ReleaseAssets]:
    """Return the batch whose present page has the digest, and whose release the page is on.

    Raises:
        InputError: It is the present page on no batch.
    """
    from deid_assets.store.approvals import PAGE  # noqa: PLC0415 - loads pyarrow

    for names in (MAIN, *map(ReleaseAssets, settings.studies)):
        for batch in files.batches(names.report):
            if files.receipt(names.report, batch).counts.get(PAGE) == digest:
                return batch, names
    raise InputError(
        f"{page}: not the present page on any batch; read the one under {settings.reports}"
    )
