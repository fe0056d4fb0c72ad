"""Audit before publish: an asset's checks are run on what it made, and only what passes is stored.

A failed blocking check in Dagster neither takes back data that was written nor stops another run.
So the checks run inside the asset, on the tables in memory; a failed one ends the step and nothing
is stored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from deid_assets.assets.declarations import AssetDeclaration, AssetOutput, Check, Make
from deid_assets.assets.display import Link, Markdown, in_words, show_lines
from deid_assets.assets.own import add_own_suite
from deid_assets.assets.records import record_run
from deid_assets.core import errors
from deid_assets.core.detector import is_interrupt
from deid_assets.defs.automation import eager_and_gated
from deid_assets.defs.columns import column_schema
from deid_assets.defs.guard import guard_step, log_line
from deid_assets.defs.placing import LANDING, Events, Place, place
from deid_assets.defs.resources import VaultResource
from deid_assets.defs.stopping import keep_stop, keeping_errors, why_stopped
from deid_assets.intake.consent import take_back_revoked
from deid_assets.own_plugins import message_of
from deid_assets.quality import Verdict
from deid_assets.runtime.installation import Installation
from deid_assets.runtime.processes import Stopped
from deid_assets.store.files import ALL, Receipt, UnsignedReceipt, inputs_of
from deid_assets.store.withdrawals import ARRIVAL, Withdrawals

Given = Callable[[dg.AssetExecutionContext], Mapping[str, Any]]
"""What the body of an asset is given beside its batch and the installation, by keyword."""


def build_audited_asset(
    make: Make,
    declaration: AssetDeclaration,
    *,
    upstream: Sequence[dg.AssetKey] = (),
    given: Given | None = None,
    condition: dg.AutomationCondition[Any] = eager_and_gated,
) -> dg.AssetsDefinition:
    """Return an asset that stores what ``make`` gives, if every blocking check passes.

    Args:
        make: The body.
        declaration: Of the asset.
        upstream: Assets of somebody else that it reads.
        given: What the body takes more; found under the guard, so that no text leaves by an error.
        condition: On which it is made by itself, if it is automatic.
    """
    make, declaration = add_own_suite(make, declaration)
    there = place()
    resource, vault = there.name("installation"), there.name("vault")

    @_declare(declaration, there, upstream, condition)
    def asset(context: dg.AssetExecutionContext) -> Events:
        installation: Installation = getattr(context.resources, resource)

        def body(*of: Any) -> AssetOutput:
            more = dict(given(context)) if given else {}
            if declaration.uses_vault:
                opened: VaultResource = getattr(context.resources, vault)
                more["vault"] = opened.open()
            output = make(*of, **more)
            for remark in output.remarks:
                log_line(context, f"{declaration.key}: {remark}")
            return output

        yield from there.execute(context, _events(body, declaration, context, installation))

    return asset


def _declare(
    declaration: AssetDeclaration,
    there: Place,
    upstream: Sequence[dg.AssetKey],
    condition: dg.AutomationCondition[Any],
) -> Callable[..., dg.AssetsDefinition]:
    """Return what makes an asset of a function, as the declaration says."""
    asset_key = there.key(declaration.key)
    partitions = there.batches if declaration.partitioned else None
    resources = ["installation", *(["vault"] if declaration.uses_vault else [])]
    checks = [
        dg.AssetCheckSpec(
            check.name,
            asset=asset_key,
            description=check.description,
            blocking=check.blocking,
            partitions_def=partitions,
        )
        for check in declaration.checks
    ]
    return dg.asset(
        key=asset_key,
        deps=[*upstream, *(there.key(dep) for dep in declaration.deps)],
        required_resource_keys={there.name(resource) for resource in resources},
        io_manager_key=there.name("io_manager"),
        partitions_def=partitions,
        check_specs=checks,
        # One run per batch: a run over a range of partitions leaves partitioned check rows planned
        # for ever.
        backfill_policy=None,
        automation_condition=condition if declaration.automatic else None,
        code_version=declaration.code_version,
        group_name=there.name(declaration.group),
        description=declaration.description,
        kinds=set(declaration.kinds),
        config_schema={},
        output_required=not declaration.may_wait,
        pool=declaration.pool or None,
        tags=dict(declaration.tags),
        metadata={
            "dagster/column_schema": column_schema(declaration.schema),
            **declaration.metadata,
        },
    )


def _events(
    make: Make,
    declaration: AssetDeclaration,
    context: dg.AssetExecutionContext,
    installation: Installation,
) -> Events:
    batch = context.partition_key if declaration.partitioned else ALL
    with guard_step(context, declaration.key, batch):
        made = _run_audited(make, declaration, batch, installation, run_id=context.run.run_id)
    yield from made.events
    if made.fault:
        raise dg.Failure(description=made.fault, allow_retries=False)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Events of an asset for Dagster, and why it was not stored, where it was not."""

    events: Sequence[Any]
    fault: str = ""


