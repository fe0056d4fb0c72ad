"""What a network reads before it and after it, one module per family of networks.

The module ``deid_onnx.families.<family>`` has one function::

    def load(folder: Path, settings: Mapping[str, Any], run: Run) -> Network

``folder`` is the model folder, ``settings`` its whole ``tagger.json``, and ``run`` the network,
whichever runtime it is in: the detectors that train with PyTorch read through the same modules, so
that nothing is read in two ways. ``load`` raises ``PluginError`` where the folder lacks a file or a
setting of the family.

The networks of a module with ``SPREADS = True`` are ``Spreading``: they use one core a run and
several runs at once, and are given the inputs of many notes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deid_assets.extending import Token

Emissions = NDArray[np.float32]
"""(tokens, tags), unnormalised logarithms."""
Feeds = Mapping[str, NDArray[Any]]
"""The network's inputs by name."""
Run = Callable[[Feeds], NDArray[Any]]
"""Runs the network once and returns its output ``emissions``: (batch, positions, tags), floats."""


@dataclass(frozen=True, slots=True)
class Input:
    """Consecutive tokens that are tagged together.

    Args:
        text: Of the whole note.
        tokens: Offsets into ``text``; at least one.
    """

    text: str = field(repr=False)
    tokens: Sequence[Token]


class Network(Protocol):
    """Interface of a network: the scores of each token's tags."""

    def emissions(self, inputs: Sequence[Input]) -> list[Emissions]:
        """Return (tokens, tags), float32, for each input in order.

        The caller gives the inputs of one note where a batch could change the result (a CPU,
        dynamic int8), and of many notes where it is filled better so (a GPU). The network sorts
        them by length and cuts them into batches.
        """
        ...


class Spreading(Network, Protocol):
    """A network whose runs can be spread over cores."""

    def spread(self, *, alone: bool, workers: int) -> Network:
        """Return the same network, run otherwise.

        Args:
            alone: One input a run, because the runtime's arithmetic depends on what else is in a
                run.
            workers: Runs at once, each on one core.
        """
        ...
