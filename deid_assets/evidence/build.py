"""The evidence file of a release, built of its receipts."""

from __future__ import annotations

import deid_assets
from deid_assets.core.errors import InputError
from deid_assets.evidence.attacks import part_on_audit
from deid_assets.evidence.audits import audits_of
from deid_assets.evidence.detection import section_on_recall
from deid_assets.evidence.document import EvidenceFile, Regime
from deid_assets.evidence.judged import section_on_approvals, section_on_limits
from deid_assets.evidence.leaving_models import section_on_models
from deid_assets.evidence.leaving_tables import leaving_tables
from deid_assets.evidence.recall import recall_of_release
from deid_assets.evidence.released import (
    flow_of,
    policy_of,
    section_on_flow,
    section_on_means,
    section_on_release,
)
from deid_assets.evidence.requirements import (
    BesideNotes,
    find_missing_measures,
    list_required_audits,
    results_of,
)
from deid_assets.evidence.risk import section_on_risk
from deid_assets.evidence.verifying import check_approval, verify_evidence
from deid_assets.evidence.ways_back import vault_of
from deid_assets.evidence.wording import at
from deid_assets.intake.withdrawal import list_known_studies, releases_of
from deid_assets.runtime.installation import Installation
from deid_assets.store.receipts import check_batch


def build_evidence(
    batch: str, installation: Installation, *, regime: Regime, is_draft: bool = False
) -> EvidenceFile:
    """Return the evidence file of a release. It holds no note text.

    Args:
        batch: Whose release.
        installation: The installation, or a study's.
        regime: For whom it is written.
        is_draft: Whether it is asked for as a draft. What is missing is in the document either way.

    Raises:
        InputError: The batch has no release.
        ProvenanceError: A signature, digest or file does not hold, or the release is out of date.
    """
    release = verify_evidence(batch, installation)
    policy, approval = policy_of(release), check_approval(release)
    audits, known = audits_of(release), recall_of_release(release)
    beside = BesideNotes(audits, leaving_tables(release), vault_of(release))
    results = results_of(release, beside, approval)
    flow = flow_of(release)
    sections = [
        section_on_release(release, beside.tables),
        section_on_flow(release, flow, beside.vault),
        section_on_means(release),
        section_on_recall(release, known),
        section_on_risk(release, known, audits, beside.tables),
        section_on_models(release, audits, lambda one: part_on_audit(one, release)),
        section_on_approvals(release, approval),
        section_on_limits(release, known, beside, policy),
    ]
    return EvidenceFile(
        regime,
        release.name,
        at(release.checked_at),
        f"deid-assets {deid_assets.__version__}",
        results,
        sections,
        flow,
        release.book.entries,
        find_missing_measures(release, known, beside, list_required_audits(release, policy)),
        is_draft,
    )


def find_release(asked: str, installation: Installation) -> tuple[str, Installation]:
    """Return the batch of a release, and the installation as the release has it.

    Args:
        asked: Id of a batch, or the name of a release, which a study's has of its own.
        installation: The installation.

    Raises:
        InputError: There is no such release.
    """
    settings, files = installation.settings, installation.files
    if files.find(installation.names.released, check_batch(asked)) is not None:
        return asked, installation
    for study in list_known_studies(settings):
        if study not in installation.snapshot.studies:
            continue
        own = installation.of_study(study)
        releases = releases_of(settings, files, study)
        for batch in files.batches(own.names.released):
            if releases.name_of(batch) == asked:
                return batch, own
    raise InputError(
        f"{asked}: no release; give the id of a released batch, as `deid batches list` shows it, or"
        " the folder of a release"
    )
