"""``deid metrics``: numbers of an installation for Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.endings import guard_command


@app.command()
@guard_command
def metrics(
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write them to this file, whole or not at all, as the textfile collector wants.",
        ),
    ] = None,
) -> int:
    """Print numbers of the installation in the text format of Prometheus.

    Batches and notes by state, late releases, time by asset, drift. No text, no name of a batch.
    """
    from deid_assets.assets.metering import metrics_of  # noqa: PLC0415 - loads the store
    from deid_assets.cli.installation.batch_actions import installation_here  # noqa: PLC0415
    from deid_assets.operation.metrics import exposition  # noqa: PLC0415
    from deid_assets.system.atomic import atomic_file  # noqa: PLC0415

    text = exposition(metrics_of(*installation_here()))
    if out is None:
        typer.echo(text, nl=False)
        return 0
    with atomic_file(out) as file:
        file.write(text.encode())
    out.chmod(0o644)  # the collector runs as another user
    return 0
