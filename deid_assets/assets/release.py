"""released_corpus: what leaves, with its manifest."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import deid_assets
from deid_assets.assets.declarations import AssetOutput, Check
from deid_assets.assets.denying import NO_DENIED_VALUE, no_denied_value
from deid_assets.assets.gates import BASELINE_NOTES, baseline_of, keep_baseline
from deid_assets.assets.ingest import RAW_NOTES
from deid_assets.assets.measuring import measure
from deid_assets.assets.merging import read_gold
from deid_assets.assets.records import record_release
from deid_assets.assets.studies import LEFT_OUT, ReceivedNotes, read_received
from deid_assets.config import Settings
from deid_assets.core.assets import RELEASED, study_part
from deid_assets.core.errors import ProvenanceError
from deid_assets.core.keys import derive_released_id
from deid_assets.core.redact import Policy
from deid_assets.core.span import SpanSet
from deid_assets.intake.consent import AGREED, digest_of_consent, take_back_revoked
from deid_assets.intake.withdrawal import take_back
from deid_assets.pipeline.resolving import MERGED_SPANS
from deid_assets.quality import Verdict
from deid_assets.quality.measurement import BatchMeasurement
from deid_assets.quality.text_checks import complete
from deid_assets.runtime.installation import Installation
from deid_assets.store.approvals import PAGE, find_approval, proof_in_words
from deid_assets.store.denials import DENIED_VALUES, Denials, read_allowed
from deid_assets.store.files import Receipt
from deid_assets.store.frames import spans_from_tables
from deid_assets.store.signing import PUBLIC_KEY
from deid_assets.system.atomic import atomic_file

__all__ = ["CHECKS", "NOTES", "RELEASED", "make_released_corpus", "pseudonym"]

CHECKS = (
    Check(
        "provenance",
        "Every receipt back to the raw notes is signed, current and passed its checks.",
    ),
    Check("complete", "Notes received equal notes released plus notes in quarantine."),
    Check("measured", "People annotated as many notes of the batch as release.require asks for."),
    NO_DENIED_VALUE,
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


@dataclass(frozen=True, slots=True)
class _Leaving:
    """What is to leave of a batch, as it is stored.

    Args:
        receipts: Of what the release rests on.
        notes: Redacted notes under the ids with which they came.
        edits: What was replaced in them.
        entered: What was received.
        held: Ids of the notes in quarantine.
        approval: Of the present page, where the settings ask for one and somebody gave it.
    """

    receipts: Sequence[Receipt]
    notes: pa.Table
    edits: pa.Table
    entered: ReceivedNotes
    held: Sequence[str]
    approval: Receipt | None


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
    verify_current(installation.names.report, batch, installation, code_versions=code_versions)
    leaving = _gather(batch, installation, policy)
    found = measure(batch, installation)
    released = _give_new_ids(leaving.notes, installation)
    kept = _baseline(batch, installation)
    return AssetOutput(
        tables={"notes": released},
        sources=[*leaving.receipts, *([leaving.approval] if leaving.approval else [])],
        verdicts=_judge(leaving, found, batch, installation),
        counts={
            "policy": policy.name,
            "policy_digest": policy.digest[:12],
            "notes": released.num_rows,
            "quarantined": len(leaving.held),
            "unreadable": len(leaving.entered.unread),
            "measured": int(found.measured),
            **({BASELINE_NOTES: len(kept)} if installation.study is None else {}),
            **_read_agreed(installation),
        },
        metadata={"folder": str(release_folder(installation, batch))},
        publish=lambda receipt: _record(installation, policy, receipt, kept=kept),
        release=lambda receipt: _release(installation, policy, released, receipt),
    )


def _gather(batch: str, installation: Installation, policy: Policy) -> _Leaving:
    names, files = installation.names, installation.files
    redacted = names.name_redacted(policy.name)
    asks = installation.settings.release.approval
    return _Leaving(
        receipts=[
            files.receipt(asset, batch)
            for asset in (RAW_NOTES, redacted, names.quarantine, names.report)
        ],
        notes=files.read(redacted, batch, "notes"),
        edits=files.read(redacted, batch, "edits"),
        entered=read_received(batch, installation),
        held=files.read(names.quarantine, batch, "failed").column("note_id").to_pylist(),
        approval=find_approval(files, batch, names) if asks else None,
    )


def _judge(
    leaving: _Leaving, found: BatchMeasurement, batch: str, installation: Installation
) -> list[Verdict]:
    proved = {"receipts": len(leaving.receipts)}
    return [
        Verdict("provenance", True, True, proved, "Checked back to the raw notes."),
        complete(
            leaving.entered.note_ids,
            leaving.notes.column("note_id").to_pylist(),
            leaving.held,
        ),
        found.judge(),
        no_denied_value(batch, installation, leaving.notes, leaving.edits),
        *_judge_approval(leaving.approval, installation),
    ]


def _give_new_ids(notes: pa.Table, installation: Installation) -> pa.Table:
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


def _judge_approval(approval: Receipt | None, installation: Installation) -> list[Verdict]:
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
    return None if value is None else derive_released_id(installation.key, kind, value)


def _read_agreed(installation: Installation) -> dict[str, str]:
    """Return what a study's receipt says of the list of who agreed."""
    study = installation.study
    if study is None or study.consent is None:
        return {}
    return {AGREED: digest_of_consent(study.key, study.consent)}


