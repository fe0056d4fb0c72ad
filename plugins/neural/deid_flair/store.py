"""Model folders: tensors as safetensors, the rest as JSON, each file written in one step.

No pickles.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid_assets.extending import PluginError
from deid_assets.extending.files import atomic_file

if TYPE_CHECKING:
    import torch

DESCRIPTION = "tagger.json"
WEIGHTS = "model.safetensors"
VOCABULARY = "vocabulary"


def write_tensors(
    file: Path, tensors: Mapping[str, torch.Tensor], notes: Mapping[str, Any]
) -> None:
    """Write tensors and a JSON object into one file; a killed process leaves the file as it was."""
    from safetensors.torch import save  # noqa: PLC0415 - imports PyTorch

    metadata = {"notes": json.dumps(notes, ensure_ascii=False, sort_keys=True)}
    content = save(
        {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()},
        metadata,
    )
    write_bytes(file, content)


def read_tensors(file: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return tensors and the JSON object.

    Raises:
        PluginError: The file is missing or broken.
    """
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415 - imports PyTorch

    try:
        with safe_open(file, framework="pt") as opened:
            notes = json.loads((opened.metadata() or {}).get("notes", "{}"))
            return {name: opened.get_tensor(name) for name in opened.keys()}, notes  # noqa: SIM118 - it is no mapping
    except (SafetensorError, OSError, ValueError) as error:
        raise PluginError(
            f"{file} is missing or broken ({type(error).__name__}); train the model again"
        ) from None


def write_json(file: Path, content: Any) -> None:
    """Write JSON in one step."""
    write_bytes(file, json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True).encode())


def write_bytes(file: Path, content: bytes) -> None:
    """Write a file in one step."""
    with atomic_file(file) as opened:
        opened.write(content)


def read_json(file: Path) -> Any:
    """Return the JSON of a file of a model folder.

    Raises:
        PluginError: The file is missing or is no JSON.
    """
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise PluginError(
            f"{file} is missing or broken ({type(error).__name__}); train the model again"
        ) from None
