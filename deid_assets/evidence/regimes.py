"""Headings of the document, and what a law asks for, by regime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deid_assets.evidence.document import LawItem, Regime

_YOURS = "For you to write; no receipt says it."


@dataclass(frozen=True, slots=True)
class RegimeWords:
    """Words of a regime.

    Args:
        title: Of the document.
        law: The provision.
        decision: Heading of the place for a signature.
        decides: Who decides, and what the document is not.
        headings: Name of a section to its heading.
        items: What the law asks for.
    """

    title: str
    law: str
    decision: str
    decides: str
    headings: Mapping[str, str]
    items: tuple[LawItem, ...]


HIPAA = RegimeWords(
    title="Evidence for an expert determination",
    law="45 CFR 164.514(b)(1)",
    decision="Determination of the expert",
    decides=(
        "Whether the risk is very small is for the expert to determine. This document is the"
        " evidence, and no determination."
    ),
    headings={
        "release": "What was released, and to whom",
        "flow": "Flow of the data",
        "means": "Methods: detectors, versions and models",
        "recall": "Results: what detection finds",
        "risk": "Risk that somebody is identified",
        "models": "Models that leave",
        "approvals": "Approvals and signatures",
        "limits": "Limits",
    },
    items=(
        LawItem("Knowledge and experience of the expert, (b)(1)", _YOURS),
        LawItem("Anticipated recipients, (b)(1)(i)", "Those that the manifest names.", "release"),
        LawItem(
            "Risk that the information identifies, alone, (b)(1)(i)",
            "Expected number of missed identifiers, and how they identify.",
            "risk",
        ),
        LawItem(
            "Risk in combination with other available information, (b)(1)(i)",
            "Audit of re-identification, and small groups; which other information a recipient has"
            " is for you to write.",
            "risk",
        ),
        LawItem("Methods of the analysis, (b)(1)(ii)", "Detectors, versions, policy.", "means"),
        LawItem("Results of the analysis, (b)(1)(ii)", "Recall and precision.", "recall"),
        LawItem(
            "Codes that lead back to the person, (c)",
            "Keys, vault and its log; who holds the keys is for you to write.",
            "flow",
        ),
        LawItem("How long the determination holds (HHS, 2012)", _YOURS),
    ),
)
DPIA = RegimeWords(
    title="Evidence for a data protection impact assessment",
    law="Regulation (EU) 2016/679, Article 35(7)",
    decision="Advice of the data protection officer, Article 35(2)",
    decides=(
        "Whether the measures suffice is for the controller to decide, with the advice of the data"
        " protection officer. This document is the evidence, and no assessment."
    ),
    headings={
        "release": "The processing: what is released, and to whom",
        "flow": "The processing: flow of the data",
        "means": "The means: detectors, versions and models",
        "recall": "Measures: what detection finds",
        "risk": "Risks to the persons",
        "models": "Models that leave",
        "approvals": "Measures: approvals and signatures",
        "limits": "Limits",
    },
    items=(
        LawItem("Description of the processing, 35(7)(a)", "Stages with counts.", "flow"),
        LawItem("Purposes and legal basis, 35(7)(a)", _YOURS),
        LawItem("Recipients, 35(7)(a)", "Those that the manifest names.", "release"),
        LawItem(
            "Necessity and proportionality, 35(7)(b)",
            "What the policy replaces, and what it keeps; whether that is necessary is for you to"
            " write.",
            "release",
        ),
        LawItem(
            "Risks to the rights and freedoms, 35(7)(c)",
            "Expected number of missed identifiers; singling out, linkability and inference"
            " (Article 29 Working Party, 2014).",
            "risk",
        ),
        LawItem(
            "Measures envisaged, 35(7)(d)",
            "Detection with its recall, checks, approvals, signatures.",
            "recall",
        ),
        LawItem(
            "Additional information kept apart, 4(5)",
            "Keys, vault and its log; who holds the keys is for you to write.",
            "flow",
        ),
        LawItem("Advice of the data protection officer, 35(2)", _YOURS),
        LawItem("Views of the persons, 35(9)", _YOURS),
    ),
)
WORDS: Mapping[Regime, RegimeWords] = {Regime.HIPAA: HIPAA, Regime.DPIA: DPIA}
