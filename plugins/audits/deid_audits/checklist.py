"""Items of HIPAA, the GDPR and the AI Act that a privacy officer asks about, each tied to evidence
or shown as a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deid_assets.extending import ConfigError, did_you_mean
from deid_assets.extending.audits import AuditResult, Outcome
from deid_audits.facts import Facts
from deid_audits.lineage import Lineage

AUDIT, CATEGORY, LEDGER, STATED = "audit", "category", "ledger", "stated"


@dataclass(frozen=True, slots=True)
class Item:
    """One item.

    Args:
        law: HIPAA, GDPR or AI Act.
        name: Short and unique; what ``evidence`` of the facts is filed under.
        asks: What has to be shown, in a sentence.
        kind: What answers it: an audit, a category of what was found, the ledger, or what the facts
            state.
        of: Names of the audits or categories.
    """

    law: str
    name: str
    asks: str
    kind: str
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnsweredItem:
    """An item with its evidence; without one it is a gap."""

    item: Item
    evidence: str

    @property
    def is_gap(self) -> bool:
        """Whether nothing answers it."""
        return not self.evidence


_IDENTIFIERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "names": ("Names", ("NAME", "RELATIVE", "USERNAME")),
    "places": (
        "Places smaller than a state",
        ("STREET", "CITY", "ZIP", "LOCATION", "HOSPITAL", "REGION"),
    ),
    "dates": ("Dates but for the year, and ages over 89", ("DATE", "AGE")),
    "telephone": ("Telephone numbers", ("PHONE",)),
    "fax": ("Fax numbers", ("FAX",)),
    "e_mail": ("E-mail addresses", ("EMAIL",)),
    "social_security": ("Social security numbers", ("NATIONAL_ID",)),
    "record": ("Record numbers", ("MRN",)),
    "health_plan": ("Health plan numbers", ("HEALTH_PLAN",)),
    "account": ("Account numbers", ("ACCOUNT",)),
    "licence": ("Certificate and licence numbers", ("LICENSE",)),
    "vehicle": ("Vehicle identifiers", ("VEHICLE",)),
    "device": ("Device identifiers", ("DEVICE",)),
    "url": ("Web addresses", ("URL",)),
    "ip": ("IP addresses", ("IP",)),
    "biometric": ("Biometric identifiers", ("BIOMETRIC",)),
    "photograph": ("Photographs of the face", ()),
    "other_code": ("Any other number or code that is unique", ("ID", "OTHER")),
}

ITEMS: tuple[Item, ...] = (
    *(
        Item(
            "HIPAA",
            f"hipaa_{name}",
            f"{said}: the share found is known.",
            CATEGORY if of else STATED,
            of,
        )
        for name, (said, of) in _IDENTIFIERS.items()
    ),
    Item(
        "HIPAA",
        "hipaa_expert",
        "The risk that a patient is recognised was judged (expert determination).",
        AUDIT,
        ("reidentification",),
    ),
    Item(
        "GDPR",
        "gdpr_singling_out",
        "Singling out, linkability and inference were tested (Recital 26).",
        AUDIT,
        ("reidentification",),
    ),
    Item(
        "GDPR",
        "gdpr_model",
        "Whether personal data can be drawn from the model was tested.",
        AUDIT,
        ("extraction", "membership", "canaries", "slot_fill"),
    ),
    Item(
        "GDPR",
        "gdpr_legal_basis",
        "Every raw source has a legal basis or permit (Articles 6 and 9).",
        LEDGER,
    ),
    Item("GDPR", "gdpr_impact", "The impact on the patients was assessed (Article 35).", STATED),
    Item(
        "GDPR",
        "gdpr_retention",
        "It is settled how long the data is kept, and how a patient objects.",
        STATED,
    ),
    Item(
        "AI Act",
        "ai_act_data",
        "The training data, its origin and preparation are documented (Article 10).",
        LEDGER,
    ),
    Item("AI Act", "ai_act_file", "There is technical documentation (Article 11).", STATED),
    Item("AI Act", "ai_act_log", "Events are logged over the model's life (Article 12).", STATED),
    Item(
        "AI Act", "ai_act_oversight", "It is settled who oversees the model (Article 14).", STATED
    ),
)


def answers(
    results: Sequence[AuditResult], facts: Facts, found: Lineage, *, items: Iterable[Item] = ITEMS
) -> list[AnsweredItem]:
    """Return every item with its evidence.

    What the facts state of an item comes before what is found here.

    Raises:
        ConfigError: The facts state evidence for an item that there is not.
    """
    items = tuple(items)
    names = [item.name for item in items]
    for name in facts.evidence:
        if name not in names:
            raise ConfigError(
                f"evidence.{name}: the checklist has no such item{did_you_mean(name, names)}"
            )
    return [
        AnsweredItem(item, facts.evidence.get(item.name) or _evidence(item, results, found))
        for item in items
    ]


def _evidence(item: Item, results: Sequence[AuditResult], found: Lineage) -> str:
    if item.kind == AUDIT:
        judged = [each for each in results if each.audit in item.of]
        if any(each.outcome is Outcome.FAILED for each in judged):
            return ""  # it was looked for and found: a gap, no evidence
        return "; ".join(
            f"audit {each.audit}: passed" for each in judged if each.outcome is Outcome.PASSED
        )
    if item.kind == CATEGORY:
        figures = [
            (figure.group, figure)
            for each in results
            if each.audit == "residue"
            for figure in each.figures
            if figure.name == FOUND and figure.group in item.of
        ]
        return "; ".join(
            f"{group}: {figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}] found"
            for group, figure in figures
        )
    if item.kind == LEDGER and found.entries and not found.faults:
        return (
            f"ledger: {len(found.entries)} sources, {len(found.raw)} of them raw, each with a"
            " permit"
        )
    return ""


FOUND = "share of identifiers found"
"""Name of the figure of the audit ``residue`` that the checklist and the gate read, one per
category and for ``ALL``.
"""
