"""released_corpus: what leaves, with its manifest."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import deid_assets
from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.gates import BASELINE_NOTES, baseline_of, keep_baseline
from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.assets.measuring import measure
from deid_assets.assets.merging import read_gold
from deid_assets.assets.records import record_release
from deid_assets.assets.redaction import QUARANTINE
from deid_assets.config import Settings
from deid_assets.core.assets import Family
from deid_assets.core.errors import ProvenanceError
from deid_assets.core.redact import Policy
from deid_assets.core.span import SpanSet
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.quality import Verdict
from deid_assets.quality.text_checks import complete
from deid_assets.runtime.installation import Installation
from deid_assets.store.approvals import APPROVAL, PAGE, REPORT, find_approval, proof_in_words
from deid_assets.store.files import Receipt
from deid_assets.store.frames import spans_from_tables
from deid_assets.store.signing import PUBLIC_KEY
from deid_assets.system.atomic import atomic_file

RELEASED = "released_corpus"

CHECKS = (
    Check(
        "provenance",
        "Every receipt back to the raw notes is signed, current and passed its checks.",
    ),
    Check("complete", "Notes received equal notes released plus notes in quarantine."),
    Check("measured", "People annotated as many notes of the batch as release.require asks for."),
)
_APPROVED = Check("approved", "Somebody approved the present page on the batch.")

NOTES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("patient_id", pa.string()),
        pa.field("lang", pa.string()),
        pa.field("text", pa.string(), nullable=False),
    ]
)


def checks_of(settings: Settings) -> Sequence[Check]:
    """Return the checks of a release under these settings."""
    return (*CHECKS, _APPROVED) if settings.release.approval else CHECKS


def make_released_corpus(
    batch: str, installation: Installation, *, policy: Policy, code_versions: Mapping[str, str]
) -> AssetOutput:
    """Publish a batch's redacted notes under new ids, if the whole chain of receipts holds.

    The stored check rows of Dagster are not asked: anyone who reaches the web server can write
    them.

    Args:
        batch: Partition.
        installation: The installation.
        policy: The one that is released.
        code_versions: Asset to present code version, of every asset on the way.

    Raises:
        ProvenanceError: A receipt or file on the way is missing, altered, out of date or did not
            pass.
    """
    redacted = Family.REDACTED_NOTES.of(policy.name)
    verify_current(REPORT, batch, installation, code_versions=code_versions)
    sources = [
        installation.files.receipt(asset, batch)
        for asset in (RAW_NOTES, redacted, QUARANTINE, REPORT)
    ]
    approval = (
        find_approval(installation.files, batch) if installation.settings.release.approval else None
    )
    found = measure(batch, installation)
    notes = installation.files.read(redacted, batch, "notes")
    released = _under_new_ids(notes, installation)
    raw = installation.files.read(RAW_NOTES, batch, "notes").column("note_id").to_pylist()
    unread = installation.files.read(RAW_NOTES, batch, "failed").column("note_id").to_pylist()
    held = installation.files.read(QUARANTINE, batch, "failed").column("note_id").to_pylist()
    kept = _baseline(batch, installation)
    return AssetOutput(
        tables={"notes": released},
        sources=[*sources, *([approval] if approval else [])],
        verdicts=[
            Verdict(
                "provenance",
                True,
                True,
                {"receipts": len(sources)},
                "Checked back to the raw notes.",
            ),
            complete([*raw, *unread], notes.column("note_id").to_pylist(), held),
            found.judge(),
            *_approved(approval, installation),
        ],
        counts={
            "policy": policy.name,
            "policy_digest": policy.digest[:12],
            "notes": released.num_rows,
            "quarantined": len(held),
            "unreadable": len(unread),
            "measured": int(found.measured),
            BASELINE_NOTES: len(kept),
        },
        metadata={"folder": str(release_folder(installation, batch))},
        publish=lambda receipt: _record(installation, policy, receipt, kept=kept),
        release=lambda receipt: _release(installation, policy, released, receipt),
    )


def _under_new_ids(notes: pa.Table, installation: Installation) -> pa.Table:
    released = pa.table(
        {
            "id": [
                pseudonym(installation, "note", value)
                for value in notes.column("note_id").to_pylist()
            ],
            "patient_id": [
                pseudonym(installation, "patient", value)
                for value in notes.column("patient_id").to_pylist()
            ],
            "lang": notes.column("lang"),
            "text": notes.column("text"),
        },
        schema=NOTES,
    )
    # The new ids follow from the key, and so does their order.
    return released.sort_by("id") if installation.settings.release.shuffle else released


def _approved(approval: Receipt | None, installation: Installation) -> list[Verdict]:
    if not installation.settings.release.approval:
        return []
    missing = "nobody approved the present page: read it, and run `deid approve` with it"
    return [
        Verdict(
            _APPROVED.name,
            passed=approval is not None,
            blocking=True,
            counts={"asked": 1},
            description="Approved, with the digest of the page that was read.",
            reasons=[missing] if approval is None else [],
            waits=True,
        )
    ]


def pseudonym(installation: Installation, kind: str, value: str | None) -> str | None:
    """Return the id under which a note or patient is released.

    Keyed, so the same in every release.
    """
    return (
        None
        if value is None
        else f"{kind[0]}-{installation.key.derive('released', kind, value).hex()[:20]}"
    )


def release_folder(installation: Installation, batch: str) -> Path:
    """Return the folder with a release's notes and manifest."""
    return installation.settings.released / batch


