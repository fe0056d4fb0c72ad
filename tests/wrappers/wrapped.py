"""The plugins that wrap another project's detector, and what each finds.

Marks are what is to be found, all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid_assets.core.phi import Phi

PLACES = frozenset({Phi.LOCATION, Phi.CITY})
NO_NUMBERS = "BP 120/80, Na 138, visit 4"
"""Near misses of every pattern: a pressure, a value, a count."""


def _nothing(_: Path) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Wrapped:
    """One plugin.

    Args:
        detector: Name of its class in its package.
        version: Of the plugin and of the tool that it ran.
        found: Marked texts by language, none for a note that names no language.
        unmarked: Categories that it cannot find by design, so that it does not declare them.
        labels: Name of its label map, and a native label that the map has; none where each pipeline
            has its own.
        options: Of its class, given a folder to keep things in.
        nests: It gives spans inside of longer ones, which are not marked.
        is_slow: It takes a minute to build, so that it is not built again to be run offline.
    """

    detector: str
    version: str
    found: Mapping[str | None, tuple[str, ...]]
    unmarked: frozenset[Phi]
    labels: tuple[str, str] | None = None
    options: Callable[[Path], dict[str, Any]] = _nothing
    nests: bool = False
    is_slow: bool = False


def _spacy_model(folder: Path) -> dict[str, Any]:
    """A pipeline of rules, added as ``deid models add`` does."""
    import spacy

    from deid_spacy import SpacyImporter

    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(
        [
            {"label": "PERSON", "pattern": [{"LOWER": "dr"}, {"IS_TITLE": True}]},
            {"label": "GPE", "pattern": "Quahog"},
            {"label": "MONEY", "pattern": [{"TEXT": "$"}, {"LIKE_NUM": True}]},
        ]
    )
    nlp.to_disk(folder / "pipeline")
    wanted = {
        "source": str(folder / "pipeline"),
        "name": "mine",
        "out": folder / "mine",
        "labels": "spacy_ontonotes",
    }
    SpacyImporter().add(wanted, [])
    return {"model": str(folder / "mine")}


WRAPPED = {
    "datafog": Wrapped(
        "DatafogDetector",
        "0.1.0+datafog4.9.0",
        {
            "en": (
                "Write to <EMAIL>jane.roe@example.org</EMAIL> today.",
                "Tel. <PHONE>(617) 555-0143</PHONE>\r\n",
                "SSN <NATIONAL_ID>536-22-8726</NATIONAL_ID>",
                "server at <IP>192.0.2.44</IP>",
                "Seen <DATE>05/03/2021</DATE>, again <DATE>2021-06-07</DATE>.",
                # A name, a European date, and a German number in an English note.
                "Seen by Dr. Lee on 3.5.2021.",
                "IBAN DE89370400440532013000",
            ),
            "de": ("IBAN <ACCOUNT>DE89370400440532013000</ACCOUNT>",),
        },
        PLACES | {Phi.NAME, Phi.HOSPITAL, Phi.AGE, Phi.MRN},
        labels=("ENTITIES", "EMAIL"),
    ),
    "deduce": Wrapped(
        "DeduceDetector",
        "0.1.0+deduce3.",
        {
            "nl": (
                "Patient <NAME>Jan Jansen</NAME>, geboren op <DATE>12-03-1960</DATE>.",
                "BSN <NATIONAL_ID>111222333</NATIONAL_ID>, tel. <PHONE>06-12345678</PHONE>\r\n",
                "Mail <EMAIL>jan@example.nl</EMAIL>; <AGE>45</AGE> jaar oud.",
                "Verwezen naar het <HOSPITAL>Antonius Ziekenhuis</HOSPITAL>.",
                # A number that fails the check of eleven is an id. Near misses: a pressure, a
                # disease that bears a name.
                "nummer <ID>111222334</ID>",
                "RR 120/80, Na 138",
                "ziekte van Parkinson",
            )
        },
        frozenset({Phi.FAX}),
        labels=("TAGS", "bsn"),
        options=lambda folder: {"cache": str(folder)},
        is_slow=True,
    ),
    "openmed": Wrapped(
        "OpenmedDetector",
        "0.1.0+openmed3.1.0",
        {
            "en": (
                "Write to <EMAIL>jane.roe@example.org</EMAIL> today.",
                "Tel. <PHONE>617-555-0143</PHONE>\r\n",
                "SSN <NATIONAL_ID>536-22-8726</NATIONAL_ID>",
                "Seen <DATE>05/03/2021</DATE>, again <DATE>3 May 2021</DATE>.",
                "<MRN>MRN 1234567</MRN>",
                "Seen by Dr. Lee.",
            )
        },
        PLACES | {Phi.NAME, Phi.HOSPITAL, Phi.AGE},
        labels=("ENTITIES", "email"),
    ),
    "phileas": Wrapped(
        "PhileasDetector",
        "0.1.0+phileas-redact1.0.0",
        {
            "en": (
                "Write to <EMAIL>jane.roe@example.org</EMAIL> today.",
                "SSN <NATIONAL_ID>536-22-8726</NATIONAL_ID>",
                "server at <IP>192.0.2.44</IP>",
                "Seen <DATE>05/03/2021</DATE>, again <DATE>June 7, 2021</DATE>.",
                "lives at <STREET>12 Oak Street</STREET>",
                # A sum of money, a name, a European date.
                "paid $12.50",
                "Seen by Dr. Lee on 3.5.2021.",
            )
        },
        PLACES | {Phi.NAME, Phi.HOSPITAL, Phi.MRN},
        labels=("FILTERS", "ssn"),
    ),
    "presidio": Wrapped(
        "PresidioDetector",
        "0.1.0+presidio2.2.366",
        {
            "en": (
                "Write to <EMAIL>jane.roe@example.org</EMAIL> today.",
                "SSN <NATIONAL_ID>536-22-8726</NATIONAL_ID>",
                "Seen <DATE>05/03/2021</DATE>, again <DATE>2021-06-07</DATE>.",
                "server at <IP>192.0.2.44</IP>",
                "IBAN <ACCOUNT>DE89370400440532013000</ACCOUNT> 2 days ago",
                "Phone: <PHONE>(617) 555-0143</PHONE>",
                # A wrong check number, and a number without a cue.
                "IBAN DE00370400440532013000",
                "specimen 20431197",
            ),
            "es": (
                "DNI <NATIONAL_ID>12345678Z</NATIONAL_ID>",
                "Correo <EMAIL>a.b@example.es</EMAIL>\r\n",
                "DNI 12345678A",
            ),
            None: ("mail <EMAIL>a.b@example.org</EMAIL>",),
        },
        frozenset({Phi.NAME, Phi.LOCATION, Phi.ORGANIZATION}),
        labels=("ENTITIES", "EMAIL_ADDRESS"),
        nests=True,  # reads the domain of an e-mail address as a URL too
    ),
    "scrubadub": Wrapped(
        "ScrubadubDetector",
        "0.1.0+scrubadub2.0.1",
        {
            "en": (
                "Write to <EMAIL>jane.roe@example.org</EMAIL> today.",
                "Tel. <PHONE>617-555-0143</PHONE>\r\n",
                "SSN <NATIONAL_ID>536-22-8726</NATIONAL_ID>",
                "card <ACCOUNT>4111111111111111</ACCOUNT>",
                # A date, a name, and a German number in an English note.
                "Seen on 05/03/2021 by Dr. Lee.",
                "Tel. 030 901820",
            ),
            "de": ("Tel. <PHONE>030 901820</PHONE>",),
        },
        PLACES | {Phi.NAME, Phi.DATE, Phi.AGE, Phi.MRN},
        labels=("FILTH", "email"),
    ),
    "spacy": Wrapped(
        "SpacyDetector",
        "0.1.0+spacy3.",
        {
            "en": (
                "Seen by <NAME>Dr Lee</NAME> in <LOCATION>Quahog</LOCATION>.\r\n",
                "\U0001f600 <NAME>Dr Lee</NAME>",
                "paid $ 12",  # a label that is ignored on purpose
            )
        },
        frozenset(Phi) - {Phi.NAME, Phi.LOCATION, Phi.ORGANIZATION, Phi.DATE},
        options=_spacy_model,
    ),
}
"""By the plugin's name."""
