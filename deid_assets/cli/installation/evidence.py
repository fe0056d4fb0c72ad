"""``deid evidence``: one document on a release for an expert determination or a DPIA."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid_assets.cli.app import app
from deid_assets.cli.endings import PARTIAL, guard_command, say
from deid_assets.core.errors import InputError

if TYPE_CHECKING:
    from deid_assets.evidence.document import EvidenceFile

_REGIMES = ("hipaa", "dpia")
_SUFFIXES = (".html", ".pdf")


@app.command("evidence")
@guard_command
def evidence(
    release: Annotated[
        str,
        typer.Argument(
            metavar="RELEASE", help="Id of a released batch, or the folder of a release."
        ),
    ],
    *,
    out: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Where to write: .html or .pdf; several times for both."),
    ],
    regime: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="|".join(_REGIMES),
            help="An expert determination (hipaa), or an impact assessment under the GDPR (dpia).",
        ),
    ] = "hipaa",
    draft: Annotated[
        bool,
        typer.Option(
            "--draft", help="Write it although measures are missing, marked and with the gaps."
        ),
    ] = False,
) -> int:
    """Write the evidence on a release: each sentence names the signed receipt it follows from.

    All signatures and digests are checked again. Where a measure is missing, or is of something
    else by now, nothing is written and each gap is a line with the command that fills it; --draft
    writes it all the same. The exit code is 1 there, and where something that was measured failed.
    """
    _check_options(out, regime)
    document = _build(release, regime, is_draft=draft)
    for gap in document.missing:
        say(str(gap))
    if document.missing and not draft:
        say("nothing was written; --draft writes a draft with these gaps")
        return PARTIAL
    _write(out, document)
    say(f"{document.release}: {document.verdict.value}")
    for path in out:
        say(f"written: {path}")
    is_bad = bool(document.missing) or document.verdict.value == "failed"
    return PARTIAL if is_bad else 0


def _check_options(out: list[Path], regime: str) -> None:
    if regime not in _REGIMES:
        raise InputError(f"--for {regime}: choose one of {', '.join(_REGIMES)}")
    for path in out:
        if path.suffix not in _SUFFIXES:
            raise InputError(f"{path}: name a file that ends with {' or '.join(_SUFFIXES)}")
    if any(path.suffix == ".pdf" for path in out):
        from deid_assets.evidence.pdf import browser  # noqa: PLC0415 - needed for a PDF alone

        browser()  # raises where there is none, before the work


def _build(release: str, regime: str, *, is_draft: bool) -> EvidenceFile:
    from deid_assets.cli.installation.batch_actions import (  # noqa: PLC0415 - loads the store
        installation_here,
    )
    from deid_assets.evidence.build import build_evidence, find_release  # noqa: PLC0415
    from deid_assets.evidence.document import Regime  # noqa: PLC0415
    from deid_assets.runtime.installation import Installation  # noqa: PLC0415

    settings, _ = installation_here()
    name = Path(release).resolve().name if Path(release).is_dir() else release
    batch, installation = find_release(name, Installation(settings))
    return build_evidence(batch, installation, regime=Regime(regime), is_draft=is_draft)


def _write(out: list[Path], document: EvidenceFile) -> None:
    from deid_assets.evidence.page import evidence_html  # noqa: PLC0415 - loads the templates
    from deid_assets.evidence.pdf import pdf_of  # noqa: PLC0415
    from deid_assets.system.atomic import atomic_file  # noqa: PLC0415

    html = evidence_html(document)
    contents = {path: pdf_of(html) if path.suffix == ".pdf" else html.encode() for path in out}
    for path, content in contents.items():
        with atomic_file(path) as file:
            file.write(content)