def _baseline(batch: str, installation: Installation) -> list[SpanSet]:
    """Return the baseline of the next release of the batch."""
    merged = (installation.files.read(MERGED_SPANS, batch, table) for table in ("notes", "spans"))
    return baseline_of(spans_from_tables(*merged), read_gold(batch, installation))


def _record(
    installation: Installation, policy: Policy, receipt: Receipt, *, kept: Sequence[SpanSet]
) -> None:
    """Keep the baseline, and enter the release in the text-free store."""
    keep_baseline(installation, kept, receipt)
    record_release(installation, receipt.batch, policy.name, receipt)


def _release(
    installation: Installation, policy: Policy, released: pa.Table, receipt: Receipt
) -> None:
    """Put the exchange file and its manifest where the batch's last release is."""
    lines = "".join(
        json.dumps(row, ensure_ascii=False) + "\n" for row in released.to_pylist()
    ).encode()
    digests = {"notes.jsonl": hashlib.sha256(lines).hexdigest()}
    manifest = make_manifest(receipt.batch, installation, policy, receipt, files=digests)
    with atomic_file(installation.settings.home / PUBLIC_KEY) as file:
        file.write(installation.release_signer.public.to_pem())
    installation.releases.publish(receipt.batch, {"notes.jsonl": lines}, manifest)


def check_released(installation: Installation, receipt: Receipt) -> None:
    """Check that a batch's release is there, whole, the newest, and rests on this receipt.

    Raises:
        InputError: There is none.
        ProvenanceError: One of these fails.
    """
    manifest = installation.releases.check(receipt.batch)
    if manifest["receipts"].get(receipt.name, {}).get("digest") != receipt.digest:
        raise ProvenanceError(
            f"{receipt.name}: the release rests on another receipt; materialize it again"
        )


def make_manifest(
    batch: str,
    installation: Installation,
    policy: Policy,
    receipt: Receipt,
    *,
    files: Mapping[str, str],
) -> dict[str, Any]:
    """Return what a release rests on.

    Files, policy, detectors, verdicts and receipts, not signed yet.
    """
    chain = release_chain(receipt, installation)
    plugins = installation.plugins
    return {
        "batch": batch,
        "software": f"deid-assets {deid_assets.__version__}",
        "created_at": receipt.created_at,
        "files": dict(files),
        "policy": {"name": policy.name, "digest": policy.digest},
        "ensemble": {
            name: {"version": plugins[name].version, "digest": plugins[name].digest}
            for name in installation.settings.ensemble
        },
        "receipts": {
            link.name: {"digest": link.digest, "code_version": link.code_version} for link in chain
        },
        "verdicts": {
            link.name: {name: dict(row) for name, row in link.verdicts.items()} for link in chain
        },
        "counts": dict(receipt.counts),
        **measure(batch, installation).to_json(),
        "page": installation.files.receipt(REPORT, batch).counts[PAGE],
        "approval": _approval_of(chain),
    }


def _approval_of(chain: Sequence[Receipt]) -> dict[str, Any] | None:
    """Return who approved the release, how that was proved, when, and which page they had read."""
    found = next((link for link in chain if link.asset == APPROVAL), None)
    if found is None:
        return None
    return {
        "by": found.counts["by"],
        "proof": proof_in_words(found),
        "signature": found.counts.get("signature", ""),
        "at": found.created_at,
        "page": found.counts[PAGE],
    }


def verify_current(
    asset: str, batch: str, installation: Installation, *, code_versions: Mapping[str, str]
) -> None:
    """Check a partition and all it was made from, as ``verify_chain`` does, and that today's code
    would make the same.

    Else a manifest would name a policy or an ensemble that the text never saw.

    Raises:
        ProvenanceError: One of these fails; the message names the asset to make again.
    """
    installation.files.verify_chain(asset, batch)
    for link in release_chain(installation.files.receipt(asset, batch), installation):
        if link.code_version != code_versions.get(link.asset):
            raise ProvenanceError(
                f"{link.asset}, batch {batch}: made by another version of its code, policy or"
                f" settings than the present; re-materialize {link.asset} for batch {batch} and"
                " what follows from it"
            )


def release_chain(receipt: Receipt, installation: Installation) -> list[Receipt]:
    """Return the receipt and all it was made from, each once, the first inputs first."""
    found: dict[str, Receipt] = {}

    def visit(link: Receipt) -> None:
        for name in sorted(link.inputs):
            if name not in found:
                visit(installation.files.receipt(*name.rsplit("@", 1)))
        found[link.name] = link

    visit(receipt)
    return list(found.values())
