"""The recipe's ``[settings]`` for the trainer ``generative``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from deid_assets.extending.settings import check_settings

NEW = "new"
Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, lt=1)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NewModel(_Frozen):
    """A causal model of Llama's kind that begins with no weights, and learns to copy before it
    learns to redact.

    Copying is learnt without labels: stretches of the notes, from short ones to whole ones, are to
    be copied, with a placeholder in the place of runs of words drawn at random.

    Args:
        layers: Transformer blocks.
        width: Width of a block; a multiple of ``heads``.
        heads: Attention heads.
        feed_forward: Width between a block's two layers.
        vocabulary: Most tokens to learn, by byte-level BPE.
        context: Most tokens of prompt and output.
        steps: Optimiser steps of copying.
        batch: Tokens of notes in such a step, about.
        shortest: Tokens of the stretches that copying begins with.
        learning_rate: At its highest.
        removed: Share of the words that are in a run drawn at random.
        save_every: Steps between checkpoints.
    """

    layers: Positive = 4
    width: Positive = 128
    heads: Positive = 4
    feed_forward: Positive = 384
    vocabulary: Annotated[int, Field(ge=300)] = 2_000
    context: Annotated[int, Field(ge=64)] = 1_024
    steps: Annotated[int, Field(ge=0)] = 1_500
    batch: Positive = 2_048
    shortest: Annotated[int, Field(ge=4)] = 16
    learning_rate: Rate = 2e-3
    removed: Share = 0.08
    save_every: Positive = 250


class Lora(_Frozen):
    """The adapter, as in Dorémus et al. (2025).

    Args:
        rank: Of the added matrices.
        alpha: Their weight, divided by ``rank``.
        dropout: Before them.
        targets: Projections that are adapted.
    """

    rank: Positive = 32
    alpha: Positive = 64
    dropout: Share = 0.1
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj")


class GenerativeSettings(_Frozen):
    """All settings; the defaults are those of Dorémus et al. (2025), and where it is silent, the
    usual ones.

    Args:
        base: Folder or hub name of a causal language model, or ``new``.
        new: The new model.
        prompt: Of the registry, or a TOML file.
        placeholders: ``uniform``: ``[XXXXX]`` for everything; ``typed``: the label in square
            brackets.
        method: ``lora``: an adapter is trained; ``full``: all weights are, which only a new model
            allows.
        lora: The adapter.
        bits: Of the base's weights: 8 and 4 need a GPU and bitsandbytes; ``auto`` takes 8 where
            they are there and the fewest that fit the budget, 16 on a GPU without bitsandbytes, and
            32 on a CPU.
        budget_gb: Memory that the model may take, estimated before it is loaded.
        epochs: Passes over the notes; each is judged on the development notes, and the best is
            kept.
        batch: Notes in an optimiser step.
        micro_batch: Notes that are computed at once.
        learning_rate: At its highest.
        schedule: ``constant`` or ``linear``, which falls to 0.
        warm_up: Share of the steps until then.
        weight_decay: Of AdamW.
        clip: Longest gradient.
        longest: Most tokens of a training note with its answer; notes beyond are cut into windows.
        window: Tokens of a note that a new model reads at once, shorter ends padded to it: a model
            that always finds the source as far behind its copy learns to copy in a fraction of the
            steps. What has nothing to remove is copied then, as ANONYMOUS is said of whole notes. 0
            for what fits.
        choose: What decides on the epoch.
        judged: Most development notes that an epoch is judged on, the first ones; all when 0.
        constrained: Whether outputs are held to the note's words.
        ahead: Source tokens proposed at once; see ``Decoding``.
        bias: Towards placeholders; see ``Decoding``.
        biases: Tried in its place on the development notes once the epoch is chosen; the best by
            ``choose`` is kept.
        checker: Detector that is asked about every note, and believed where it found more; or
            empty.
        threads: Cores to use; all when not given.
        allow_download: Whether the base may be fetched by its hub name.
        licence_accepted: Whether you accepted the base's licence, where it asks for that.
    """

    base: str = NEW
    new: NewModel = NewModel()
    prompt: str = "bare"
    placeholders: Literal["uniform", "typed"] = "uniform"
    method: Literal["lora", "full"] = "lora"
    lora: Lora = Lora()
    bits: Literal[4, 8, 16, 32, "auto"] = "auto"
    budget_gb: Annotated[float, Field(gt=0)] = 16.0
    epochs: Positive = 15
    batch: Positive = 24
    micro_batch: Positive = 4
    learning_rate: Rate = 5e-5
    schedule: Literal["constant", "linear"] = "linear"
    warm_up: Share = 0.03
    weight_decay: Share = 0.01
    clip: Annotated[float, Field(gt=0)] = 1.0
    longest: Annotated[int, Field(ge=32)] = 2_048
    window: Annotated[int, Field(ge=0)] = 0
    choose: Literal["f1", "note_recall"] = "f1"
    judged: Annotated[int, Field(ge=0)] = 200
    constrained: bool = True
    ahead: Annotated[int, Field(ge=0)] = 24
    bias: float = 0.0
    biases: tuple[float, ...] = ()
    checker: str = "rules"
    threads: Positive | None = None
    allow_download: bool = False
    licence_accepted: bool = False

    @model_validator(mode="after")
    def _fits(self) -> GenerativeSettings:
        if self.new.width % (2 * self.new.heads):
            raise ValueError(
                f"new.width {self.new.width} must be an even multiple of new.heads {self.new.heads}"
            )
        if self.method == "full" and self.base != NEW:
            raise ValueError('method full is for base = "new"; train an adapter with method lora')
        if self.window and self.base != NEW:
            raise ValueError('window is for base = "new"; a given base reads what fits')
        if self.micro_batch > self.batch:
            raise ValueError(f"micro_batch {self.micro_batch} is over batch {self.batch}")
        return self


def read_settings(given: Mapping[str, Any]) -> GenerativeSettings:
    """Return settings checked and completed.

    Raises:
        ConfigError: A key is unknown or a value is not allowed; the message names each.
    """
    return check_settings(GenerativeSettings, given, trainer="generative")
