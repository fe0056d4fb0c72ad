"""Label maps of published models.

Those that come along, what is proposed for others, and none that is half decided.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from deid_assets.extending import ConfigError, Phi
from deid_published.aggregation import AGGREGATIONS, WORDS

NO_PHI = "none"
"""What a label map says of a label that is decided to be no PHI."""
_HERE = "deid_published"
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
        threshold: Least score of what counts, where the model has one.
        is_built_in: Whether it came along.
    """

    name: str
    labels: Mapping[str, Phi | None]
    models: Sequence[str] = ()
    facts: Mapping[str, str]
    aggregation: str = ""
    words: str = ""
    window: int = 0
    threshold: float | None = None
    is_built_in: bool = False


def read_built_in(package: str = _HERE) -> dict[str, LabelChoice]:
    """Return the label maps that come along with a package, by name."""
    folder = resources.files(package) / "maps"
    files = [
        file for file in folder.iterdir() if file.name.endswith(".toml") and file.name != _PROPOSALS
    ]
    return {
        file.name[:-5]: replace(_parse(file.read_text("utf-8"), file.name), is_built_in=True)
        for file in sorted(files, key=lambda file: file.name)
    }


def read_labels(given: str, known: Mapping[str, LabelChoice] | None = None) -> LabelChoice:
    """Return a label map by name, of those known, or by path.

    Raises:
        ConfigError: There is none, or it is wrong; the message names the key.
    """
    known = read_built_in() if known is None else known
    if given in known:
        return known[given]
    try:
        return _parse(Path(given).read_text(encoding="utf-8"), given)
    except (OSError, UnicodeDecodeError):
        raise ConfigError(
            f"label map {given!r} is no file and none of {', '.join(known) or 'no maps'}"
        ) from None


def _parse(text: str, name: str) -> LabelChoice:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: not TOML: {error}") from None
    labels = values.get("labels")
    if not isinstance(labels, dict) or not labels:
        raise ConfigError(f'{name}: no [labels]; write LABEL = "CATEGORY" lines')
    for key, allowed in (("aggregation", ("", *AGGREGATIONS)), ("words", ("", *WORDS))):
        if values.get(key, "") not in allowed:
            raise ConfigError(
                f"{name}: {key} is {values[key]!r}; choose of {', '.join(allowed[1:])}"
            )
    threshold = values.get("threshold")
    if threshold is not None and not (isinstance(threshold, float) and 0 <= threshold <= 1):
        raise ConfigError(f"{name}: threshold is {threshold!r}; give 0.0 to 1.0")
    return LabelChoice(
        name=name.removesuffix(".toml"),
        labels={label: _category(value, f"{name}: {label}") for label, value in labels.items()},
        models=tuple(values.get("models", ())),
        facts={
            key: str(value)
            for key, value in values.items()
            if key in ("languages", "licence", "size", "sure", "note")
        },
        aggregation=str(values.get("aggregation", "")),
        words=str(values.get("words", "")),
        window=int(values.get("window", 0)),
        threshold=threshold,
    )


def _category(value: Any, where: str) -> Phi | None:
    if value == NO_PHI:
        return None
    try:
        return Phi(value)
    except ValueError:
        raise ConfigError(
            f"{where}: {value!r} is no category; choose of {', '.join(Phi)}, or {NO_PHI}"
        ) from None


def decide_labels(
    labels: Sequence[str], choice: LabelChoice, *, where: str, file: Path
) -> dict[str, Phi | None]:
    """Return the category of every label of a model.

    Args:
        labels: Of the model.
        choice: The map.
        where: What the model is called in errors.
        file: Where a whole map is proposed for a model that a map which came along does not decide.

    Raises:
        ConfigError: A label is not in the map: it is neither covered nor passed over until someone
            decides.
    """
    if missing := [label for label in labels if label not in choice.labels]:
        proposal = propose(missing)
        lines = ", ".join(f'"{label}" = "{value}"' for label, value in proposal.items())
        told = f"{where}: label map {choice.name} does not decide {len(missing)} labels"
        if not choice.is_built_in:
            raise ConfigError(f"{told}; add {lines}")
        _write_proposal(file, whole_map(labels, choice, model=where))
        raise ConfigError(
            f"{told} ({lines}); a whole map is proposed in {file}: check it and give --labels"
            f" {file}"
        )
    return {label: choice.labels[label] for label in labels}


def whole_map(labels: Sequence[str], choice: LabelChoice, *, model: str) -> str:
    """Return a label map for a model.

    What a map decides, how it says that the model is read, and proposals for the rest.
    """
    read = {
        "aggregation": choice.aggregation,
        "words": choice.words,
        "window": choice.window,
        "threshold": choice.threshold,
    }
    known = [label for label in labels if label in choice.labels]
    proposed = propose([label for label in labels if label not in choice.labels])
    return "\n".join(
        [
            (
                f"# Proposed for {model} from the map {choice.name}: check the lines behind the"
                f' last #. "{NO_PHI}" is no PHI.'
            ),
            *(f"{key} = {json.dumps(value)}" for key, value in read.items() if value),
            "[labels]",
            *(
                _line(label, category.value if (category := choice.labels[label]) else NO_PHI)
                for label in known
            ),
            f"# From their names alone, since {choice.name} does not know them:",
            *(_line(label, value) for label, value in proposed.items()),
            "",
        ]
    )


def _line(label: str, value: str) -> str:
    return f'{json.dumps(label, ensure_ascii=False)} = "{value}"'


def _write_proposal(file: Path, text: str) -> None:
    """Write a proposal where none is yet: one that someone has begun to check stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(text, encoding="utf-8")


def propose(labels: Sequence[str]) -> dict[str, str]:
    """Return the category that a label's name speaks for.

    ``OTHER`` where nothing is known of it, never no PHI.
    """
    known = _read_known()
    return {
        label: known.get(re.sub(r"[\W_]", "", label).lower(), Phi.OTHER.value) for label in labels
    }


@cache
def _read_known() -> dict[str, str]:
    table = tomllib.loads((resources.files(_HERE) / "maps" / _PROPOSALS).read_text("utf-8"))
    return {word: category for category, words in table.items() for word in words.split()}


def choose_labels(
    given: str, *, known: Mapping[str, LabelChoice], source: str, labels: Sequence[str], file: Path
) -> LabelChoice:
    """Return the label map that is given, or that was written for this very model.

    Args:
        given: Name or path of a map, or an empty string.
        known: Maps that come along, by name.
        source: Name of the model.
        labels: Of the model, for the proposal.
        file: Where it is written.

    Raises:
        ConfigError: There is none; one is proposed in ``file``.
    """
    if given:
        return read_labels(given, known)
    for choice in known.values():
        if source in choice.models:
            return choice
    _write_proposal(file, proposal_text(labels, model=source))
    raise ConfigError(
        f"{source}: no label map; one is proposed in {file}: check it and give --labels {file}"
    )


def proposal_text(labels: Sequence[str], *, model: str) -> str:
    """Return a label map to look through and give with ``--labels``."""
    lines = [_line(label, value) for label, value in propose(labels).items()]
    head = (
        f'# Proposed for {model} from the names of its labels: check each line. "{NO_PHI}" is no'
        " PHI."
    )
    return "\n".join([head, "[labels]", *lines, ""])
