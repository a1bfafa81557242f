"""The network of the packaged encoder as an ONNX graph, written from its weights.

An ONNX file is a protocol buffer; the few messages that a graph needs are written here byte by byte, so
that neither a 90 MB copy of the weights nor a package that makes such files is shipped. The nodes are
those that ONNX Runtime itself fuses a BERT into (its own domain, com.microsoft).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = Mapping[str, NDArray[np.float32]]
"""Arrays by the names that BERT gives them."""

IR_VERSION = 9
OPSET = 17
FUSED = "com.microsoft"
TYPES = {"float32": 1, "int32": 6, "int64": 7}
"""Numbers by which ONNX knows the types of arrays."""

FLOAT, INT = 1, 2
"""Numbers by which ONNX knows the types of attributes."""


@dataclass(frozen=True)
class Shape:
    """What the configuration of a BERT says of its network."""

    layers: int
    heads: int
    epsilon: float
    """Added to variances, so that none is 0."""


@dataclass
class Graph:
    """Nodes and constants, gathered until they are written."""

    nodes: list[bytes] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)

    def add(self, kind: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """Add a node with one output; return the output's name."""
        name = f"n{len(self.nodes)}"
        parts = [_text(1, one) for one in inputs] + [_text(2, name), _text(4, kind)]
        parts += [_message(5, _attribute(key, value)) for key, value in attributes.items()]
        self.nodes.append(b"".join([*parts, _text(7, domain)]))
        return name

    def keep(self, name: str, values: NDArray[Any]) -> str:
        """Keep an array that a node takes; return its name."""
        self.constants[name] = np.ascontiguousarray(values)
        return name

    def dense(self, rows: str, name: str, weights: Weights) -> str:
        """Multiply rows with a weight of the network."""
        return self.add("MatMul", [rows, self.keep(f"{name}.weight", weights[f"{name}.weight"].T)])

    def norm(self, rows: str, skip: str, name: str, weights: Weights, *, bias: str, epsilon: float) -> str:
        """Add a skipped connection and a bias to rows, and normalise them."""
        scale = self.keep(f"{name}.weight", weights[f"{name}.weight"])
        shift = self.keep(f"{name}.bias", weights[f"{name}.bias"])
        added = self.keep(bias, weights[bias])
        inputs = [rows, skip, scale, shift, added]
        return self.add("SkipLayerNormalization", inputs, FUSED, epsilon=epsilon)


def write_bert(weights: Weights, shape: Shape) -> tuple[bytes, dict[str, NDArray[Any]]]:
    """Write a BERT with mean pooling as an ONNX model.

    Args:
        weights: arrays by BERT's names; those of a matrix are of shape (outputs, inputs).
        shape: layers, heads.

    Returns:
        The model, which takes `ids` (int32, shape (texts, tokens)), `lengths` (int32, shape (texts,)) and
        `shares` (float32, shape (texts, 1, tokens): what each token counts in the mean) and gives `means`
        (shape (texts, 1, width)); and the constants that it names but does not hold.
    """
    graph = Graph()
    rows = _embed(graph, weights, shape)
    for number in range(shape.layers):
        rows = _layer(graph, rows, f"encoder.layer.{number}", weights, shape)
    means = graph.add("MatMul", ["shares", rows])
    inputs = [("ids", 6, 2), ("lengths", 6, 1), ("shares", 1, 3)]
    body = [_message(1, node) for node in graph.nodes]
    body += [_text(2, "bert")]
    body += [_message(5, _constant(name, values)) for name, values in graph.constants.items()]
    body += [_message(11, _value(*one)) for one in inputs]
    body += [_message(12, _value(means, 1, 3))]
    opsets = [_text(1, "") + _number(2, OPSET), _text(1, FUSED) + _number(2, 1)]
    model = [_number(1, IR_VERSION), _message(7, b"".join(body)), *(_message(8, one) for one in opsets)]
    return b"".join(model), graph.constants


def _embed(graph: Graph, weights: Weights, shape: Shape) -> str:
    """Look words up, add their places and the one segment, and normalise."""
    words = graph.add("Gather", [graph.keep("words", weights["embeddings.word_embeddings.weight"]), "ids"])
    segment = weights["embeddings.token_type_embeddings.weight"][0]
    places = graph.keep("places", weights["embeddings.position_embeddings.weight"] + segment)
    zero, one = graph.keep("zero", np.zeros(1, np.int64)), graph.keep("one", np.ones(1, np.int64))
    two = graph.keep("two", np.full(1, 2, np.int64))
    length = graph.add("Slice", [graph.add("Shape", ["ids"]), one, two])
    taken = graph.add("Slice", [places, zero, length, zero])
    rows = graph.add("Add", [words, taken])
    name = "embeddings.LayerNorm"
    scale = graph.keep(f"{name}.weight", weights[f"{name}.weight"])
    shift = graph.keep(f"{name}.bias", weights[f"{name}.bias"])
    return graph.add("LayerNormalization", [rows, scale, shift], axis=-1, epsilon=shape.epsilon)


def _layer(graph: Graph, rows: str, name: str, weights: Weights, shape: Shape) -> str:
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    biases = np.concatenate([weights[f"{part}.bias"] for part in parts])
    inputs = [graph.dense(rows, part, weights) for part in parts]
    inputs += [graph.keep(f"{name}.attention.bias", biases), "lengths"]
    seen = graph.add("MultiHeadAttention", inputs, FUSED, num_heads=shape.heads)
    told = graph.dense(seen, f"{name}.attention.output.dense", weights)
    place = f"{name}.attention.output"
    rows = graph.norm(
        told, rows, f"{place}.LayerNorm", weights, bias=f"{place}.dense.bias", epsilon=shape.epsilon
    )
    wide = graph.dense(rows, f"{name}.intermediate.dense", weights)
    bias = f"{name}.intermediate.dense.bias"
    wide = graph.add("BiasGelu", [wide, graph.keep(bias, weights[bias])], FUSED)
    narrow = graph.dense(wide, f"{name}.output.dense", weights)
    place = f"{name}.output"
    return graph.norm(
        narrow, rows, f"{place}.LayerNorm", weights, bias=f"{place}.dense.bias", epsilon=shape.epsilon
    )


def _constant(name: str, values: NDArray[Any]) -> bytes:
    """Describe an array; one that is large is named only, and handed over when the model is opened."""
    head = b"".join(_number(1, size) for size in values.shape) + _number(2, TYPES[values.dtype.name])
    if values.dtype == np.int64:
        return head + _text(8, name) + _message(9, values.tobytes())
    place = _text(1, "location") + _text(2, "memory")
    return head + _text(8, name) + _message(13, place) + _number(14, 1)


def _value(name: str, kind: int, dimensions: int) -> bytes:
    sizes = b"".join(_message(1, _text(2, f"{name}{place}")) for place in range(dimensions))
    return _text(1, name) + _message(2, _message(1, _number(1, kind) + _message(2, sizes)))


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _number(20, FLOAT)
    return _text(1, name) + _number(3, value) + _number(20, INT)


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _number(number: int, value: int) -> bytes:
    return _key(number, 0) + _varint(value & 0xFFFFFFFFFFFFFFFF)


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode())


def _message(number: int, value: bytes) -> bytes:
    return _key(number, 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