def take_back_left_out(found: ReceivedNotes, batch: str, installation: Installation) -> None:
    """Take a study's release back where it has a note that the study takes no longer, such as one
    of a patient who agrees no more: what follows may be stopped, or wait, and never replace it.

    The batch stays open, so that the next release needs nobody.

    Args:
        found: What the study takes of the batch now.
        batch: Partition.
        installation: As a study has it. The installation's own release has all that it received.

    Raises:
        ProvenanceError: The study's list of releases, or what it released, was altered.
    """
    study, files, released = installation.study, installation.files, installation.names.released
    if study is None or files.find(released, batch) is None:
        return
    taken = {pseudonym(installation, "note", note_id) for note_id in found.note_ids}
    if taken.issuperset(files.read(released, batch, "notes").column("id").to_pylist()):
        return
    take_back(installation.house.settings, files, study.name, batch)


def release_folder(installation: Installation, batch: str) -> Path:
    """Return the folder with a release's notes and manifest."""
    return installation.settings.released / installation.releases.name_of(batch)


def recipients_of(installation: Installation) -> tuple[str, ...]:
    """Return who gets a release, where a study names them."""
    return installation.study.settings.recipients if installation.study else ()


def _baseline(batch: str, installation: Installation) -> list[SpanSet]:
    """Return the baseline of the next release of the batch; the spans of a study are its too."""
    if installation.study is not None:
        return []
    merged = (installation.files.read(MERGED_SPANS, batch, table) for table in ("notes", "spans"))
    return baseline_of(spans_from_tables(*merged), read_gold(batch, installation))


def _record(
    installation: Installation, policy: Policy, receipt: Receipt, *, kept: Sequence[SpanSet]
) -> None:
    """Keep the baseline, and enter the release in the text-free store."""
    if installation.study is None:
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
    if installation.study is not None:
        # who took the consent back since the lists were read
        take_back_revoked(installation.house.settings, installation.files, [receipt.batch])


def check_released(installation: Installation, receipt: Receipt) -> None:
    """Check that a batch's release is there, whole, the newest, and rests on this receipt.

    Raises:
        InputError: There is none.
        ProvenanceError: One of these fails.
    """
    manifest = installation.releases.check(receipt.batch)
    if (
        manifest["receipts"].get(_show_name(installation, receipt), {}).get("digest")
        != receipt.digest
    ):
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
    plugins, study = installation.plugins, installation.study
    return {
        "batch": installation.releases.name_of(batch),
        **({"study": study.name, "recipients": [*recipients_of(installation)]} if study else {}),
        "software": f"deid-assets {deid_assets.__version__}",
        "created_at": receipt.created_at,
        "files": dict(files),
        "policy": {"name": policy.name, "digest": policy.digest},
        "ensemble": {
            name: {"version": plugins[name].version, "digest": plugins[name].digest}
            for name in installation.settings.ensemble
        },
        "receipts": {
            _show_name(installation, link): {
                "digest": _show_digest(installation, link),
                "code_version": link.code_version,
            }
            for link in chain
        },
        "verdicts": {
            _show_name(installation, link): {
                name: {**row, "counts": _own(row["counts"])} for name, row in link.verdicts.items()
            }
            for link in chain
            if study is None or study_part(link.asset)[0]
        },
        "counts": _own(receipt.counts),
        **measure(batch, installation).to_json(),
        "page": installation.files.receipt(installation.names.report, batch).counts[PAGE],
        "approval": _approval_of(chain, installation.names.approval),
    }


def _own(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts that a manifest has: of what is released, and of nothing else of its batch,
    by which the releases of two studies could be joined.
    """
    return {name: count for name, count in counts.items() if name not in (AGREED, LEFT_OUT)}


def _show_name(installation: Installation, link: Receipt) -> str:
    """Return how a manifest names a receipt: by the name under which its batch is released."""
    return f"{link.asset}@{installation.releases.name_of(link.batch)}"


def _show_digest(installation: Installation, link: Receipt) -> str:
    """Return what a manifest says of a receipt.

    What several studies rest on is keyed by study, or it would tell that two releases are of one
    batch.
    """
    if installation.study is None or study_part(link.asset)[0]:
        return link.digest
    return installation.key.derive("receipt in a manifest", link.digest).hex()


def _approval_of(chain: Sequence[Receipt], asset: str) -> dict[str, Any] | None:
    """Return who approved the release, how that was proved, when, and which page they had read."""
    found = next((link for link in chain if link.asset == asset), None)
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
    and allow rules would make the same.

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
        if link.asset == DENIED_VALUES:
            _check_allowed(link, installation)


def _check_allowed(record: Receipt, installation: Installation) -> None:
    """Check that all allow rules that leave something in a batch are in force still: one may have
    been lifted while the spans were made.
    """
    leaving = read_allowed(record)
    if leaving and leaving - {one.rule for one in Denials(installation.files).read().allowed}:
        raise ProvenanceError(
            f"{MERGED_SPANS}, batch {record.batch}: leaves values by allow rules that were lifted"
            f" since; re-materialize {MERGED_SPANS} for batch {record.batch} and what follows from"
            " it"
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
