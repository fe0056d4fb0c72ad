"""The certificate of an erasure: what was erased, what is marked, and what is not reached.

Signed with the key of releases. It holds counts, ids of batches and assets, and a keyed digest of
the patient's id; no text, and no id of a note or patient.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deid_assets
from deid_assets.config import Settings
from deid_assets.core.assets import Family, family_of, study_part
from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.erasure.plan import ErasurePlan, PlannedBatch
from deid_assets.reports.page import render
from deid_assets.store.signing import PUBLIC_KEY, PublicKey, ReleaseSigner
from deid_assets.system import strict_json
from deid_assets.system.atomic import atomic_file
from deid_assets.system.reading import read_small_file

KIND = "erasure"
DONE, RETRAIN, AGAIN, NOT_REACHED = "done", "to be retrained", "made again", "not reached"
_UNKNOWN = "not known"
_IDENTITIES = "known_identity"


@dataclass(frozen=True, slots=True)
class CertificateItem:
    """One thing that held the patient, or may hold them.

    Args:
        what: Kind of thing.
        name: Which one: a batch, an asset or a database.
        status: ``done``, ``to be retrained``, ``made again``, ``not known`` or ``not reached``.
        count: How many of what it holds; none where nothing is counted.
        remark: What that means, and what somebody has to do.
    """

    what: str
    name: str
    status: str
    count: int | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that was issued.

    Args:
        document: Signed content.
        path: Of the file in JSON.
        page: Of the same as a page.
    """

    document: dict[str, Any]
    path: Path
    page: Path


def certificates_folder(settings: Settings) -> Path:
    """Return the folder of certificates."""
    return settings.home / "erasures"


def issue(settings: Settings, plan: ErasurePlan) -> Certificate:
    """Sign what was done, and write it as JSON and as a page."""
    signer = ReleaseSigner(settings.key())
    content: dict[str, Any] = {
        "format": 1,
        "kind": KIND,
        "number": plan.number,
        "patient": plan.patient,
        "by": plan.by,
        "software": f"deid-assets {deid_assets.__version__}",
        "asked_at": plan.asked_at,
        "completed_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "batches_read": plan.read,
        "notes": sum(batch.notes for batch in plan.batches),
        "items": [asdict(item) for item in items_of(settings, plan)],
        "public_key": signer.public.fingerprint,
    }
    document = {**content, "signature": signer.sign(KIND, content)}
    path = certificates_folder(settings) / f"{plan.patient[:16]}-{plan.number}.json"
    page = path.with_suffix(".html")
    with atomic_file(page) as file:
        file.write(render("erasure.html.j2", document=document).encode())
    with atomic_file(path) as file:
        file.write((json.dumps(document, indent=1) + "\n").encode())
    with atomic_file(settings.home / PUBLIC_KEY) as file:
        file.write(signer.public.to_pem())
    return Certificate(document, path, page)


def read_certificate(path: Path, *, key: PublicKey) -> dict[str, Any]:
    """Return a certificate after checking its signature.

    Raises:
        InputError: It cannot be read, or is no certificate.
        ProvenanceError: It was altered, or signed with another key.
    """
    try:
        document: Any = strict_json.loads(read_small_file(path))
        signature = str(document.pop("signature"))
        is_one = document["kind"] == KIND and document["format"] == 1
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_one = False
    if not is_one:
        raise InputError(f"{path}: no certificate of an erasure; name the .json of one")
    if not key.accepts(KIND, document, signature):
        raise ProvenanceError(
            f"{path}: the signature does not match public key {key.fingerprint}; it was altered,"
            " or signed with another key"
        )
    return dict(document)


def items_of(settings: Settings, plan: ErasurePlan) -> Iterator[CertificateItem]:
    """Yield everything that held the patient or may, with what became of it."""
    for batch in plan.batches:
        yield from _of_batch(batch)
    for whole in plan.wholes:
        names = f"; {_describe_names(whole.keep)}" if whole.digest else ""
        remark = f"the copy of what arrived is deleted{names}"
        yield CertificateItem("arrival", whole.arrival, DONE, remark=remark)
    yield _of_vault(plan)
    yield from _of_training(plan)
    yield from _of_rules(plan)
    for name in plan.dependents:
        asset = name.partition("@")[0]
        if family_of(study_part(asset)[1]) is Family.RELEASED_TABLE:
            remark = "taken back; `deid run` makes it anew, without the patient"
            yield CertificateItem("released table", asset, DONE, remark=remark)
            continue
        remark = "rests on a batch above, holds no text; `deid run` makes it anew"
        yield CertificateItem("partition", name, AGAIN, remark=remark)
    yield from _not_reached(settings, plan)


