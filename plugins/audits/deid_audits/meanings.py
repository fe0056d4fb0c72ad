"""What a figure says to whoever has to decide, and what to do about it.

A sentence each, by the beginning of its name.
"""

from __future__ import annotations

_TRAIN_LESS = (
    "redact the notes before training, train for fewer epochs, or use differential privacy"
)
_MEANINGS: tuple[tuple[str, str], ...] = (
    (
        "AUC",
        "How well an attacker tells who was in the training notes; 0.5 is a guess. If it is"
        " higher, " + _TRAIN_LESS + ".",
    ),
    (
        "true positives at",
        "Share of members of whom the attacker is almost sure. If it is above chance, "
        + _TRAIN_LESS
        + ".",
    ),
    (
        "recall",
        (
            "Share of the training notes that the attacker calls so at one threshold. Compare it"
            " with the false positives."
        ),
    ),
    (
        "false positives",
        (
            "Share of other notes that the attacker calls training notes. It is what a guess would"
            " give as recall."
        ),
    ),
    (
        "accuracy",
        "Share of the attacker's calls that are right; 0.5 is a guess. If it is higher, "
        + _TRAIN_LESS
        + ".",
    ),
    (
        "precision",
        "Of the notes that the attacker calls training notes, so many are; 0.5 is a guess.",
    ),
    (
        "texts with a patient's",
        (
            "Share of the model's texts that hold a patient's name. If it is not 0, redact names"
            " before training."
        ),
    ),
    (
        "names of the corpus seen",
        (
            "Share of all patients' names that the model says. If it is not 0, redact names before"
            " training."
        ),
    ),
    (
        "name with a condition of",
        (
            "How often a name stands with what that patient has. Above chance it is a leak: do not"
            " release the model."
        ),
    ),
    (
        "name with another's",
        (
            "How often a name stands with what another has. If it is more frequent than the right"
            " one, links tell little."
        ),
    ),
    (
        "6 words in a row",
        "Share of the model's texts that repeat a note. If it is not 0, do not release the model; "
        + _TRAIN_LESS
        + ".",
    ),
    (
        "copies told",
        "How well an attacker picks the repeated notes out of the model's texts; 0.5 is a guess.",
    ),
    (
        "gaps left",
        (
            "Share of the texts with a gap left open. If it is high, the texts say little: let the"
            " audit draw with more steps."
        ),
    ),
    (
        "repetition",
        (
            "Share of the texts that repeat themselves. If it is high, the texts say little: draw"
            " them in another way."
        ),
    ),
    (
        "Self-BLEU",
        (
            "How alike the texts are. If it is near 1, draw more of them: what was found holds for"
            " a few texts only."
        ),
    ),
    (
        "Zipf",
        (
            "How the frequencies of words fall; near 1 is human text. If it is far off, the texts"
            " are poor and the attack weak."
        ),
    ),
    (
        "truth ranked first",
        "How often the model holds the true name or secret for the likeliest. If it is above"
        " chance, " + _TRAIN_LESS + ".",
    ),
    (
        "others beaten in the notes' words -",
        (
            "How much better the model knows it in the very words of the notes. Above 0 it learnt"
            " them by heart."
        ),
    ),
    (
        "others beaten",
        "How far the model prefers the true name or secret to others; 0.5 is a guess. If it is"
        " higher, " + _TRAIN_LESS + ".",
    ),
    (
        "exposure in bits",
        "Bits by which a guess at the secret gets easier. If it is above chance, "
        + _TRAIN_LESS
        + ".",
    ),
    (
        "drawn out by a prompt",
        (
            "Share of secrets that the model says when asked. If it is not 0, do not release the"
            " model."
        ),
    ),
    (
        "share of the attacker's picks",
        (
            "Of the words that an attacker takes for missed identifiers, so many are. If it is"
            " high, use surrogates."
        ),
    ),
    (
        "chance that a missed",
        (
            "How well missed identifiers stand out among replacements; 0.5 is a guess. If it is"
            " higher, use surrogates."
        ),
    ),
    (
        "persons linked",
        (
            "Share of patients whose record an acquaintance finds. If it is above the guess, redact"
            " more categories."
        ),
    ),
    (
        "risk beyond",
        (
            "Share of patients that an attack succeeds on because they are in the release. If it is"
            " not near 0, redact more categories."
        ),
    ),
    (
        "share of identifiers found",
        (
            "Share of identifiers that is redacted. If its lower end is too low for you, add a"
            " detector or review more notes."
        ),
    ),
    (
        "identifiers left",
        (
            "How many identifiers probably remain. If they are too many, add a detector or have"
            " notes reviewed before release."
        ),
    ),
    (
        "spans redacted needlessly",
        (
            "How many words are redacted that identify nobody. If they are many, the text loses"
            " use: train the detector further."
        ),
    ),
    (
        "real identifiers left",
        (
            "How many identifiers somebody might learn from a model. It rests on an assumed rate:"
            " treat it as an order of size."
        ),
    ),
)
UNKNOWN = (
    "The value, its 95 % interval and what chance gives; the rules below say what was asked of it."
)


def meaning_of(name: str) -> str:
    """Return the sentence of a figure; a general one of a figure that another plugin measured."""
    return next((said for begin, said in _MEANINGS if name.startswith(begin)), UNKNOWN)