def _run_audited(
    make: Make,
    declaration: AssetDeclaration,
    batch: str,
    installation: Installation,
    *,
    run_id: str,
) -> _Outcome:
    started = datetime.now(UTC)
    if batch != ALL:
        # First: whatever stops the batch, and be it that the location was not loaded again.
        take_back_revoked(installation.settings, installation.files, [batch])
    installation.snapshot.check_promised()
    before = _receipts(declaration, batch, installation)
    with keeping_errors(
        installation,
        declaration.key,
        batch,
        unsigned=UnsignedReceipt(declaration.code_version, before),
    ):
        output = make(batch, installation)
    _check_unchanged(before, output.sources)
    verdicts = _answers(declaration.checks, output)
    results = [_result(check, verdicts[check.name]) for check in declaration.checks]
    unsigned = _receipt(output, declaration, verdicts)
    blocking = [verdicts[check.name] for check in declaration.checks if check.blocking]
    if failed := [verdict for verdict in blocking if verdict.failed]:
        tried = replace(unsigned, inputs=before)
        fault = _stop(declaration, batch, installation, failed, tried)
        return _Outcome(results, fault)
    installation.check_unchanged()
    if Withdrawals(installation.files).is_withdrawn(batch):
        raise errors.InputError(f"batch {batch} was withdrawn meanwhile; nothing was stored")
    receipt = installation.files.write(declaration.key, batch, output.tables, receipt=unsigned)
    _complete(output, receipt, installation, run_id=run_id, started=started)
    # Together: for automation, a partitioned check that was reported before its materialization has
    # not passed.
    made: dg.MaterializeResult[Any] = dg.MaterializeResult(
        data_version=dg.DataVersion(receipt.digest),
        metadata=_metadata(output, receipt),
        check_results=results,
    )
    return _Outcome([made])


def _stop(
    declaration: AssetDeclaration,
    batch: str,
    installation: Installation,
    failed: Sequence[Verdict],
    tried: UnsignedReceipt,
) -> str:
    """Keep why an asset was stopped; return it as a fault, or nothing where it waits for somebody.

    Args:
        declaration: Of the asset.
        batch: Its partition.
        installation: Opened.
        failed: Verdicts of its blocking checks.
        tried: What its receipt would have been.
    """
    reasons = why_stopped(failed)
    waits = declaration.may_wait and all(verdict.waits for verdict in failed)
    keep_stop(installation, declaration.key, batch, reasons, unsigned=tried, waits=waits)
    if waits:
        return ""
    said = "\n".join(reasons)
    return f"{declaration.key}, batch {batch}: not stored, because a check failed: {said}"


def _complete(
    output: AssetOutput,
    receipt: Receipt,
    installation: Installation,
    *,
    run_id: str,
    started: datetime,
) -> None:
    """Do what follows the storing of the tables.

    Dagster learns nothing of it yet, so a next run does it again.

    Raises:
        UnfinishedError: One step failed; the message says what is there and what is not.
    """
    left = "the tables are stored and " + (
        "nothing was released" if output.release else "not all was recorded"
    )
    try:
        if output.publish:
            output.publish(receipt)
        record_run(installation, receipt, dagster_run_id=run_id, started=started)
        left = "the release was begun, and the next run completes it or takes it back"
        if output.release:
            output.release(receipt)
    except BaseException as error:  # only the class of a foreign error is safe to show
        if isinstance(error, Stopped) or is_interrupt(error):
            raise
        message = message_of(error) or errors.class_name(error)
        raise errors.UnfinishedError(f"{message}; {left}; run it again") from None


