"""The plan of an erasure: written whole and signed before anything is erased, so that a killed
erasure is completed.

::

    store/restricted/erasures/<patient>/plan.json          what is to be done
    store/restricted/erasures/<patient>/staged/b-…/        a batch without the patient's notes
    store/restricted/erasures/<patient>/whole/b-…/         what stays of a larger arrival
    store/restricted/erasures/<patient>/old/b-…/           what was replaced, until the end

The folder is named by a keyed digest of the patient's id.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from deid_assets.core.errors import InputError, ProvenanceError
from deid_assets.core.keys import Key
from deid_assets.store.atomic import write_bytes
from deid_assets.store.zones import Zone

PLAN = "plan.json"
STAGED, WHOLE, OLD = "staged", "whole", "old"


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A batch from which a patient is erased.

    Args:
        batch: Its id.
        sha256: Digest of the file that takes the place of its files.
        notes: Of the patient.
        others: Notes that stay.
        unreadable: Entries of whomever that cannot be read, whose text goes too.
        is_withdrawn: Whether somebody had withdrawn it, which it stays.
        is_released: Whether it was released, so that its release is taken back.
        assets: That had something of it.
    """

    batch: str
    sha256: str
    notes: int
    others: int
    unreadable: int
    is_withdrawn: bool
    is_released: bool
    assets: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing stays in it, so that it is withdrawn."""
        return not self.others and not self.unreadable


@dataclass(frozen=True, slots=True)
class PlannedWhole:
    """A larger arrival of which the patient is in a part, or the folder of an arrival's options.

    Args:
        arrival: Its id.
        has_options: Whether its ``batch.toml`` stays.
        digest: Of its receipt; empty where the receipt stays.
        keep: Positions of the files that its receipt names from then on.
        parts: All batches that were cut from it, whose receipts name it.
        withdrawn: Those of them that somebody withdrew.
    """

    arrival: str
    has_options: bool
    digest: str = ""
    keep: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """What an erasure does, and what its certificate tells.

    Args:
        patient: Keyed digest of the patient's id.
        number: Of the certificate, among those on this patient.
        by: Who asked.
        asked_at: UTC, ISO 8601.
        batches: That hold the patient.
        wholes: Copies of what arrived.
        models: Model assets that rest on these batches, with the digests of their receipts.
        deletes_models: Whether they are deleted, and not only marked.
        has_corpus: Whether the stored training set rests on these batches.
        dependents: Other partitions outside these batches that rest on them, ``asset@batch``.
        vault: Notes and edits in the vault; none where there is no vault.
        read: How many batches were read.
        unknown: Entries of other batches that cannot be read.
        rules: Deny rules whose values stand in nobody else's notes.
        cases: Pieces of the patient's notes that are kept with deny rules.
        unplaced: Deny rules whose values stand in no note.
    """

    patient: str
    number: int
    by: str
    asked_at: str
    batches: tuple[PlannedBatch, ...] = ()
    wholes: tuple[PlannedWhole, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    deletes_models: bool = False
    has_corpus: bool = False
    dependents: tuple[str, ...] = ()
    vault: tuple[int, int] | None = None
    read: int = 0
    unknown: int = 0
    rules: tuple[str, ...] = ()
    cases: int = 0
    unplaced: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is held of the patient."""
        return not (self.batches or self.cases or (self.vault and any(self.vault)))


def patient_digest(key: Key, patient: str) -> str:
    """Return what stands for a patient in plans and certificates, 32 hexadecimal digits."""
    return key.derive("erased patient", patient).hex()[:32]


def plans_folder(store: Path) -> Path:
    """Return the restricted folder of erasures that are under way."""
    return store / Zone.RESTRICTED / "erasures"


def list_unfinished(store: Path) -> list[str]:
    """Return the keyed digests of the patients whose erasure was begun and not completed."""
    return sorted(path.parent.name for path in plans_folder(store).glob(f"*/{PLAN}"))


def write_plan(folder: Path, plan: ErasurePlan, *, key: Key) -> None:
    """Write a plan in one step; from then on the erasure is to be completed."""
    document = asdict(plan)
    content = json.dumps({"plan": document, "seal": _seal(document, key)}, indent=1).encode()
    write_bytes(folder, PLAN, content, Zone.RESTRICTED)


def read_plan(folder: Path, *, key: Key) -> ErasurePlan | None:
    """Return the plan of an erasure that was begun; ``None`` where there is none.

    Raises:
        ProvenanceError: It was altered.
    """
    try:
        content: Any = json.loads((folder / PLAN).read_bytes())
        document = content["plan"]
        is_ours = content["seal"] == _seal(document, key)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise ProvenanceError(
            f"{folder / PLAN}: was altered, or written under another DEID_KEY; restore it, and"
            " erase again"
        )
    return _plan_of(document)


def check_no_other(store: Path, patient: str) -> None:
    """Refuse a second erasure while another is not completed: they may share batches.

    Raises:
        InputError: Naming the keyed digest of the other.
    """
    others = [found for found in list_unfinished(store) if found != patient]
    if others:
        raise InputError(
            f"the erasure {others[0][:16]} was begun and not completed; call it again with its"
            " patient, and erase this one then"
        )


def clear(folder: Path, *, keeps_plan: bool) -> None:
    """Remove what an erasure staged and replaced, and the plan last."""
    if not folder.is_dir():
        return
    for path in _children(folder):
        if path.name != PLAN:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if not keeps_plan:
        (folder / PLAN).unlink(missing_ok=True)
        folder.rmdir()


def _children(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.iterdir())


def _seal(document: Mapping[str, Any], key: Key) -> str:
    text = json.dumps(document, sort_keys=True)
    return key.derive("erasure plan", hashlib.sha256(text.encode()).hexdigest()).hex()


def _plan_of(document: Mapping[str, Any]) -> ErasurePlan:
    batches = tuple(
        PlannedBatch(**{**row, "assets": tuple(row["assets"])}) for row in document["batches"]
    )
    lists = ("keep", "parts", "withdrawn")
    wholes = tuple(
        PlannedWhole(**{**row, **{name: tuple(row[name]) for name in lists}})
        for row in document["wholes"]
    )
    vault = tuple(document["vault"]) if document["vault"] is not None else None
    rules = tuple(document.get("rules", ()))
    rest = {"batches": batches, "wholes": wholes, "vault": vault, "rules": rules}
    return ErasurePlan(**{**document, **rest, "dependents": tuple(document["dependents"])})
