"""The sentences in which a masked language model is asked for a word, one for each language and
category.

They stand in for the note's own text, so that a value has the same candidates in every note.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from deid_assets import Phi


class Sentence(NamedTuple):
    """A blank in a sentence for a category, the same in every note.

    Args:
        opening: What stands before the value.
        parts: Words of the value that are shown, and ``None`` for each blank.
        place: The part that is predicted.
    """

    opening: str
    parts: tuple[str | None, ...]
    place: int


class Blank(NamedTuple):
    """A blank as sub-tokens: what stands before it and after it."""

    before: tuple[int, ...]
    after: tuple[int, ...]


class BlankQuestion(NamedTuple):
    """A question to the model: which words may stand in a blank?

    Args:
        blank: Where.
        word: What the blank hides, in the case in which candidates are wanted.
        is_proper: Whether words that the vocabulary has with a small letter too are none:
            "Pressure" is no name.
    """

    blank: Sentence | Blank
    word: str
    is_proper: bool = False


WORDED = (
    Phi.NAME,
    Phi.PROFESSION,
    Phi.STREET,
    Phi.CITY,
    Phi.REGION,
    Phi.COUNTRY,
    Phi.LOCATION,
    Phi.HOSPITAL,
    Phi.ORGANIZATION,
)
"""Categories whose values are words of which one may stand for another.

The sentences are in this order.
"""

_OPENINGS: Mapping[str, str] = {
    "en": (
        "The patient is called|She works as a|He lives at|She lives in the city of|He lives in the"
        " state of|She comes from|He was brought from|She was admitted to|He works for"
    ),
    "es": (
        "El paciente se llama|Ella trabaja de|Vive en la|Ella vive en la ciudad de|Vive en la"
        " provincia de|Ella viene de|Fue traído desde|Ella ingresó en el|Trabaja para"
    ),
    "it": (
        "Il paziente si chiama|Lei lavora come|Abita in|Lei vive nella città di|Vive nella regione"
        "|Lei viene da|È stato portato da|Lei è stata ricoverata presso|Lavora per"
    ),
    "fr": (
        "Le patient s'appelle|Elle travaille comme|Il habite|Elle vit dans la ville de|Il vit dans"
        " la région|Elle vient de|Il a été amené de|Elle a été admise à|Il travaille pour"
    ),
    "de": (
        "Der Patient heißt|Sie arbeitet als|Er wohnt in der|Sie lebt in der Stadt|Er lebt in der"
        " Region|Sie kommt aus|Er wurde gebracht aus|Sie wurde aufgenommen im|Er arbeitet bei"
    ),
    "nl": (
        "De patiënt heet|Zij werkt als|Hij woont aan de|Zij woont in de stad|Hij woont in de"
        " provincie|Zij komt uit|Hij werd gebracht uit|Zij werd opgenomen in het|Hij werkt bij"
    ),
    "sv": (
        "Patienten heter|Hon arbetar som|Han bor på|Hon bor i staden|Han bor i landskapet"
        "|Hon kommer från|Han kom hit från|Hon lades in på|Han arbetar på"
    ),
    "fi": (
        "Potilaan nimi on|Hänen ammattinsa on|Hänen katunsa on|Hänen kaupunkinsa on|Hänen"
        " maakuntansa on|Hänen kotimaansa on|Hänen kotipaikkansa on|Hänen sairaalansa on|Hänen"
        " työpaikkansa on"
    ),
}


def opening(lang: str | None, label: Phi) -> str:
    """Return what stands before a value.

    English for a note without a language, nothing for one without sentences.
    """
    openings = _OPENINGS.get("en" if lang is None else lang)
    return openings.split("|")[WORDED.index(label)] if openings else ""
