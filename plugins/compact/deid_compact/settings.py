"""The ``[settings]`` of a recipe for the trainer ``compact``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from deid_assets.extending import Phi
from deid_assets.extending.settings import check_settings

Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0, lt=1)]


class CompactSettings(BaseModel):
    """All settings of a recipe, with their defaults.

    Args:
        width: Of the layers.
        parts: Width of the table of hashed parts of words.
        epochs: Passes over the notes.
        copies: Varied copies of each note, beside the note itself.
        batch_words: Most words in a training step, filling counted.
        longest: Words of a note that are learnt together.
        learning_rate: At its highest; the table's is twice that.
        dropout: Of each layer.
        hide: Share of the words whose spelling is hidden in training, so that more is learnt from
            their neighbours.
        parts_alone: Share of the words that are known by their parts alone in training, as words
            are that were never seen.
        label_dropout: Share of the notes in which most labels of the other detector are hidden in
            training.
        smoothing: Share of the loss that asks for all outputs alike.
        predictions_of: Detector whose spans the network is told and is united with.
        veto: A span of that detector is left out where the network gives none of its words this
            probability.
        threshold: Probability from which a word is marked, where the development notes choose none.
        wanted_precision: Of each category on the development notes; its threshold is the lowest
            that reaches it.
        highest_threshold: That a category gets where its threshold reaches no such precision.
        beside: Probability from which a word is marked beside a marked name, place or institution;
            1 for never.
        silent: Categories that are learnt and not returned.
        teacher: Model folder of an encoder whose probabilities for the raw notes are learnt, or
            empty.
        teacher_share: Of the loss, where there is a teacher.
        threads: Cores to use; all when not given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    width: Annotated[int, Field(ge=8, le=1024)] = 128
    parts: Annotated[int, Field(ge=8, le=1024)] = 64
    epochs: Positive = 4
    copies: Annotated[float, Field(ge=0, le=50)] = 5.0
    batch_words: Annotated[int, Field(ge=64)] = 6000
    longest: Annotated[int, Field(ge=32)] = 400
    learning_rate: Rate = 2e-3
    dropout: Share = 0.15
    hide: Share = 0.05
    parts_alone: Share = 0.4
    label_dropout: Share = 0.3
    smoothing: Share = 0.0
    predictions_of: str = "rules"
    veto: Share = 0.05
    threshold: Rate = 0.5
    wanted_precision: Share | None = None
    highest_threshold: Rate = 0.95
    beside: Annotated[float, Field(gt=0, le=1)] = 1.0
    silent: frozenset[Phi] = frozenset({Phi.PROFESSION})
    teacher: str = ""
    teacher_share: Share = 0.5
    threads: Positive | None = None


def read_settings(given: Mapping[str, Any]) -> CompactSettings:
    """Return settings checked and completed.

    Raises:
        ConfigError: A key is unknown or a value is not allowed; the message names each.
    """
    return check_settings(CompactSettings, given, trainer="compact")
