"""evidence_files: the evidence on every release, as pages in the folder of the reports."""

import dagster as dg

from deid_assets.core.errors import ProvenanceError
from deid_assets.defs.guard import guard_step, log_line
from deid_assets.defs.jobs import step_job
from deid_assets.runtime.installation import Installation
from deid_assets.store.files import ALL


def evidence_job() -> dg.JobDefinition:
    """Return the job that writes the evidence on each release that is out."""
    return step_job(
        "evidence_files",
        "write_evidence",
        _write,
        description=(
            "Write the evidence on each release, as `deid evidence` does, into the folder of the"
            " reports: a draft where a measure is missing. Run `privacy_audits` before it."
        ),
        step_description="Checks every release again and writes its pages.",
    )


def _write(context: dg.OpExecutionContext, installation: Installation) -> None:
    """Write the pages of all releases; the step fails where a release does not hold."""
    from deid_assets.evidence.pages import write_evidence_pages  # noqa: PLC0415 - at work alone

    with guard_step(context, "evidence", ALL):
        faults = []
        for one in write_evidence_pages(installation):
            told = one.fault or f"{one.verdict}, {one.missing} measures missing"
            log_line(context, f"{one.release}: {told}")
            faults += [f"{one.release}: {one.fault}"] if one.fault else []
        if faults:
            raise ProvenanceError(
                f"evidence on {len(faults)} releases was not written: {'; '.join(faults)}"
            )
