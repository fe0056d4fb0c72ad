"""Facts about a model that no audit measures.

What it is made from, under which permits, and what it must satisfy.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from deid_assets.extending.commands import faults_in, raise_all, read_toml

Share = Annotated[float, Field(ge=0, le=1)]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Tier(StrEnum):
    """How close data is to the patients."""

    RAW = "raw"
    DEIDENTIFIED = "de-identified"
    SYNTHETIC = "synthetic"
    PUBLIC = "public"


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LedgerEntry(_Facts):
    """An entry of the ledger: data, or a model that another is made from.

    Args:
        name: Unique.
        tier: How close it is to the patients.
        made_from: Names of the entries that it is made from; none for what came from outside.
        made_by: What made it of them, such as a policy.
        permit: Number of the permit, or the licence.
        until: Last day of the permit.
        digest: Of the data or the receipt, where there is one; of a corpus, as a tagger's card has
            it.
        notes: Their file, so that the card of a language model can be held against it.
    """

    name: str = Field(min_length=1)
    tier: Tier
    made_from: tuple[str, ...] = ()
    made_by: str = ""
    permit: str = ""
    until: dt.date | None = None
    digest: str = ""
    notes: Path | None = None


class Described(_Facts):
    """The model.

    Args:
        name: As the page calls it.
        made_from: Names of the ledger's entries that it was trained on.
        architecture: Such as encoder or decoder.
        parameters: How many.
        defences: What was applied, such as a policy or training with differential privacy.
        folder: As training wrote it, with its card: what it was trained on is read there, and the
            audits must be of these very files.
    """

    name: str
    made_from: tuple[str, ...] = Field(min_length=1)
    architecture: str = ""
    parameters: int | None = Field(default=None, ge=1)
    defences: tuple[str, ...] = ()
    folder: Path | None = None


class LedgerRules(_Facts):
    """What the model must satisfy before it may leave.

    Every audit that there is of the model must have passed: one that failed, is void or was not
    assessed refuses it.

    Args:
        audits: Others that must have passed too, of the notes or of a policy.
        waived: Audit to the reason for which its verdict is not asked for; the page shows it.
        options: Audit to the options that it may have been given, with their values; a result that
            was made with others, such as a loosened limit, refuses the model.
        recall: Smallest lower end of the interval of the share found, per category; ``ALL`` is all
            together.
        permits: Whether every raw source must have a permit that has not run out.
        checklist: Laws of which no item may lack evidence.
    """

    audits: tuple[str, ...] = ()
    waived: Mapping[str, Reason] = Field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    recall: Mapping[str, Share] = Field(default_factory=dict)
    permits: bool = True
    checklist: tuple[str, ...] = ()


class Facts(_Facts):
    """The content of a file of facts.

    Args:
        model: What it is.
        sources: The ledger.
        evidence: Item of the checklist to where its evidence lies, for what no audit answers.
        rules: What it must satisfy.
    """

    model: Described
    sources: tuple[LedgerEntry, ...] = ()
    evidence: Mapping[str, str] = Field(default_factory=dict)
    rules: LedgerRules = LedgerRules()


def read_facts(path: Path) -> Facts:
    """Return the facts of a TOML file; paths in it are relative to its folder.

    Raises:
        ConfigError: It is missing, is not TOML, or has a key or value that is not allowed.
    """
    values = read_toml(path)
    try:
        found = Facts.model_validate(values)
    except ValidationError as error:
        raise_all(path, faults_in(error, Facts))
        raise
    beside = path.absolute().parent
    sources = tuple(
        each.model_copy(update={"notes": beside / each.notes}) if each.notes else each
        for each in found.sources
    )
    model = found.model
    placed = model.model_copy(update={"folder": beside / model.folder}) if model.folder else model
    return found.model_copy(update={"model": placed, "sources": sources})
