"""What attacks are told by the audits that run them; see the classes in ``audits``."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from deid_assets.extending.audits import Audit


class OfMembership(Audit, Protocol):
    """Options of ``Membership``."""

    attacks: tuple[str, ...]
    alpha: float
    most: int
    limit: float
    low_limit: float
    shadows: Path | None


class OfExtraction(Audit, Protocol):
    """Options of ``Extraction``."""

    texts: int
    length: int
    steps: int
    sampling: str
    rounds: int
    conditions: Path | None
    tagger: Path | None


class OfCanaries(Audit, Protocol):
    """Options of ``Canaries``."""

    candidates: int
    limit: float


class OfSlots(Audit, Protocol):
    """Options of ``SlotFill``."""

    candidates: int
    most: int
    limit: float
