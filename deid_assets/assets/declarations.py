"""The output of an asset's body, and the declaration of an asset for Dagster."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deid_assets.quality import Verdict
from deid_assets.store.files import Receipt


@dataclass(frozen=True, slots=True)
class Check:
    """A data-quality check that an asset declares and its body must answer with a ``Verdict`` of
    that name.
    """

    name: str
    description: str
    blocking: bool = True


@dataclass(frozen=True, slots=True)
class AssetOutput:
    """The output of an asset, before it is checked and stored.

    Args:
        tables: Table name to table.
        sources: Receipts of what it was made from.
        verdicts: One for each declared check.
        counts: Numbers for the receipt and the UI.
        metadata: More for the UI: tables of counts and plots. Never text from notes.
        remarks: Lines for the log of the run. Never text from notes.
        publish: Called with the receipt after the tables are stored, for copies of the result
            elsewhere.
        release: Called last, when everything is recorded: a release must be whole or not be there.
    """

    tables: Mapping[str, pa.Table]
    sources: Sequence[Receipt]
    verdicts: Sequence[Verdict] = ()
    counts: Mapping[str, int | float | str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    publish: Callable[[Receipt], None] | None = None
    release: Callable[[Receipt], None] | None = None


Make = Callable[..., AssetOutput]
"""The body of an asset: batch id and opened installation to what was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetDeclaration:
    """The declaration of an asset for Dagster.

    Args:
        key: One part; also the folder in the store.
        checks: Each must be answered; a missing verdict is a failed one.
        deps: The assets it reads.
        code_version: Changes whenever the output may change.
        group: Group in the Dagster UI.
        description: Markdown for the UI.
        kinds: At most three.
        schema: Columns of its main table.
        partitioned: By batch; otherwise one partition, ``all``.
        automatic: Made by itself when its inputs change, once the automation sensor is switched on.
        tags: More tags.
        metadata: More definition metadata.
        may_wait: Nothing is stored, and no run fails, while checks fail that wait for somebody.
        uses_vault: Its body takes the opened vault, or ``None``, as the keyword ``vault``.
        pool: Of as many steps as it has slots; none where empty.
    """

    key: str
    checks: Sequence[Check]
    deps: Sequence[str]
    code_version: str
    group: str
    description: str
    kinds: AbstractSet[str]
    schema: pa.Schema
    partitioned: bool = True
    automatic: bool = True
    tags: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    may_wait: bool = False
    uses_vault: bool = False
    pool: str = ""
