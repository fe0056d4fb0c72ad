"""The recipe's ``[settings]`` for the trainer ``causal``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from deid_assets.extending.settings import check_settings

NEW = "new"
CLIP = 1.0
_PRIVATE = ("epsilon", "delta", "clip")
Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[int, Field(ge=1)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NewCausal(_Frozen):
    """A model of Llama's kind that begins with no weights."""

    layers: Positive = 2
    width: Positive = 64
    heads: Positive = 4
    feed_forward: Positive = 192
    vocabulary: Annotated[int, Field(ge=300)] = 1_000
    context: Annotated[int, Field(ge=16)] = 128


class Adapter(_Frozen):
    """A LoRA adapter (Hu et al. 2022), with the settings of Vakili et al. (2025).

    Args:
        rank: Of the added matrices.
        alpha: Their weight, divided by ``rank``.
        dropout: Before them.
        targets: Projections that are adapted.
    """

    rank: Positive = 8
    alpha: Positive = 32
    dropout: Share = 0.05
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")


class CausalSettings(_Frozen):
    """Training of a causal language model on raw notes, with the plain next-token objective.

    Args:
        base: Folder or hub name of a causal language model, or ``new``.
        new: The new model.
        method: ``full``: all weights are trained; ``lora``: an adapter, merged into the base at the
            end.
        adapter: Of ``lora``.
        bits: Of the base's weights under an adapter; 4 and 8 (QLoRA, Dettmers et al. 2023) need
            bitsandbytes.
        epochs: Passes over the notes.
        batch: Sequences in a step.
        length: Most tokens in a sequence; longer notes are cut.
        packed: Whether notes are joined and cut, so that a sequence may hold text of two notes.
        learning_rate: At its highest; it rises over the warm-up and falls linearly to 0.
        warm_up: Share of the steps until then.
        weight_decay: Of AdamW.
        held_out: Share of the notes that is held out; their loss is in the curve.
        keep_epochs: Whether each epoch's model is kept under ``epochs``.
        threads: Cores to use; all when not given.
        allow_download: Whether the base may be fetched by its hub name.
        epsilon: Most that the weights may tell of a patient, by differential privacy; noise is
            added until they keep it. Nothing is promised where it is not given.
        delta: Chance with which epsilon need not hold; a tenth of one over the patients when not
            given.
        clip: Longest gradient of a patient, 1 when not given.
    """

    base: str = NEW
    new: NewCausal = NewCausal()
    method: Literal["full", "lora"] = "full"
    adapter: Adapter = Adapter()
    bits: Literal[4, 8, 32] = 32
    epochs: Positive = 6
    batch: Positive = 16
    length: Annotated[int, Field(ge=8)] = 128
    packed: bool = False
    learning_rate: Annotated[float, Field(gt=0, lt=1)] = 1e-4
    warm_up: Share = 0.03
    weight_decay: Share = 0.1
    held_out: Share = 0.0
    keep_epochs: bool = False
    threads: Positive | None = None
    allow_download: bool = False
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    clip: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> CausalSettings:
        if self.new.width % (2 * self.new.heads):
            raise ValueError(
                f"new.width {self.new.width} must be an even multiple of new.heads {self.new.heads}"
            )
        if self.base == NEW and self.length > self.new.context:
            raise ValueError(f"length {self.length} is over new.context {self.new.context}")
        if self.base == NEW and self.method == "lora":
            raise ValueError('method lora adapts a base; name one, or take method = "full"')
        if self.bits != 32 and self.method != "lora":
            raise ValueError('bits below 32 are for method = "lora"')
        return self

    @model_validator(mode="after")
    def _promises(self) -> CausalSettings:
        if self.epsilon is None:
            if self.delta is not None or self.clip is not None:
                raise ValueError("delta and clip are of a training with epsilon; give it too")
            return self
        if self.base == NEW:
            raise ValueError(
                "epsilon needs a base: the tokenizer of a new model is learnt from the notes, which"
                " no noise covers; name a model that read other notes"
            )
        if self.packed:
            raise ValueError("packed joins notes of two patients; epsilon is of each, so leave it")
        if self.held_out:
            raise ValueError(
                "held_out tells a loss of notes that no noise covers; with epsilon leave it"
            )
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the values as they are stored: what only epsilon needs, where it is given."""
        values = self.model_dump(mode="json")
        absent = [name for name in _PRIVATE if values[name] is None]
        return {name: value for name, value in values.items() if name not in absent}


def read_settings(given: Mapping[str, Any]) -> CausalSettings:
    """Return settings checked and completed.

    Raises:
        ConfigError: A key is unknown or a value is not allowed; the message names each.
    """
    return check_settings(CausalSettings, given, trainer="causal")
