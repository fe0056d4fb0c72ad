"""Audit before publish: an asset's checks are run on what it made, and only what passes is stored.

A failed blocking check in Dagster neither takes back data that was written nor stops another run. So the checks
run inside the asset, on the tables in memory; a failed one ends the step and nothing is stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from deid_assets.core import errors
from deid_assets.core.detector import is_interrupt
from deid_assets.defs.automation import eager_and_gated
from deid_assets.defs.columns import column_schema
from deid_assets.defs.display import show_lines
from deid_assets.defs.drafts import Check, Draft, Make, Plan
from deid_assets.defs.guard import guarded
from deid_assets.defs.own import with_own_suite
from deid_assets.defs.partitions import batches
from deid_assets.defs.records import record_run
from deid_assets.defs.stopping import keep_stop, keeping_errors, why_stopped
from deid_assets.intake.arrivals import ARRIVAL
from deid_assets.quality import Verdict
from deid_assets.store.files import ALL, Receipt, ReceiptDraft, inputs_of
from deid_resources.corpus import Corpus
from deid_resources.processes import Stopped
from deid_resources.vault import VaultDoor

LANDING = "landing"
"""The one dependency that is no asset of ours, and so has no receipt."""

OWNERS = ["team:deid-assets"]


def audited_asset(make: Make, plan: Plan) -> dg.AssetsDefinition:
    """Return an asset that stores what ``make`` gives, if every blocking check passes."""
    make, plan = with_own_suite(make, plan)
    partitions = batches if plan.partitioned else None
    asset_key = dg.AssetKey(plan.key.split("/"))

    define = dg.asset(
        key=asset_key,
        deps=[dg.AssetKey(dep.split("/")) for dep in plan.deps],
        partitions_def=partitions,
        check_specs=[
            dg.AssetCheckSpec(
                check.name,
                asset=asset_key,
                description=check.description,
                blocking=check.blocking,
                partitions_def=partitions,
            )
            for check in plan.checks
        ],
        # One run per batch: a run over a range of partitions leaves partitioned check rows planned for ever.
        backfill_policy=None,
        automation_condition=eager_and_gated if plan.automatic else None,
        code_version=plan.code_version,
        group_name=plan.group,
        owners=OWNERS,
        description=plan.description,
        kinds=set(plan.kinds),
        config_schema={},
        tags=dict(plan.tags),
        metadata={"dagster/column_schema": column_schema(plan.schema), **plan.metadata},
    )
    if plan.uses_vault:

        @define
        def with_vault(
            context: dg.AssetExecutionContext, corpus: dg.ResourceParam[Corpus], vault: dg.ResourceParam[VaultDoor]
        ) -> Iterator[Any]:
            yield from _events(lambda *of: make(*of, vault=vault.open()), plan, context, corpus)

        return with_vault

    @define
    def asset(context: dg.AssetExecutionContext, corpus: dg.ResourceParam[Corpus]) -> Iterator[Any]:
        yield from _events(make, plan, context, corpus)

    return asset


def _events(make: Make, plan: Plan, context: dg.AssetExecutionContext, corpus: Corpus) -> Iterator[Any]:
    batch = context.partition_key if plan.partitioned else ALL
    with guarded(context, plan.key, batch):
        made = _audited(make, plan, batch, corpus, run_id=context.run.run_id)
    yield from made.events
    if made.fault:
        raise dg.Failure(description=made.fault, allow_retries=False)


@dataclass(frozen=True, slots=True)
class _Made:
    """What Dagster is told of an asset, and why it was not stored, where it was not."""

    events: Sequence[Any]
    fault: str = ""


def _audited(make: Make, plan: Plan, batch: str, corpus: Corpus, *, run_id: str) -> _Made:
    started = datetime.now(UTC)
    corpus.snapshot.check_promised()
    before = _receipts(plan, batch, corpus)
    with keeping_errors(corpus, plan.key, batch, draft=ReceiptDraft(plan.code_version, before)):
        draft = make(batch, corpus)
    _check_unchanged(before, draft.sources)
    verdicts = _answers(plan.checks, draft)
    results = [_result(check, verdicts[check.name]) for check in plan.checks]
    failed = [verdicts[check.name] for check in plan.checks if check.blocking and verdicts[check.name].failed]
    if failed:
        reasons = why_stopped(failed)
        tried = replace(_receipt(draft, plan, verdicts), inputs=before)
        keep_stop(corpus, plan.key, batch, reasons, draft=tried)
        said = "\n".join(reasons)
        return _Made(results, f"{plan.key}, batch {batch}: not stored, because a check failed: {said}")
    corpus.check_unchanged()
    receipt = corpus.files.write(plan.key, batch, draft.tables, receipt=_receipt(draft, plan, verdicts))
    _complete(draft, receipt, corpus, run_id=run_id, started=started)
    # Together: for automation, a partitioned check that was reported before its materialization has not passed.
    made: dg.MaterializeResult[Any] = dg.MaterializeResult(
        data_version=dg.DataVersion(receipt.digest), metadata=_metadata(draft, receipt), check_results=results
    )
    return _Made([made])


def _complete(draft: Draft, receipt: Receipt, corpus: Corpus, *, run_id: str, started: datetime) -> None:
    """Do what follows the storing of the tables; Dagster is told nothing of it yet, so a next run does it again.

    Raises:
        UnfinishedError: One step failed; the message says what is there and what is not.
    """
    left = "the tables are stored and " + ("nothing was released" if draft.release else "not all was recorded")
    try:
        if draft.publish:
            draft.publish(receipt)
        record_run(corpus, receipt, dagster_run_id=run_id, started=started)
        left = "the release was begun, and the next run completes it or takes it back"
        if draft.release:
            draft.release(receipt)
    except BaseException as error:  # only the class of a foreign error is safe to show
        if isinstance(error, Stopped) or is_interrupt(error):
            raise
        told = str(error) if isinstance(error, errors.DeidError) else errors.class_name(error)
        raise errors.UnfinishedError(f"{told}; {left}; run it again") from None


def _receipts(plan: Plan, batch: str, corpus: Corpus) -> dict[str, str]:
    """Return ``asset@batch`` to receipt digest of what the asset reads, where it is there."""
    assets = [ARRIVAL if dep == LANDING else dep for dep in plan.deps]
    found = (corpus.files.find(asset, batch) or corpus.files.find(asset, ALL) for asset in assets)
    return inputs_of(receipt for receipt in found if receipt)


def _check_unchanged(before: Mapping[str, str], sources: Sequence[Receipt]) -> None:
    """Check that no other run replaced an input meanwhile: the receipt would name what was not read.

    Raises:
        ProvenanceError: One was.
    """
    for source in sources:
        if before.get(source.name, source.digest) != source.digest:
            raise errors.ProvenanceError(
                f"{source.name} was made again while it was being read; materialize this again"
            )


def _result(check: Check, verdict: Verdict) -> dg.AssetCheckResult:
    """Return a verdict as Dagster shows it: what is not applicable is a warning, which is not green and stops nothing."""
    return dg.AssetCheckResult(
        check_name=check.name,
        passed=verdict.passed,
        severity=dg.AssetCheckSeverity.ERROR if check.blocking and verdict.failed else dg.AssetCheckSeverity.WARN,
        metadata={
            "verdict": verdict.state.value,
            **verdict.counts,
            **({"reasons": show_lines(verdict.reasons)} if verdict.reasons else {}),
        },
        description=verdict.description,
    )


def _answers(checks: Sequence[Check], draft: Draft) -> dict[str, Verdict]:
    """Return a verdict for every declared check; one without an answer has failed.

    Raises:
        DeidError: A verdict is given twice, or answers no declared check: a failed one would go unseen.
    """
    given = {verdict.name: verdict for verdict in draft.verdicts}
    if len(given) < len(draft.verdicts) or not given.keys() <= {check.name for check in checks}:
        raise errors.DeidError(f"verdicts {', '.join(sorted(given))}: declare each as a check, and answer it once")
    return {
        check.name: given.get(check.name)
        or Verdict(check.name, passed=False, blocking=True, counts={"not_evaluated": 1}, description="Not evaluated.")
        for check in checks
    }


def _receipt(draft: Draft, plan: Plan, verdicts: Mapping[str, Verdict]) -> ReceiptDraft:
    return ReceiptDraft(
        code_version=plan.code_version,
        inputs=inputs_of(draft.sources),
        verdicts={
            check.name: {
                "passed": verdicts[check.name].passed,
                "blocking": check.blocking,
                "applicable": verdicts[check.name].applicable,
                "counts": verdicts[check.name].counts,
            }
            for check in plan.checks
        },
        counts=draft.counts,
    )


def _metadata(draft: Draft, receipt: Receipt) -> dict[str, Any]:
    main = next(iter(draft.tables.values()), None)
    rows = {"dagster/row_count": main.num_rows} if main is not None else {}
    return {**rows, **draft.counts, **draft.metadata, "receipt": receipt.digest}
