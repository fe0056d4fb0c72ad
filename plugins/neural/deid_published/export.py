"""The network of a published model as ONNX, and the gate that compares the two.

Needs the extra ``add``.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from deid_assets.extending import Note, PluginError
from deid_onnx.families import Feeds, Run
from deid_onnx.session import OUTPUT
from deid_published.architectures import exportable
from deid_published.detector import reader, runner, spans_of
from deid_published.folder import GRAPH, TOKENIZER, read_added
from deid_published.network import LONGEST, SubTokenScorer, positions
from deid_published.source import PublishedModel

_OPSET = 17
_AXES = {0: "rows", 1: "positions"}
_CLOSE = 1e-3  # of logits, relative to their greatest


class _Scores(torch.nn.Module):
    """Module that is exported: the logits of every sub-token."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return (rows, positions, tags)."""
        found: torch.Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        return found


def load(source: PublishedModel) -> Any:
    """Return the network of a source.

    Raises:
        PluginError: The weights do not fit the configuration, or lack the head.
    """
    try:
        with _quiet():
            model, info = transformers.AutoModelForTokenClassification.from_pretrained(
                source.path,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=None if source.trust else True,
                attn_implementation="eager",
                output_loading_info=True,
            )
    except RuntimeError as error:
        if "size mismatch" in str(error):
            raise PluginError(
                f"{source.path}: the head or another layer has not the width that config.json says "
                f"({len(source.tags)} labels); find out which is true"
            ) from None
        raise PluginError(
            f"{source.path}: the weights do not load ({type(error).__name__})"
        ) from None
    except Exception as error:
        raise PluginError(
            f"{source.path}: the network does not load ({type(error).__name__})"
        ) from error
    if missing := sorted(info["missing_keys"]):
        raise PluginError(
            f"{source.path}: the weights lack {missing[0]} and {len(missing) - 1} more; fetch it"
            " again"
        )
    return model.eval()


def write_graph(
    source: PublishedModel, out: Path, *, window: int, overlap: int
) -> Mapping[str, Any]:
    """Write ``model.onnx`` and ``tokenizer.json``, and return what the card says of them.

    Raises:
        PluginError: There is no tokenizer with offsets, the network does not load, or it cannot be
            exported.
    """
    _check_known(source)
    tokenizer = _tokenizer(source)
    model = load(source)
    _check_vocabulary(source, tokenizer, model)
    longest = _longest(tokenizer, model)
    size = min(window or longest, longest)
    tokenizer.backend_tokenizer.save(str(out / TOKENIZER))
    ids = torch.full((2, min(12, size)), 5, dtype=torch.int64)
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0
    try:
        _trace(model, out / GRAPH, ids, mask)
    except Exception as error:
        raise PluginError(
            f"{source.path}: the network cannot be exported ({type(error).__name__})"
        ) from error
    return {
        "window": size,
        "overlap": min(overlap, size // 4),
        "unknown": tokenizer.unk_token_id,
        "has_prefix": bool(
            getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None)
        ),
        "parameters": sum(weight.numel() for weight in model.parameters()),
    }


def _check_known(source: PublishedModel) -> None:
    name = source.config["architectures"][0]
    if not hasattr(transformers, name):
        saved = source.config.get("transformers_version", "a version that it does not name")
        raise PluginError(
            f"{source.path}: transformers {transformers.__version__} has no {name}; the model was"
            f" saved by {saved}: add it in an environment with a version that has it"
        )


def _tokenizer(source: PublishedModel) -> Any:
    try:
        auto: Any = transformers.AutoTokenizer
        with _quiet():
            found = auto.from_pretrained(
                source.path, use_fast=True, local_files_only=True, trust_remote_code=False
            )
    except Exception as error:
        raise PluginError(
            f"{source.path}: the tokenizer does not load ({type(error).__name__})"
        ) from error
    if not found.is_fast:
        raise PluginError(
            f"{source.path}: its tokenizer has no offsets (no tokenizer.json), so spans cannot be"
            " placed"
        )
    return found


def _check_vocabulary(source: PublishedModel, tokenizer: Any, model: Any) -> None:
    rows = model.get_input_embeddings().num_embeddings
    greatest = max(tokenizer.get_vocab().values(), default=-1)
    if greatest >= rows:
        raise PluginError(
            f"{source.path}: the tokenizer has a token number {greatest}, and the network {rows}"
            " embeddings; they are of different models: fetch it again"
        )


def _longest(tokenizer: Any, model: Any) -> int:
    """Return the most sub-tokens that a model reads."""
    return int(min(positions(model.config) or LONGEST, tokenizer.model_max_length, LONGEST))


def _trace(model: Any, path: Path, ids: torch.Tensor, mask: torch.Tensor) -> None:
    with _quiet(), warnings.catch_warnings(), torch.inference_mode(), exportable(model):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Scores(model).eval(),
            (ids, mask),
            str(path),
            input_names=["input_ids", "attention_mask"],
            output_names=[OUTPUT],
            dynamic_axes={"input_ids": _AXES, "attention_mask": _AXES, OUTPUT: _AXES},
            opset_version=_OPSET,
            dynamo=False,
        )


def network_runner(model: Any) -> Run:
    """Return a function that runs a network as ONNX Runtime runs its export."""

    def run(feeds: Feeds) -> NDArray[np.float32]:
        with torch.inference_mode():
            given = {name: torch.from_numpy(array) for name, array in feeds.items()}
            found: NDArray[np.float32] = model(**given).logits.float().numpy()
        return found

    return run


def parity(source: PublishedModel, folder: Path, notes: Sequence[Note]) -> Mapping[str, Any]:
    """Return how an export differs from its network on notes.

    Raises:
        PluginError: There is no note with text, or the logits are further apart than rounding
            explains.
    """
    added = read_added(folder)
    network = reader(added, network_runner(load(source)))
    exported = reader(added, runner(added, providers=["cpu"], threads=1))
    texts = [note.text for note in notes if note.text.strip()]
    if not texts:
        raise PluginError("there is no note with text to compare the export on; give --notes")
    differing = spans = 0
    farthest = 0.0
    for text in texts:
        (_, wanted), (_, found) = network.read(text), _run(exported, text, source)
        farthest = max(
            farthest, float(np.abs(wanted - found).max() / max(1.0, float(np.abs(wanted).max())))
        )
        sides = [
            Counter(_key(span) for span in spans_of(text, one, added, ""))
            for one in (network, exported)
        ]
        differing += sum(((sides[0] - sides[1]) + (sides[1] - sides[0])).values())
        spans += sum(sides[0].values())
    if farthest > _CLOSE:
        raise PluginError(
            f"{source.name}: the export's scores are {farthest:.4f} off the network's; it was not"
            " kept"
        )
    return {
        "notes": len(texts),
        "spans": spans,
        "differing_spans": differing,
        "farthest": round(farthest, 7),
    }


def _run(
    exported: SubTokenScorer, text: str, source: PublishedModel
) -> tuple[Any, NDArray[np.float32]]:
    try:
        return exported.read(text)
    except Exception as error:
        raise PluginError(
            f"{source.name}: the export of {source.config['architectures'][0]} does not run"
            f" ({type(error).__name__})"
        ) from error


def _key(span: Any) -> tuple[int, int, str, str]:
    return span.start, span.end, span.label.value, span.native_label


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep ``transformers`` and PyTorch from writing advice."""
    log: Any = transformers.logging
    level = log.get_verbosity()
    with warnings.catch_warnings():
        log.set_verbosity(logging.CRITICAL)
        log.disable_progress_bar()
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            log.set_verbosity(level)
            logging.disable(logging.NOTSET)
