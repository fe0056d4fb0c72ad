"""The whole network as an ONNX graph, written node by node.

Its inputs are the arrays of ``Reader.feeds``.

ONNX has an LSTM of its own that knows the length of each sequence, so nothing has to be traced and
every axis of the inputs is free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from deid_assets.extending import PluginError
from deid_flair.network import FlairNetwork
from deid_flair.parts import (
    CharacterLstmPart,
    CharacterStatesPart,
    EmbeddingPart,
    OneHotPart,
    RowsPart,
)

OPSET, IR = 17, 9
OUTPUT = "emissions"
_GATES = (0, 3, 1, 2)  # PyTorch: input, forget, cell, output; ONNX: input, output, forget, cell


class GraphBuilder:
    """Nodes, weights and inputs while they are collected."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, axes: tuple[str | int, ...], kind: int = TensorProto.INT64) -> str:
        """Declare an input."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, axes))
        return name

    def weight(self, values: torch.Tensor | NDArray[Any]) -> str:
        """Add a constant, and return its name."""
        array = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else values
        self.weights.append(
            numpy_helper.from_array(np.ascontiguousarray(array), f"w{len(self.weights)}")
        )
        return str(self.weights[-1].name)

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node, and return the name of its first output."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, inputs, [name], name=f"{operator}_{name}", **attributes)
        )
        return name

    def reshape(self, name: str, *shape: int) -> str:
        """Reshape; 0 keeps an axis, -1 takes the rest."""
        return self.add("Reshape", name, self.weight(np.array(shape, dtype=np.int64)))

    def linear(self, name: str, weight: torch.Tensor, bias: torch.Tensor) -> str:
        """Apply a linear map to the last axis."""
        return self.add("Add", self.add("MatMul", name, self.weight(weight.t())), self.weight(bias))

    def lstm(
        self,
        name: str,
        module: torch.nn.LSTM,
        lengths: str = "",
        before: torch.nn.Linear | None = None,
    ) -> str:
        """Run an LSTM over (steps, sequences, width).

        It returns (steps, sequences, directions x hidden).

        Args:
            name: Its input.
            module: The LSTM.
            lengths: Steps of each sequence.
            before: A linear map of the input, which becomes part of the first layer's weights.
        """
        ways = 2 if module.bidirectional else 1
        for layer in range(module.num_layers):
            weights = [
                _direction(module, layer, way, before if layer == 0 else None)
                for way in range(ways)
            ]
            stacked = [self.weight(np.stack(arrays)) for arrays in zip(*weights, strict=True)]
            found = self.add(
                "LSTM",
                name,
                *stacked,
                *([lengths] if lengths else []),
                hidden_size=module.hidden_size,
                direction="bidirectional" if ways == 2 else "forward",
            )
            name = self.reshape(
                self.add("Transpose", found, perm=[0, 2, 1, 3]), 0, 0, ways * module.hidden_size
            )
        return name


def _direction(
    module: torch.nn.LSTM, layer: int, way: int, before: torch.nn.Linear | None
) -> tuple[NDArray[np.float32], ...]:
    suffix = f"_l{layer}{'_reverse' if way else ''}"
    given = {
        name: getattr(module, f"{name}{suffix}").detach().cpu().numpy()
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    if before is not None:
        given["weight_ih"], given["bias_ih"] = _join(before, given["weight_ih"], given["bias_ih"])
    size = module.hidden_size
    ordered = {
        name: np.concatenate([array[gate * size : (gate + 1) * size] for gate in _GATES])
        for name, array in given.items()
    }
    return (
        ordered["weight_ih"],
        ordered["weight_hh"],
        np.concatenate([ordered["bias_ih"], ordered["bias_hh"]]),
    )


def _join(
    before: torch.nn.Linear, weight: NDArray[np.float32], bias: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return weight and bias of one linear map that does what two do, one after the other."""
    wide = weight.astype(np.float64)
    first = before.weight.detach().cpu().numpy()
    return (wide @ first).astype(np.float32), (
        wide @ before.bias.detach().cpu().numpy() + bias
    ).astype(np.float32)


