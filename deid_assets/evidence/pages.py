"""Evidence files of all releases, as pages in the folder of the reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from deid_assets.assets.released_tables import batches_out
from deid_assets.core.errors import DeidError
from deid_assets.evidence.build import build_evidence
from deid_assets.evidence.document import Regime
from deid_assets.evidence.page import evidence_html
from deid_assets.runtime.installation import Installation
from deid_assets.system.atomic import atomic_file


@dataclass(frozen=True, slots=True)
class WrittenEvidence:
    """What became of the evidence on one release.

    Args:
        release: Its name.
        verdict: In a word or two; empty where none was written.
        missing: Measures that are missing, for which the pages are drafts.
        pages: Where they lie.
        fault: Why none was written; empty where they were.
    """

    release: str
    verdict: str = ""
    missing: int = 0
    pages: tuple[Path, ...] = ()
    fault: str = ""


def write_evidence_pages(installation: Installation) -> Iterator[WrittenEvidence]:
    """Write a page a regime on each release that is out, of studies too, and yield what became of
    each. One with missing measures is a draft. The earlier pages are removed first, so that none
    is left of a release that does not hold, or was taken back.

    Raises:
        ProvenanceError: A list of releases was altered.
    """
    for regime in Regime:
        for path in installation.settings.reports.glob(f"evidence-*-{regime.value}.html"):
            path.unlink()
    studies = (installation.of_study(name) for name in installation.snapshot.studies)
    for own in (installation, *studies):
        for batch in batches_out(own):
            yield _write_evidence(batch, own)


def _write_evidence(batch: str, installation: Installation) -> WrittenEvidence:
    name = installation.releases.name_of(batch)
    folder = installation.settings.reports
    pages = {regime: folder / f"evidence-{name}-{regime.value}.html" for regime in Regime}
    try:
        document = build_evidence(batch, installation, regime=Regime.HIPAA)
    except DeidError as error:
        return WrittenEvidence(name, fault=str(error))
    folder.mkdir(parents=True, exist_ok=True)
    for regime, path in pages.items():
        told = replace(document, regime=regime, is_draft=bool(document.missing))
        with atomic_file(path) as file:
            file.write(evidence_html(told).encode())
    return WrittenEvidence(
        name, document.verdict.value, len(document.missing), tuple(pages.values())
    )