def _receipts(
    declaration: AssetDeclaration, batch: str, installation: Installation
) -> dict[str, str]:
    """Return ``asset@batch`` to receipt digest of what the asset reads, where it is there."""
    assets = [ARRIVAL if dep == LANDING else dep for dep in declaration.deps]
    found = (
        installation.files.find(asset, batch) or installation.files.find(asset, ALL)
        for asset in assets
    )
    return inputs_of(receipt for receipt in found if receipt)


def _check_unchanged(before: Mapping[str, str], sources: Sequence[Receipt]) -> None:
    """Check that no other run replaced an input meanwhile.

    The receipt would name what was not read.

    Raises:
        ProvenanceError: One was.
    """
    for source in sources:
        if before.get(source.name, source.digest) != source.digest:
            raise errors.ProvenanceError(
                f"{source.name} was made again while it was being read; materialize this again"
            )


def _result(check: Check, verdict: Verdict) -> dg.AssetCheckResult:
    """Return a verdict as Dagster shows it.

    What is not applicable, and what waits for somebody, is a warning, which is not green and stops
    no run.
    """
    is_fault = check.blocking and verdict.failed and not verdict.waits
    return dg.AssetCheckResult(
        check_name=check.name,
        passed=verdict.passed,
        severity=dg.AssetCheckSeverity.ERROR if is_fault else dg.AssetCheckSeverity.WARN,
        metadata={
            "verdict": verdict.state.value,
            **verdict.counts,
            **({"reasons": _show(show_lines(verdict.reasons))} if verdict.reasons else {}),
        },
        description=" ".join(filter(None, [verdict.description, in_words(verdict.bounds)])),
    )


def _answers(checks: Sequence[Check], output: AssetOutput) -> dict[str, Verdict]:
    """Return a verdict for every declared check; one without an answer has failed.

    Raises:
        DeidError: A verdict is given twice, or answers no declared check: a failed one would go
            unseen.
    """
    given = {verdict.name: verdict for verdict in output.verdicts}
    if len(given) < len(output.verdicts) or not given.keys() <= {check.name for check in checks}:
        raise errors.DeidError(
            f"verdicts {', '.join(sorted(given))}: declare each as a check, and answer it once"
        )
    return {check.name: given.get(check.name) or _not_evaluated(check) for check in checks}


def _not_evaluated(check: Check) -> Verdict:
    return Verdict(
        check.name,
        passed=False,
        blocking=True,
        counts={"not_evaluated": 1},
        description="Not evaluated.",
    )


def _receipt(
    output: AssetOutput, declaration: AssetDeclaration, verdicts: Mapping[str, Verdict]
) -> UnsignedReceipt:
    return UnsignedReceipt(
        code_version=declaration.code_version,
        inputs=inputs_of(output.sources),
        verdicts={
            check.name: {
                "passed": verdicts[check.name].passed,
                "blocking": check.blocking,
                "applicable": verdicts[check.name].applicable,
                "counts": verdicts[check.name].counts,
            }
            for check in declaration.checks
        },
        counts=output.counts,
    )


def _metadata(output: AssetOutput, receipt: Receipt) -> dict[str, Any]:
    main = next(iter(output.tables.values()), None)
    rows = {"dagster/row_count": main.num_rows} if main is not None else {}
    shown = {name: _show(value) for name, value in output.metadata.items()}
    # First, so that a report, with its plots, is one click away: Dagster shows no plot without one
    # either.
    links = {name: value for name, value in shown.items() if isinstance(value, dg.UrlMetadataValue)}
    return {**links, **rows, **output.counts, **shown, "receipt": receipt.digest}


def _show(value: Any) -> Any:
    """Return a value of ``AssetOutput.metadata`` as Dagster shows it."""
    if isinstance(value, Markdown):
        return dg.MetadataValue.md(value)
    if isinstance(value, Link):
        return dg.MetadataValue.url(value)
    return dg.MetadataValue.timestamp(value) if isinstance(value, datetime) else value
