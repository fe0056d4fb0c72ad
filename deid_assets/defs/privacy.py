"""privacy/hips: whether an attacker can tell what was missed from what was put in its place."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial

import dagster as dg
import pyarrow as pa

from deid_assets.config import Settings
from deid_assets.core.detector import Failed
from deid_assets.core.errors import InputError
from deid_assets.core.note import Note
from deid_assets.core.redact import Policy
from deid_assets.core.resolve import Ensemble, resolve
from deid_assets.core.span import DisjointSpans, SpanSet
from deid_assets.defs.audit import audited_asset
from deid_assets.defs.declarations import AssetDeclaration, AssetOutput, Check
from deid_assets.defs.detection import read_notes_of, read_outcomes
from deid_assets.defs.display import show_png
from deid_assets.defs.ingest import GOLD, RAW_NOTES
from deid_assets.defs.jobs import ON_DEMAND
from deid_assets.defs.merging import read_gold
from deid_assets.defs.scoring import scored_batches
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.privacy.audit import Case
from deid_assets.quality import Verdict
from deid_assets.reports.hips import hips_md, hips_png
from deid_resources.installation import Installation
from deid_resources.snapshot import software_version

HIPS = "privacy/hips"
MIN_LEFTOVERS = 20

CHECKS = (
    Check("enough_leftovers", "The attacked half has enough leftovers for an interval to mean much.", blocking=False),
)
FINDINGS = pa.schema(
    [
        pa.field("policy", pa.string(), nullable=False),
        pa.field("recall", pa.string(), nullable=False),
        *(pa.field(name, pa.int64(), nullable=False) for name in ("gold", "candidates", "leftovers")),
        *(pa.field(name, pa.list_(pa.float64())) for name in ("auc", "precision")),
    ]
)
"""One row per policy and recall; intervals are value, lower and upper bound at 95 %."""


def hips(settings: Settings, policies: Sequence[Policy]) -> dg.AssetsDefinition:
    """Return the audit of every policy over all batches that have gold."""
    digests = hashlib.sha256(" ".join(policy.digest for policy in policies).encode()).hexdigest()[:12]
    return audited_asset(
        partial(make_hips, policies=policies),
        AssetDeclaration(
            key=HIPS,
            checks=CHECKS,
            deps=[RAW_NOTES, GOLD, MERGED_SPANS],
            code_version=f"{software_version()}+{settings.digest('ensemble')}+{digests}",
            group="privacy",
            description="Hiding in plain sight: an attacker with the same tool learns to tell leftovers from "
            "replacements, for leftovers drawn at random and for those of the ensemble. Made when asked for.",
            kinds={"report"},
            schema=FINDINGS,
            partitioned=False,
            automatic=False,
            tags=ON_DEMAND,
        ),
    )


def make_hips(_batch: str, installation: Installation, *, policies: Sequence[Policy]) -> AssetOutput:
    """Attack each policy on half of the patients with gold; the other half is the attacker's.

    Raises:
        InputError: No batch has gold and merged spans, or there are too few notes.
    """
    from deid_assets.privacy.hips import Setting, attack  # noqa: PLC0415 - with the audit alone

    batches = scored_batches(installation, MERGED_SPANS)
    cases = [case for batch in batches for case in _cases(batch, installation)]
    if not cases:
        raise InputError("no batch has gold and merged spans; the audit needs to know what is real")
    findings = [each.to_json() for each in attack(cases, policies, key=installation.key, setting=Setting())]
    least = min(row["leftovers"] for row in findings)
    rows = [{name: row[name] for name in FINDINGS.names} | {"recall": str(row["recall"])} for row in findings]
    title = "What an attacker finds of what was missed"
    return AssetOutput(
        tables={"findings": pa.Table.from_pylist(rows, FINDINGS)},
        sources=[
            installation.files.receipt(name, batch) for batch in batches for name in (RAW_NOTES, GOLD, MERGED_SPANS)
        ],
        verdicts=[
            Verdict(
                "enough_leftovers",
                passed=least >= MIN_LEFTOVERS,
                blocking=False,
                counts={"least": least, "wanted": MIN_LEFTOVERS, "notes": len(cases)},
                description="If not, annotate more notes before trusting the figures.",
            )
        ],
        counts={"notes": len(cases), "batches": len(batches), "policies": len(policies)},
        metadata={
            "yield": dg.MetadataValue.md(hips_md(findings)),
            "plot": show_png(hips_png(findings, title=title), title=title),
        },
    )


def _cases(batch: str, installation: Installation) -> Iterator[Case]:
    """Yield the annotated notes of a batch with what the ensemble found; notes that it failed on are withheld anyway."""
    gold, outcomes = read_gold(batch, installation), read_outcomes(MERGED_SPANS, batch, installation)
    for note in read_notes_of(batch, installation):
        found = outcomes[note.note_id]
        if note.note_id in gold and not isinstance(found, Failed):
            yield Case(note, _disjoint(note, gold[note.note_id]), _disjoint(note, found))


def _disjoint(note: Note, spans: SpanSet) -> DisjointSpans:
    return resolve(note, [spans], ensemble=Ensemble.of_equals(spans))
