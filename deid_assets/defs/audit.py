"""Audit before publish: an asset's checks are run on what it made, and only what passes is stored.

A failed blocking check in Dagster neither takes back data that was written nor stops another run. So the checks
run inside the asset, on the tables in memory; a failed one ends the step and nothing is stored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import pyarrow as pa

from deid_assets.core import errors
from deid_assets.defs.automation import eager_and_gated
from deid_assets.defs.partitions import batches
from deid_assets.defs.records import record_run
from deid_assets.quality import Verdict
from deid_assets.quality.contracts import Contract
from deid_assets.store.files import ALL, Receipt, ReceiptDraft, inputs_of
from deid_resources.corpus import Corpus, CorpusResource

OWNERS = ["team:deid-assets"]


@dataclass(frozen=True, slots=True)
class Check:
    """A data-quality check that an asset declares and its body must answer with a ``Verdict`` of that name."""

    name: str
    description: str
    blocking: bool = True


def checks_of(contract: Contract, *, without: Sequence[str] = ()) -> list[Check]:
    """Return a contract's expectations as checks."""
    return [
        Check(expectation.name, expectation.description, expectation.blocking)
        for expectation in contract.expectations
        if expectation.name not in without
    ]


@dataclass(frozen=True, slots=True)
class Draft:
    """What an asset made, before it is judged and stored.

    Args:
        tables: Table name to table.
        sources: Receipts of what it was made from.
        verdicts: One for each declared check.
        counts: Numbers for the receipt and the UI.
        metadata: More for the UI: tables of counts and plots. Never text from notes.
        publish: Called with the receipt after the tables are stored, for copies of the result elsewhere.
    """

    tables: Mapping[str, pa.Table]
    sources: Sequence[Receipt]
    verdicts: Sequence[Verdict] = ()
    counts: Mapping[str, int | float | str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    publish: Callable[[Receipt], None] | None = None


Make = Callable[[str, Corpus], Draft]
"""The body of an asset: batch id and opened installation to what was made."""


def audited_asset(
    make: Make,
    *,
    key: str,
    checks: Sequence[Check],
    deps: Sequence[str],
    code_version: str,
    group: str,
    description: str,
    kinds: set[str],
    schema: pa.Schema,
    partitioned: bool = True,
    automatic: bool = True,
    tags: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> dg.AssetsDefinition:
    """Return an asset that stores what ``make`` gives, if every blocking check passes.

    Args:
        make: Body of the asset.
        key: Slash path; also the path in the store.
        checks: Each must be answered; a missing verdict is a failed one.
        deps: Slash paths of the assets it reads.
        code_version: Changes whenever the output may change.
        group: Group in the Dagster UI.
        description: Markdown for the UI.
        kinds: At most three.
        schema: Columns of its main table.
        partitioned: By batch; otherwise one partition, ``all``.
        automatic: Made by itself when its inputs change, once the automation sensor is switched on.
        tags: More tags.
        metadata: More definition metadata.
    """
    partitions = batches if partitioned else None
    asset_key = dg.AssetKey(key.split("/"))

    @dg.asset(
        key=asset_key,
        deps=[dg.AssetKey(dep.split("/")) for dep in deps],
        partitions_def=partitions,
        check_specs=[
            dg.AssetCheckSpec(
                check.name,
                asset=asset_key,
                description=check.description,
                blocking=check.blocking,
                partitions_def=partitions,
            )
            for check in checks
        ],
        # One run per batch: a run over a range of partitions leaves partitioned check rows planned for ever.
        backfill_policy=None,
        automation_condition=eager_and_gated if automatic else None,
        code_version=code_version,
        group_name=group,
        owners=OWNERS,
        description=description,
        kinds=kinds,
        tags=dict(tags or {}),
        metadata={"dagster/column_schema": column_schema(schema), **(metadata or {})},
    )
    def asset(context: dg.AssetExecutionContext, corpus: CorpusResource) -> Iterator[Any]:
        batch = context.partition_key if partitioned else ALL
        try:
            yield from _audited(make, checks, key, batch, corpus.open(), code_version=code_version, run_id=context.run_id)
        except dg.Failure:
            raise
        except Exception as error:  # noqa: BLE001 - only the class of a foreign error is safe to show
            raise dg.Failure(description=safe_message(error, key, batch), allow_retries=False) from None

    return asset


def _audited(
    make: Make, checks: Sequence[Check], key: str, batch: str, corpus: Corpus, *, code_version: str, run_id: str
) -> Iterator[Any]:
    started = datetime.now(UTC)
    draft = make(batch, corpus)
    verdicts = {verdict.name: verdict for verdict in draft.verdicts}
    failed = []
    for check in checks:
        verdict = verdicts.get(check.name) or Verdict(check.name, False, check.blocking, {"not_evaluated": 1}, "")
        yield dg.AssetCheckResult(
            check_name=check.name,
            passed=verdict.passed,
            severity=dg.AssetCheckSeverity.ERROR if check.blocking else dg.AssetCheckSeverity.WARN,
            metadata=dict(verdict.counts),
            description=verdict.description,
        )
        if check.blocking and not verdict.passed:
            failed.append(check.name)
    if failed:
        raise dg.Failure(
            description=f"{key}, batch {batch}: not stored, failed {', '.join(failed)}; see the checks' counts",
            allow_retries=False,
        )
    receipt = corpus.files.write(key, batch, draft.tables, receipt=_receipt(draft, checks, verdicts, code_version))
    if draft.publish:
        draft.publish(receipt)
    record_run(corpus, receipt, dagster_run_id=run_id, started=started)
    yield dg.MaterializeResult(data_version=dg.DataVersion(receipt.digest), metadata=_metadata(draft, receipt))


def _receipt(
    draft: Draft, checks: Sequence[Check], verdicts: Mapping[str, Verdict], code_version: str
) -> ReceiptDraft:
    return ReceiptDraft(
        code_version=code_version,
        inputs=inputs_of(draft.sources),
        verdicts={
            check.name: {
                "passed": verdicts[check.name].passed,
                "blocking": check.blocking,
                "counts": verdicts[check.name].counts,
            }
            for check in checks
            if check.name in verdicts
        },
        counts=draft.counts,
    )


def _metadata(draft: Draft, receipt: Receipt) -> dict[str, Any]:
    main = next(iter(draft.tables.values()), None)
    rows = {"dagster/row_count": main.num_rows} if main is not None else {}
    return {**rows, **draft.counts, **draft.metadata, "receipt": receipt.digest}


def safe_message(error: Exception, key: str, batch: str) -> str:
    """Return what may be shown of an error: our own messages, which hold no text, and else the class alone."""
    if isinstance(error, errors.DeidError):
        return f"{key}, batch {batch}: {type(error).__name__}: {error}"
    return f"{key}, batch {batch}: {type(error).__name__}; nothing was stored"


def column_schema(schema: pa.Schema) -> dg.TableSchema:
    """Return an Arrow schema as the UI shows it."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name, str(column.type), constraints=dg.TableColumnConstraints(nullable=column.nullable)
            )
            for column in schema
        ]
    )
