"""The two ways in which a model is run.

By PyTorch from its folder, by ONNX Runtime from its export.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from deid_assets.extending import PluginError
from deid_encoder.folder import WEIGHTS_FILE, EncoderDescription
from deid_encoder.network import Encoder, load_encoder, mask_of
from deid_encoder.reading import Network
from deid_encoder.weights import EncoderWeights


def load_tagger(folder: Path, about: EncoderDescription, weights: EncoderWeights) -> Encoder:
    """Return the trained network of a model folder.

    Raises:
        PluginError: The package holds other weights than those that the model was trained from, or
            a file is broken.
    """
    if weights.digest != about.base:
        raise PluginError(
            f"{folder}: trained from weights {about.base[:12]}, the installed package holds"
            f" {weights.digest[:12]}; install the package's version that"
            " plugins/neural/deid_encoder names, or train again"
        )
    encoder = load_encoder(weights, about.classes.outputs)
    encoder.blocks = encoder.blocks[: about.layers]
    try:
        missing = encoder.load_state_dict(load_file(folder / WEIGHTS_FILE), strict=False)
    except Exception as error:
        raise PluginError(f"{folder}: {WEIGHTS_FILE} is missing or broken; train again") from error
    if missing.unexpected_keys or any(key.startswith("head.") for key in missing.missing_keys):
        raise PluginError(f"{folder}: {WEIGHTS_FILE} is of another network; train again")
    return encoder.eval()


def torch_network(encoder: Encoder, *, pad: int, device: torch.device) -> Network:
    """Return a function that scores windows with PyTorch, in bfloat16 on a GPU."""
    encoder = encoder.to(device)

    def run(pieces: NDArray[np.int64]) -> NDArray[np.float32]:
        given = torch.from_numpy(pieces).to(device)
        on_gpu = device.type == "cuda"
        with (
            torch.inference_mode(),
            torch.autocast(device.type, dtype=torch.bfloat16, enabled=on_gpu),
        ):
            scores = encoder(given, mask_of(given != pad))
        found: NDArray[np.float32] = scores.float().cpu().numpy()
        return found

    return run
