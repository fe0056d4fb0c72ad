"""A published model that comes as an ONNX graph: taken as it is, without PyTorch.

There is no network to compare it with. What holds is that its file stays the one that was added, by
its SHA-256, that it takes what a token classifier takes and gives a score for every tag, and that
it reads the longest window and the last token of its vocabulary.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from deid_assets.extending import Note, PluginError
from deid_onnx.session import start
from deid_published.detector import SEGMENTS, reader, runner, spans_of
from deid_published.folder import GRAPH, TOKENIZER, Added, read_added
from deid_published.network import LONGEST, positions
from deid_published.source import PublishedModel

INPUTS = frozenset({"input_ids", "attention_mask", SEGMENTS})
_TOKENIZER_CONFIG = "tokenizer_config.json"
_INTEGERS = "tensor(int64)"
_FLOATS = "tensor(float)"


def take_graph(
    source: PublishedModel, out: Path, *, window: int, overlap: int
) -> Mapping[str, Any]:
    """Copy ``model.onnx`` and ``tokenizer.json``, and return what the card says of them.

    Raises:
        PluginError: The tokenizer is missing or broken, or the graph is no token classifier's.
    """
    tokenizer = _tokenizer(source)
    settings = _settings(source)
    longest = _longest(source, settings)
    size = min(window or longest, longest)
    shutil.copyfile(source.path / TOKENIZER, out / TOKENIZER)
    shutil.copyfile(source.path / source.graph, out / GRAPH)
    unknown = settings.get("unk_token")
    named = unknown.get("content") if isinstance(unknown, dict) else unknown
    return {
        "graph": source.graph,
        "output": _output(source, out / GRAPH),
        "window": size,
        "overlap": min(overlap, size // 4),
        "unknown": tokenizer.token_to_id(named) if named else None,
        "has_prefix": bool(getattr(tokenizer.model, "continuing_subword_prefix", None)),
    }


def check_graph(source: PublishedModel, folder: Path, notes: Sequence[Note]) -> Mapping[str, Any]:
    """Run an added graph and return what the card says of that.

    Raises:
        PluginError: It does not run, or gives other scores than one for each tag.
    """
    added = read_added(folder)
    _probe(source, added)
    read = reader(added, runner(added, providers=["cpu"], threads=1))
    spans = sum(len(spans_of(note.text, read, added, "")) for note in notes)
    return {"notes": len(notes), "spans": spans}


def _tokenizer(source: PublishedModel) -> Any:
    from tokenizers import Tokenizer  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - light import

    file = source.path / TOKENIZER
    if not file.is_file():
        raise PluginError(
            f"{source.path}: no {TOKENIZER}, so spans cannot be placed; save the fast tokenizer of"
            " the model beside its graph"
        )
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:
        raise PluginError(
            f"{file} is no tokenizer ({type(error).__name__}); fetch the model again"
        ) from error


def _settings(source: PublishedModel) -> Mapping[str, Any]:
    """Return what ``tokenizer_config.json`` says; graphs come without one too."""
    file = source.path / _TOKENIZER_CONFIG
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if not isinstance(found, dict):
        raise PluginError(f"{file}: not a configuration; fetch the model again")
    return found


def _longest(source: PublishedModel, settings: Mapping[str, Any]) -> int:
    """Return the most sub-tokens that a model reads, as its configurations say."""
    config = SimpleNamespace(**{"model_type": "", "pad_token_id": 0, **source.config})
    return int(
        min(positions(config) or LONGEST, settings.get("model_max_length") or LONGEST, LONGEST)
    )


def _output(source: PublishedModel, path: Path) -> str:
    """Return the name of the graph's scores.

    Raises:
        PluginError: Its weights are in another file, or it takes or gives something else than a
            token classifier does.
    """
    where = source.path / source.graph
    beside = sorted(file.name for file in where.parent.glob(f"{where.name}?data*"))
    if beside:
        raise PluginError(
            f"{where}: its weights lie in {beside[0]}; save it as one file, for instance with"
            " onnx.save"
        )
    session = start(path, providers=["cpu"], threads=1)
    inputs = {entry.name: entry.type for entry in session.get_inputs()}
    if strange := sorted(inputs.keys() - INPUTS):
        raise PluginError(
            f"{where}: it takes {', '.join(strange)}; a graph is taken whose inputs are among"
            f" {', '.join(sorted(INPUTS))}"
        )
    if "input_ids" not in inputs or set(inputs.values()) != {_INTEGERS}:
        raise PluginError(
            f"{where}: it takes {', '.join(f'{name}: {kind}' for name, kind in inputs.items())};"
            " input_ids is needed, and all of whole numbers of 64 bits"
        )
    outputs = [(entry.name, entry.type) for entry in session.get_outputs()]
    if len(outputs) != 1 or outputs[0][1] != _FLOATS:
        given = ", ".join(f"{name}: {kind}" for name, kind in outputs)
        raise PluginError(
            f"{where}: it gives {given}; a token classifier gives one output of 32-bit numbers"
        )
    return str(outputs[0][0])


def _probe(source: PublishedModel, added: Added) -> None:
    """Run two windows at their full length of the last token of the vocabulary."""
    last = max(_tokenizer(source).get_vocab().values(), default=0)
    rows = np.full((2, added.window), last, dtype=np.int64)
    where = source.path / source.graph
    try:
        run = runner(added, providers=["cpu"], threads=1)
        scores = run({"input_ids": rows, "attention_mask": np.ones_like(rows)})
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(
            f"{where}: it does not read {added.window} sub-tokens with the last token of"
            f" {TOKENIZER} ({type(error).__name__}); graph, tokenizer and config.json are of"
            " different models, or --window must be shorter"
        ) from error
    wanted = (*rows.shape, len(source.tags))
    if scores.shape != wanted or not np.isfinite(scores).all():
        raise PluginError(
            f"{where}: it gives scores of shape {scores.shape} and not {wanted}, or some that are"
            " no numbers; find out which labels of config.json are true"
        )
