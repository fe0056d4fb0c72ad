"""``deid batches``: arrivals, their state, and actions on them."""

from __future__ import annotations

from typing import Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.arguments import FormatOption, JsonOption, LabelsOption, LangOption, ReadOption
from deid_assets.cli.endings import guard_command
from deid_assets.cli.plugged import CommandGroup

batches_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Batches of notes: what arrived, and what became of it.",
)
app.add_typer(batches_app, name="batches")

BatchArg = Annotated[
    str, typer.Argument(metavar="BATCH", help="Id of a batch, as deid batches list shows it.")
]


@batches_app.command("list")
@guard_command
def list_batches(*, as_json: JsonOption = False) -> int:
    """List the batches.

    With what became of each, and why it was stopped. No name of a file is shown: it may name a
    patient.
    """
    from deid_assets.cli.installation import batch_actions  # noqa: PLC0415 - loads the store

    return batch_actions.list_batches(as_json=as_json)


@batches_app.command()
@guard_command
def show(batch: BatchArg, *, as_json: JsonOption = False) -> int:
    """Show a batch with its files and faults.

    Names of files are shown, which may name patients. Its files are read once more; nothing is
    written.
    """
    from deid_assets.cli.installation import batch_actions  # noqa: PLC0415 - loads the store

    return batch_actions.show(batch, as_json=as_json)


@batches_app.command("withdraw")
@guard_command
def withdraw_batch(
    batch: BatchArg,
    *,
    with_release: Annotated[
        bool,
        typer.Option("--with-release", help="Also delete the released notes and their reports."),
    ] = False,
) -> int:
    """Take a batch out.

    What was made of it is erased, and it is worked on no more. Its files stay in the restricted
    zone, so that deid batches retry brings it back.
    """
    from deid_assets.cli.installation import batch_actions  # noqa: PLC0415 - loads the store

    return batch_actions.withdraw_batch(batch, with_release=with_release)


@batches_app.command()
@guard_command
def retry(
    batch: BatchArg,
    *,
    format_name: FormatOption = None,
    labels: LabelsOption = None,
    lang: LangOption = None,
    sender: Annotated[str | None, typer.Option(metavar="WORD", help="Sender of the files.")] = None,
    read: ReadOption = None,
) -> int:
    """Try a batch again.

    The next deid run, or the landing sensor, reads it again, as the options say; they are kept with
    it, signed.
    """
    from deid_assets.cli.installation import batch_actions  # noqa: PLC0415 - loads the store

    return batch_actions.retry(
        batch, format_name=format_name, labels=labels, lang=lang, sender=sender, read=read
    )
