"""Recipes: one small TOML file per trained tagger.

::

    name = "crf"
    description = "Linear-chain CRF over eight languages of synthetic notes."
    plugin = "crf"
    corpora = ["synthetic:en:100", "synthetic:es:100"]   # where none are given on the command line
    strategy = "mix"
    scheme = "bioes"
    grouping = 1                                         # or "auto", or "128 words"
    seed = 1

    [settings]                                           # the plugin's own
    c2 = 0.01
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from deid_assets.core.errors import ConfigError, did_you_mean
from deid_assets.core.tagging import TagScheme
from deid_assets.own_plugins import describe_missing
from deid_assets.plugins import RECIPES, available

_FOLDER = resources.files("deid_assets.training") / "recipes"
BUILTIN: tuple[str, ...] = tuple(
    sorted(path.name[:-5] for path in _FOLDER.iterdir() if path.name.endswith(".toml"))
)
"""Names of the recipes that come with the package."""
_OF_STUDY = re.compile(r"[abc][1-8](_.+)?")
"""Names of the recipes of Catelli (2021), which the laboratory brings."""

WORDS = r"^[1-9]\d{0,4} words$"


class Strategy(StrEnum):
    """Strategy for several training corpora (Catelli 2021, section 3)."""

    SINGLE = "single"
    """One corpus."""
    MIX = "mix"
    """All corpora at once."""
    SEQUENTIAL = "sequential"
    """One after the other; each phase begins with what the one before learnt."""


class Recipe(BaseModel):
    """Recipe of a tagger.

    Args:
        name: Part of the asset keys, and the source of the spans that the tagger finds.
        description: One line for the UI.
        differs: What is otherwise than in the system that it is named after, in one line.
        plugin: Trainer and detector, by entry-point name.
        corpora: ``synthetic:LANG:NOTES`` (``:SEED``, ``LANG/MIX``), ``gold`` for what people
            annotated in this installation, or a file or folder of annotated notes; environment
            variables are filled in. In the order of the strategy.
        raw: Unannotated notes, named likewise, for language models and vocabularies; ``received``
            for all notes of this installation, for a tagger that learns from the notes it reads.
        strategy: What of several corpora is learnt when.
        labels: Whether tags carry categories or the corpus' own labels.
        label_map: Label map of the corpora that are files; the format's own when empty.
        scheme: Tag scheme.
        grouping: Consecutive sentences in one input, ``auto``: mean length nearest to
            ``budget_tokens``, or ``128 words``: chunks of so many words, blanks between them,
            whatever the sentences.
        budget_tokens: Of ``auto``.
        limit_tokens: Of ``auto``, for an encoder with a limit: the most sentences of which no input
            has more tokens, in place of the budget. Sub-tokens are more than tokens: 300 for 512 is
            safe in most languages.
        dev_share: Share of the patients of the last corpus that is held out for model selection
            where no development notes are given.
        seed: Of everything random.
        runs: Times that it is trained, with seeds ``seed``, ``seed + 1`` and so on; the best on dev
            is kept.
        onnx: Precision in which an exported network is used: ``fp32``, ``fp16`` or ``int8``.
        licence: Of the corpora, for the model card.
        settings: Hyper-parameters of the plugin.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
    description: str = ""
    differs: str = ""
    plugin: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
    corpora: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()
    strategy: Strategy = Strategy.SINGLE
    labels: Literal["category", "native"] = "category"
    label_map: str = ""
    scheme: TagScheme = TagScheme.BIO
    grouping: (
        Annotated[int, Field(ge=1, le=1000)]
        | Literal["auto"]
        | Annotated[str, Field(pattern=WORDS)]
    ) = 1
    budget_tokens: int = Field(default=200, ge=1)
    limit_tokens: int = Field(default=0, ge=0)
    dev_share: float = Field(default=0.1, gt=0, lt=1)
    seed: int = Field(default=1, ge=0)
    runs: int = Field(default=1, ge=1, le=100)
    onnx: Literal["fp32", "fp16", "int8"] = "fp32"
    licence: str = ""
    settings: Mapping[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _strategy_fits(self) -> Recipe:
        check_strategy(self.strategy, len(self.corpora), least=0)
        return self

    @property
    def native(self) -> bool:
        """Whether tags carry the corpus' own labels."""
        return self.labels == "native"

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides on the model; the description and the licence do not."""
        values = self.model_dump(mode="json", exclude={"description", "differs", "licence", "onnx"})
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def check_strategy(strategy: Strategy, corpora: int, *, least: int = 1) -> None:
    """Refuse a number of corpora that the strategy has no use for.

    Raises:
        ConfigError: ``single`` with several corpora, ``mix`` or ``sequential`` with one, or too few
            at all.
    """
    if corpora < least:
        raise ConfigError("no training corpus; give --train, or name corpora in the recipe")
    if strategy is Strategy.SINGLE and corpora > 1:
        raise ConfigError(
            f"strategy single takes one corpus, not {corpora}; choose mix or sequential"
        )
    if strategy is not Strategy.SINGLE and corpora == 1:
        raise ConfigError(f"strategy {strategy.value} takes two corpora or more; choose single")


def load_recipe(name_or_path: str | Path, *, changes: Mapping[str, Any] | None = None) -> Recipe:
    """Return a recipe that comes with the package or a plugin, by name, or one from a TOML file.

    Args:
        name_or_path: Which.
        changes: Values in place of the file's own.

    Raises:
        ConfigError: There is no such recipe, or it is wrong; the message names the file and the
            key.
    """
    where = f"recipe {name_or_path}" if name_or_path in recipe_names() else str(name_or_path)
    try:
        values = tomllib.loads(_source(name_or_path)) | dict(changes or {})
        return Recipe.model_validate(values)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: not TOML in UTF-8: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "recipe"
        raise ConfigError(f"{where}: {key}: {first['msg'].removeprefix('Value error, ')}") from None


def recipe_names() -> list[str]:
    """Return the recipes that can be named: those of the package, then those of plugins."""
    return [*BUILTIN, *sorted(_of_plugins())]


def _of_plugins() -> dict[str, Path]:
    """Return the files of the recipes of plugins by name, of which none takes that of the
    package's.
    """
    specs = [find_spec(one.package) for one in available(RECIPES).values() if not one.fault]
    folders = [
        Path(folder) for spec in specs if spec for folder in spec.submodule_search_locations or ()
    ]
    files = [file for folder in folders for file in folder.glob("recipes/*.toml")]
    return {file.stem: file for file in files if file.stem not in BUILTIN}


def _source(name_or_path: str | Path) -> str:
    if name_or_path in BUILTIN:
        return (_FOLDER / f"{name_or_path}.toml").read_text("utf-8")
    plugged = _of_plugins()
    try:
        return plugged.get(str(name_or_path), Path(name_or_path)).read_text("utf-8")
    except OSError:
        known = [*BUILTIN, *sorted(plugged)]
        if not plugged and _OF_STUDY.fullmatch(str(name_or_path)):
            raise ConfigError(
                f"recipe {str(name_or_path)!r}: {describe_missing(RECIPES, 'catelli')}"
            ) from None
        raise ConfigError(
            f"there is no recipe {str(name_or_path)!r}{did_you_mean(str(name_or_path), known)};"
            f" choose one of {', '.join(known)}, or give a TOML file"
        ) from None
