"""The folder of a masked language model, checked without loading it.

When a policy is read, no network is.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from deid_assets.extending import ConfigError, remedy

_LENGTH, _LONGEST_HEADER = 8, 100_000_000  # bytes, as the safetensors format has them


def check_model(folder: str) -> str:
    """Return the SHA-256 of a model's files; loads nothing.

    Raises:
        ConfigError: A package or a file is missing, or the model is of another kind.
    """
    if absent := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        raise ConfigError(f"surrogate_mlm needs {' and '.join(absent)}; {remedy('zero_shot')}")
    path = Path(folder)
    if not path.is_dir():
        raise ConfigError(
            f"there is no model folder {folder!r}; give a folder, names of a hub are not fetched"
        )
    weights = sorted(path.glob("*.safetensors"))
    files = [path / "config.json", path / "tokenizer.json", *weights]
    if absent := [file.name for file in files if not file.is_file()] or (
        [] if weights else ["model.safetensors"]
    ):
        raise ConfigError(
            f"{folder} lacks {absent[0]}; save model and tokenizer with save_pretrained"
        )
    if broken := [file.name for file in weights if not _is_whole(file)]:
        raise ConfigError(
            f"{folder}: {broken[0]} is cut off or no safetensors file; copy the folder again"
        )
    try:
        kinds = json.loads((path / "config.json").read_text("utf-8")).get("architectures") or ["?"]
    except (ValueError, AttributeError):
        raise ConfigError(
            f"{folder}: config.json is not a JSON object; save the model again"
        ) from None
    if not str(kinds[0]).endswith(("ForMaskedLM", "ForPreTraining")):
        raise ConfigError(
            f"{folder} holds a {kinds[0]}; surrogate_mlm needs one that ends with ForMaskedLM"
        )
    return _digest(
        tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    )


def _is_whole(weights: Path) -> bool:
    """Whether a safetensors file is as long as its header says.

    The header's length, the header, the tensors.
    """
    try:
        with weights.open("rb") as file:
            size = int.from_bytes(file.read(_LENGTH), "little")
            tensors = json.loads(file.read(min(size, _LONGEST_HEADER)))
        ends: list[int] = [
            tensor["data_offsets"][1] for name, tensor in tensors.items() if name != "__metadata__"
        ]
        return weights.stat().st_size == _LENGTH + size + max(ends)
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
        return False


@lru_cache(maxsize=16)
def _digest(files: tuple[tuple[str, int, int], ...]) -> str:
    total = hashlib.sha256()
    for path, _, _ in files:
        with Path(path).open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()
