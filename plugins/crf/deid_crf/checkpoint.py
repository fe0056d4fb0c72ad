"""Checkpoint of an unfinished training: numbers alone, no words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from deid_assets.extending import ConfigError
from deid_crf.minimise import SearchState

FOLDER = "checkpoint"
STATE = "search.safetensors"


def write_search(out: Path, search: SearchState) -> None:
    """Keep a search in a folder; what was there is replaced at once or not at all."""
    from safetensors.numpy import save  # noqa: PLC0415 - compiled, loaded when first needed

    size = (-1, len(search.x))
    arrays = {
        "x": search.x,
        "values": np.array(search.values),
        "steps": np.array(search.steps, dtype=np.float64).reshape(size),
        "changes": np.array(search.changes, dtype=np.float64).reshape(size),
    }
    (out / FOLDER).mkdir(exist_ok=True)
    part = out / FOLDER / f"{STATE}.part"
    part.write_bytes(save(arrays))
    part.replace(out / FOLDER / STATE)


def read_search(out: Path, *, size: int) -> SearchState | None:
    """Return the search that was kept in a folder, or nothing where there is none.

    Args:
        out: The folder.
        size: Parameters that it must have.

    Raises:
        ConfigError: The file is broken or of another training.
    """
    from safetensors import SafetensorError  # noqa: PLC0415 - compiled, loaded when first needed
    from safetensors.numpy import load_file  # noqa: PLC0415 - likewise

    path = out / FOLDER / STATE
    if not path.exists():
        return None
    try:
        arrays = load_file(path)
        search = SearchState(
            arrays["x"], arrays["values"].tolist(), [*arrays["steps"]], [*arrays["changes"]]
        )
    except (SafetensorError, KeyError, OSError) as error:
        raise ConfigError(
            f"{path}: broken ({type(error).__name__}); remove it, and training begins again"
        ) from error
    if len(search.x) != size:
        raise ConfigError(
            f"{path}: of a training with {len(search.x)} parameters, not {size}; remove it"
        )
    return search
