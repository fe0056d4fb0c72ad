"""The ``[settings]`` of a recipe for the trainer ``encoder``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from deid_assets.extending import Phi
from deid_assets.extending.settings import check_settings

Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0, lt=1)]
LONGEST_WINDOW = 510
"""Positions of the encoder less the two ends of an input."""


class EncoderSettings(BaseModel):
    """All settings of a recipe, with their defaults.

    Args:
        layers: Blocks of the encoder that are used, from below; fewer read faster.
        frozen: Of these, the lower ones that stay as they are published. Their states are computed
            once.
        epochs: Passes over the windows.
        patience: Epochs without a smaller loss on the development notes before training stops; the
            best are kept.
        copies: Varied copies of each note, beside the note itself: other names, lower case,
            capitals, scans.
        window: Most pieces in an input.
        step: Pieces from the beginning of one window to that of the next.
        batch_pieces: Most pieces in a training step, filling counted.
        learning_rate: Of the blocks, at its highest.
        head_rate: Of the last layer.
        warm_up_steps: Until the rates are at their highest; they fall linearly after them.
        weight_decay: Of AdamW.
        smoothing: Share of the loss that asks for all outputs alike.
        clip: Longest gradient.
        predictions_of: Detector whose spans are united with the network's in use, or empty.
        second: Detector ``compact``, whose opinion and that of ``rules`` are weighed with the
            network's, in place of uniting spans; or empty.
        veto: Where spans are united, one of that detector is left out where the network gives all
            of its words less than this.
        threshold: Probability from which a word is marked, where the development notes choose none.
        wanted_precision: Of each category on the development notes; its threshold is the lowest
            that reaches it.
        silent: Categories that are learnt and not returned.
        bf16: Whether training computes in bfloat16.
        threads: Cores to use; all when not given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layers: Annotated[int, Field(ge=1, le=12)] = 12
    frozen: Annotated[int, Field(ge=0, le=11)] = 4
    epochs: Positive = 3
    patience: Positive = 2
    copies: Annotated[float, Field(ge=0, le=50)] = 1.0
    window: Annotated[int, Field(ge=16, le=LONGEST_WINDOW)] = 254
    step: Positive = 192
    batch_pieces: Annotated[int, Field(ge=64)] = 4200
    learning_rate: Rate = 1.5e-4
    head_rate: Rate = 1e-3
    warm_up_steps: Positive = 60
    weight_decay: Share = 0.01
    smoothing: Share = 0.02
    clip: Annotated[float, Field(gt=0)] = 1.0
    predictions_of: str = "rules"
    second: Literal["", "compact"] = "compact"
    veto: Share = 0.05
    threshold: Rate = 0.7
    wanted_precision: Share | None = None
    silent: frozenset[Phi] = frozenset({Phi.PROFESSION})
    bf16: bool = True
    threads: Positive | None = None

    @model_validator(mode="after")
    def _fits(self) -> EncoderSettings:
        if self.frozen >= self.layers:
            raise ValueError(
                f"frozen is {self.frozen} of {self.layers} layers; leave at least one to be trained"
            )
        if self.step > self.window:
            raise ValueError(
                f"step {self.step} is over window {self.window}: pieces between them would not be"
                " read"
            )
        return self


def read_settings(given: Mapping[str, Any]) -> EncoderSettings:
    """Return settings checked and completed.

    Raises:
        ConfigError: A key is unknown or a value is not allowed; the message names each.
    """
    return check_settings(EncoderSettings, given, trainer="encoder")
