"""The checkpoint that a killed run resumes from.

Tensors in safetensors, the rest in JSON, replaced as one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from deid_assets.extending import TrainingError

Tensors = dict[str, torch.Tensor]
_STATE = "state.json"


class Checkpoint:
    """The latest state of one stage of a run.

    The state names the folder of its tensors and is renamed into place last, so that a kill at any
    moment leaves either the old state or the new one.

    Args:
        folder: Of the stage.
        fingerprint: Of the task and its settings; what another task left is not used.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder
        self._fingerprint = fingerprint

    def read(self) -> Mapping[str, Any] | None:
        """Return the last state saved, or ``None`` where there is none of this task.

        Raises:
            TrainingError: There is one and it is broken.
        """
        path = self._folder / _STATE
        if not path.exists():
            return None
        try:
            state: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return state if state["fingerprint"] == self._fingerprint else None
        except (ValueError, KeyError, TypeError) as error:
            raise TrainingError(
                f"{path} is broken; remove the folder checkpoint and train again"
            ) from error

    def tensors(self, state: Mapping[str, Any], name: str) -> Tensors:
        """Return tensors that were saved with a state.

        Raises:
            TrainingError: They are missing or broken.
        """
        path = self._folder / str(state["folder"]) / f"{name}.safetensors"
        try:
            return load_file(path)
        except Exception as error:
            raise TrainingError(
                f"{path} is broken; remove the folder checkpoint and train again"
            ) from error

    def save(self, state: Mapping[str, Any], **tensors: Tensors) -> None:
        """Replace what was saved.

        Args:
            state: JSON values.
            tensors: By the name under which ``tensors`` finds them.
        """
        last = self.read()
        number = int(last["number"]) + 1 if last else 0
        folder = self._folder / f"{number:06d}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, values in tensors.items():
            save_file(
                {key: value.detach().contiguous().clone() for key, value in values.items()},
                folder / f"{name}.safetensors",
            )
        written = self._folder / f"{_STATE}.new"
        whole = {**state, "folder": folder.name, "number": number, "fingerprint": self._fingerprint}
        written.write_text(json.dumps(whole), encoding="utf-8")
        written.replace(self._folder / _STATE)
        for old in self._folder.iterdir():
            if old.is_dir() and old != folder:
                shutil.rmtree(old)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> Tensors:
    """Return an optimiser's moments by the number of their parameter."""
    return {
        f"{number}.{name}": value
        for number, parameter in enumerate(_parameters(optimizer))
        for name, value in optimizer.state.get(parameter, {}).items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Restore to an optimiser the moments that ``optimizer_tensors`` returned.

    Moments go where their parameter is; counts of steps stay on the CPU, where PyTorch has them.
    """
    for number, parameter in enumerate(_parameters(optimizer)):
        prefix = f"{number}."
        found = {
            name.removeprefix(prefix): value
            for name, value in tensors.items()
            if name.startswith(prefix)
        }
        if not found:
            continue
        optimizer.state[parameter] = {
            name: value.clone() if value.ndim == 0 else value.clone().to(parameter.device)
            for name, value in found.items()
        }


def copy_trained_weights(model: torch.nn.Module) -> Tensors:
    """Return copies of the parameters that are trained, on the CPU; tied ones come once."""
    return {
        name: parameter.detach().cpu().clone()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def put_weights(model: torch.nn.Module, weights: Tensors) -> None:
    """Put into a model what ``copy_trained_weights`` returned, or a part of it."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in weights:
                parameter.copy_(weights[name])


def _parameters(optimizer: torch.optim.Optimizer) -> Iterable[torch.Tensor]:
    return (parameter for group in optimizer.param_groups for parameter in group["params"])