def _describe_names(keep: tuple[int, ...]) -> str:
    return f"its receipt names {len(keep):,} files from now on, none of which was the patient's"


def _of_batch(batch: PlannedBatch) -> Iterator[CertificateItem]:
    left = (
        f"{batch.others:,} notes of others stay; `deid run` makes the batch anew"
        if not batch.is_empty
        else "nothing stays in it, and it is withdrawn"
    )
    if batch.is_withdrawn:
        left = f"{batch.others:,} notes of others stay; it was withdrawn before, and stays so"
    if batch.unreadable:
        left += f"; the text of {batch.unreadable:,} entries that could not be read is gone too"
    yield CertificateItem("landing files", batch.batch, DONE, batch.notes, left)
    for asset in batch.assets:
        if asset not in ("arrival", "withdrawn"):
            yield CertificateItem("partition", f"{asset}@{batch.batch}", DONE)
    remark = "keyed ids, offsets and decisions of the whole batch"
    yield CertificateItem("catalogue", batch.batch, DONE, remark=remark)
    if batch.is_released:
        remark = "taken back, and entered as withdrawn in the list of releases; copies handed out"
        remark += " are with those who have them"
        yield CertificateItem("release", batch.batch, DONE, remark=remark)


def _of_vault(plan: ErasurePlan) -> CertificateItem:
    if plan.vault is None:
        return CertificateItem("vault", "vault", DONE, 0, "the settings name none")
    notes, edits = plan.vault
    return CertificateItem("vault", "vault", DONE, notes, f"{edits:,} sealed values deleted")


def _of_training(plan: ErasurePlan) -> Iterator[CertificateItem]:
    remark = "deleted; the next training gathers it anew" if plan.has_corpus else "held none"
    yield CertificateItem("training set", "training_corpus", DONE, remark=remark)
    for model in sorted(plan.models):
        if plan.deletes_models:
            remark = "deleted with its checkpoints; the next training makes it anew"
            yield CertificateItem("model", model, DONE, remark=remark)
        else:
            remark = "its checkpoints are deleted; it may hold words of the notes, and any newer"
            remark += " model takes its place: `deid run`"
            yield CertificateItem("model", model, RETRAIN, remark=remark)


def _of_rules(plan: ErasurePlan) -> Iterator[CertificateItem]:
    """Yield what deny rules held of the patient."""
    held = (
        (len(plan.rules), DONE, "deleted, since their values stand in nobody else's notes"),
        (plan.cases, DONE, "pieces of the patient's notes on which rules were tried, deleted"),
        (plan.unplaced, _UNKNOWN, "their values stand in no note; `deid denied lift` deletes one"),
    )
    for what, (count, status, remark) in zip(
        ("deny rules", "cases of deny rules", "other deny rules"), held, strict=True
    ):
        if count:
            yield CertificateItem(what, "denied_values", status, count, remark)


def _not_reached(settings: Settings, plan: ErasurePlan) -> Iterator[CertificateItem]:
    if plan.unknown:
        remark = "entries of other batches that cannot be read; whose they are is not known"
        yield CertificateItem("unreadable entries", "batches", _UNKNOWN, plan.unknown, remark)
    for name in sorted(settings.feeds):
        remark = "erase the patient at the source too: a note that changes there comes back"
        yield CertificateItem("feed", name, NOT_REACHED, remark=remark)
    for name in sorted(settings.tables):
        remark = "erase the patient's rows at the table's source; none is released without notes"
        yield CertificateItem("table", name, NOT_REACHED, remark=remark)
    for name, study in sorted(settings.studies.items()):
        if study.consent or study.notes.patients:
            remark = "take the patient out of the study's lists of patients"
            yield CertificateItem("study", name, NOT_REACHED, remark=remark)
    for name, options in sorted(settings.detectors.items()):
        if _IDENTITIES in (name, options.get("plugin")):
            remark = "build the table of identities again without the patient"
            yield CertificateItem("identities", name, NOT_REACHED, remark=remark)
    remark = "notes without this patient id, files outside the home, models trained by `deid train`"
    yield CertificateItem("other copies", "outside", NOT_REACHED, remark=remark)
    remark = "backups, and blocks of the disk that were not overwritten yet"
    yield CertificateItem("backups", "outside", NOT_REACHED, remark=remark)
