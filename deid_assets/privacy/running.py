"""Audits by name: loaded like detectors, run so that one that breaks hides none of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deid_assets.core.detector import is_interrupt
from deid_assets.core.errors import PluginError, class_name
from deid_assets.own_plugins import message_of
from deid_assets.plugins import AUDITS, Plugin, available, build
from deid_assets.privacy.audit import Audit, Estimated, Material, Need, not_assessed
from deid_assets.privacy.result import AuditResult, Outcome

UNKNOWN = "What it cannot see is not known, for it gave no answer."
MEANING = {
    Need.GOLD: "notes whose identifiers are marked",
    Need.PREDICTIONS: "spans of a detector, which annotations are not (--spans)",
    Need.POLICIES: "a policy",
    Need.MODEL: "a model",
    Need.REFERENCE: "a reference model",
    Need.TRAINING: "the notes that the model was trained on",
    Need.HELD_OUT: "notes that it was not trained on",
    Need.CALIBRATION: "notes for calibration",
    Need.CANARIES: "the list of planted secrets",
    Need.POPULATION: "a population",
}


def find_installed_audits() -> dict[str, Plugin]:
    """Return every installed audit by name, without importing one; a broken one has a fault."""
    return available(AUDITS)


def load_audit(name: str, options: Mapping[str, Any] | None = None) -> Audit:
    """Return an audit, built with keyword options.

    Raises:
        PluginError: As for ``deid_assets.plugins.load``.
    """
    audit = build(name, AUDITS, "audit", options or {})
    if not isinstance(audit, Audit) or audit.name != name:
        raise PluginError(f"audit {name!r}: what its plugin gives is not an audit of that name")
    return audit


def run_audit(audit: Audit, material: Material) -> AuditResult:
    """Return the result of an audit; what stops it is the reason of one that says *not assessed*.

    Of an error that this project's code did not raise, only the class is told: its text may quote a
    note.
    """
    if missing := [
        MEANING[need] for need in Need if need in audit.needs and not material.has(need)
    ]:
        return not_assessed(audit, f"it needs {', '.join(missing)}")
    try:
        result = audit.run(material)
    except BaseException as error:
        if is_interrupt(error):
            raise
        if message := message_of(error):
            return not_assessed(audit, " ".join(message.split()))
        return not_assessed(audit, f"the audit broke ({class_name(error)})")
    if not isinstance(result, AuditResult) or result.audit != audit.name:
        return not_assessed(audit, "the audit gave something that is not its result")
    return result


def run_named(
    name: str, material: Material, options: Mapping[str, Any] | None = None
) -> AuditResult:
    """Return the result of an audit by name.

    One that does not load is not assessed, and says why.
    """
    try:
        audit = load_audit(name, options)
    except PluginError as error:
        return report_aborted(name, str(error))
    return run_audit(audit, material)


def estimate_seconds(
    name: str, material: Material, options: Mapping[str, Any] | None = None
) -> float | None:
    """Return how long an audit will take.

    ``None`` where it does not tell, or will not be assessed.
    """
    try:
        audit = load_audit(name, options)
        if not isinstance(audit, Estimated) or any(not material.has(need) for need in audit.needs):
            return None
        return audit.seconds(material)
    except BaseException as error:
        if is_interrupt(error):
            raise
        return None  # the audit itself will say why


def report_aborted(name: str, reason: str) -> AuditResult:
    """Return the result of an audit that does not load, or that ended its process."""
    return AuditResult(
        audit=name,
        version="0",
        title=name,
        outcome=Outcome.NOT_ASSESSED,
        reason=reason,
        blind_spots=(UNKNOWN,),
    )


def not_run(name: str) -> AuditResult:
    """Return the result of an installed audit that was not run."""
    try:
        return not_assessed(load_audit(name), "it was not run")
    except PluginError as error:
        return report_aborted(name, str(error))