def build(network: FlairNetwork) -> onnx.ModelProto:
    """Return the network without its CRF.

    (inputs, tokens, tags) scores as the output ``emissions``.

    Raises:
        PluginError: An embedding of the stack cannot leave PyTorch.
    """
    graph = GraphBuilder()
    words = graph.input("words", ("inputs", "tokens"))
    lengths = graph.input("lengths", ("inputs",), TensorProto.INT32)
    stack = [_embedding(graph, part, number, words) for number, part in enumerate(network.parts)]
    found = graph.add("Concat", *stack, axis=2) if len(stack) > 1 else stack[0]
    tagger, count = network.tagger, len(network.tags)
    before = tagger.embedding2nn if tagger.reproject_embeddings else None
    if tagger.use_rnn:
        by_step = graph.add("Transpose", found, perm=[1, 0, 2])
        found = graph.add(
            "Transpose", graph.lstm(by_step, _lstm(tagger.rnn), lengths, before), perm=[1, 0, 2]
        )
    elif before is not None:
        found = graph.linear(found, before.weight, before.bias)
    softmax = network.described["decoder"] != "crf"
    scores = graph.linear(found, tagger.linear.weight[:count], tagger.linear.bias[:count])
    last = graph.add("LogSoftmax", scores, axis=2) if softmax else scores
    graph.nodes.append(helper.make_node("Identity", [last], [OUTPUT]))
    output = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ("inputs", "tokens", count))
    made = helper.make_graph(graph.nodes, "flair", graph.inputs, [output], graph.weights)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    onnx.checker.check_model(model)
    return model


def _embedding(graph: GraphBuilder, part: EmbeddingPart, number: int, words: str) -> str:
    kinds: Mapping[type, Callable[[GraphBuilder, Any, int, str], str]] = {
        CharacterStatesPart: _character_states,
        RowsPart: _rows,
        OneHotPart: _one_hot,
        CharacterLstmPart: _letters,
    }
    if type(part) not in kinds:
        raise PluginError(
            f"embedding {number} is of kind {part.description['kind']!r}, which cannot be exported"
            " with the Bi-LSTM; train with the plugin 'transformers' to have an encoder as ONNX"
        )
    return kinds[type(part)](graph, part, number, words)


def _lstm(module: torch.nn.Module) -> torch.nn.LSTM:
    if not isinstance(module, torch.nn.LSTM):
        raise PluginError(
            f"a network of the kind {type(module).__name__} cannot be exported; train one with an"
            " LSTM"
        )
    return module


def _character_states(
    graph: GraphBuilder,
    part: CharacterStatesPart,
    number: int,
    words: str,  # noqa: ARG001 - one shape
) -> str:
    model = part.embedding.lm
    rnn = _lstm(model.rnn)
    chars = graph.input(f"chars_{number}", (f"characters_{number}", "inputs"))
    at = graph.input(f"at_{number}", ("inputs", "tokens"))
    states = graph.lstm(graph.add("Gather", graph.weight(model.encoder.weight), chars), rnn)
    flat = graph.reshape(states, -1, rnn.hidden_size)
    found = graph.add("Gather", flat, at)
    return (
        graph.linear(found, model.proj.weight, model.proj.bias) if model.proj is not None else found
    )


def _rows(graph: GraphBuilder, part: RowsPart, number: int, words: str) -> str:
    table = graph.weight(part.embedding.table.weight)
    joined = part.embedding.joined == 2
    rows = graph.input(f"rows_{number}", ("words", 2 if joined else f"parts_{number}"))
    found = graph.add("Gather", table, rows)
    if joined:
        found = graph.reshape(found, 0, part.embedding.embedding_length)
    else:
        share = graph.input(f"share_{number}", ("words", 1), TensorProto.FLOAT)
        summed = graph.add(
            "ReduceSum", found, graph.weight(np.array([1], dtype=np.int64)), keepdims=0
        )
        found = graph.add("Mul", summed, share)
    return graph.add("Gather", found, words)


def _one_hot(graph: GraphBuilder, part: OneHotPart, number: int, words: str) -> str:
    rows = graph.input(f"rows_{number}", ("words",))
    found = graph.add("Gather", graph.weight(part.embedding.embedding_layer.weight), rows)
    return graph.add("Gather", found, words)


def _letters(graph: GraphBuilder, part: CharacterLstmPart, number: int, words: str) -> str:
    chars = graph.input(f"chars_{number}", (f"characters_{number}", "words"))
    sizes = graph.input(f"sizes_{number}", ("words",), TensorProto.INT32)
    at = graph.input(f"at_{number}", ("words",))
    vectors = graph.add("Gather", graph.weight(part.embedding.char_embedding.weight), chars)
    states = graph.lstm(vectors, part.embedding.char_rnn, sizes)
    flat = graph.reshape(states, -1, 2 * part.embedding.char_rnn.hidden_size)
    return graph.add("Gather", graph.add("Gather", flat, at), words)
