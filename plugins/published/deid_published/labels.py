"""Label maps of published models: those that come along, what is proposed for others, and none that is half decided."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, Phi
from deid_published.aggregation import AGGREGATIONS, WORDS
from deid_published.scheme import labels_of

NO_PHI = "none"
"""What a label map says of a label that is decided to be no PHI."""
_FOLDER = resources.files("deid_published") / "maps"
_PROPOSALS = "proposals.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelChoice:
    """A label map, and what is known of how its models are read.

    Args:
        name: Of the map.
        labels: Label to category, ``None`` for no PHI.
        models: Hub names that it was written for.
        facts: ``languages``, ``licence``, ``size``, ``sure`` and ``note``, as the map says them.
        aggregation: As the authors aggregate, or an empty string where they do not say.
        words: As ``aggregation``.
        window: Sub-tokens that they train with, or 0.
    """

    name: str
    labels: Mapping[str, Phi | None]
    models: Sequence[str] = ()
    facts: Mapping[str, str]
    aggregation: str = ""
    words: str = ""
    window: int = 0


def built_in() -> dict[str, LabelChoice]:
    """Return the label maps that come along, by name."""
    files = [file for file in _FOLDER.iterdir() if file.name.endswith(".toml") and file.name != _PROPOSALS]
    return {
        file.name[:-5]: _parsed(file.read_text("utf-8"), file.name)
        for file in sorted(files, key=lambda file: file.name)
    }


def read_labels(given: str) -> LabelChoice:
    """Return a label map by name or path.

    Raises:
        ConfigError: There is none, or it is wrong; the message names the key.
    """
    known = built_in()
    if given in known:
        return known[given]
    try:
        return _parsed(Path(given).read_text(encoding="utf-8"), given)
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"label map {given!r} is no file and none of {', '.join(known)}") from None


def _parsed(text: str, name: str) -> LabelChoice:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: not TOML: {error}") from None
    labels = values.get("labels")
    if not isinstance(labels, dict) or not labels:
        raise ConfigError(f'{name}: no [labels]; write LABEL = "CATEGORY" lines')
    for key, allowed in (("aggregation", ("", *AGGREGATIONS)), ("words", ("", *WORDS))):
        if values.get(key, "") not in allowed:
            raise ConfigError(f"{name}: {key} is {values[key]!r}; choose of {', '.join(allowed[1:])}")
    return LabelChoice(
        name=name.removesuffix(".toml"),
        labels={label: _category(value, f"{name}: {label}") for label, value in labels.items()},
        models=tuple(values.get("models", ())),
        facts={
            key: str(value) for key, value in values.items() if key in ("languages", "licence", "size", "sure", "note")
        },
        aggregation=str(values.get("aggregation", "")),
        words=str(values.get("words", "")),
        window=int(values.get("window", 0)),
    )


def _category(value: Any, where: str) -> Phi | None:
    if value == NO_PHI:
        return None
    try:
        return Phi(value)
    except ValueError:
        raise ConfigError(f"{where}: {value!r} is no category; choose of {', '.join(Phi)}, or {NO_PHI}") from None


def decided(tags: Sequence[str], choice: LabelChoice, *, where: str) -> dict[str, Phi | None]:
    """Return the category of every label of a model.

    Raises:
        ConfigError: A label is not in the map: it is neither covered nor passed over until someone decides.
    """
    labels = labels_of(tags)
    if missing := [label for label in labels if label not in choice.labels]:
        proposal = propose(missing)
        lines = ", ".join(f'"{label}" = "{value}"' for label, value in proposal.items())
        raise ConfigError(f"{where}: label map {choice.name} does not decide {len(missing)} labels; add {lines}")
    return {label: choice.labels[label] for label in labels}


def propose(labels: Sequence[str]) -> dict[str, str]:
    """Return the category that a label's name speaks for; ``OTHER`` where nothing is known of it, never no PHI."""
    known = _known()
    return {label: known.get(re.sub(r"[\W_]", "", label).lower(), Phi.OTHER.value) for label in labels}


@cache
def _known() -> dict[str, str]:
    table = tomllib.loads((_FOLDER / _PROPOSALS).read_text("utf-8"))
    return {word: category for category, words in table.items() for word in words.split()}


def proposal_text(tags: Sequence[str], *, model: str) -> str:
    """Return a label map to look through and give with ``--labels``."""
    lines = [f'"{label}" = "{value}"' for label, value in propose(labels_of(tags)).items()]
    head = f'# Proposed for {model} from the names of its labels: check each line. "{NO_PHI}" is no PHI.'
    return "\n".join([head, "[labels]", *lines, ""])
