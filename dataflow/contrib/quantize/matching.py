"""The layers of a graph that are quantized: weights, convolution or product, bias, bypass, activation.

Read from its end, a layer is::

    weights -> [conv | matmul] -> [batch to space] -> [correction] -> [bias] -> [bypass] -> activation -> [bypass]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

LAYERS = ("Conv2D", "MatMul", "DepthwiseConv2dNative")
ADDITIONS = ("Add", "AddV2")
_ACTIVATIONS = ("Relu", "Relu6", "Identity")


@dataclass(frozen=True)
class Layer:
    """What was found of a layer; its ``weights`` are None where they are computed."""

    op: Operation
    weights: Tensor | None
    bias: Operation | None = None
    bypass: Operation | None = None
    activation: Operation | None = None
    late_bypass: Operation | None = None


def layers(graph: Graph) -> list[Layer]:
    """The layers of a graph, each once: those with a bypass after their activation first."""
    found: dict[Operation, Layer] = {}
    for read in (_late_bypass, _activation, _ends_in_bias, _layer_on_layer):
        for op in graph.get_operations():
            for layer in read(op):
                if not (read is _activation and _is_normalized(op)):
                    found.setdefault(layer.op, layer)
    return list(found.values())


def _sources(op: Operation) -> list[Operation]:
    return [tensor.op for tensor in op.inputs]


def _is_variable_read(op: Operation) -> bool:
    if op.type == "ReadVariableOp":
        return True
    while op.type in ("Identity", "ConcatV2") and op.inputs:  # a partitioned variable's parts, too
        op = op.inputs[0].op
        if op.op_def.is_variable:
            return True
    return False


def _layer(op: Operation) -> Iterator[Layer]:
    if op.type not in LAYERS:
        return
    for tensor in reversed(op.inputs[:2]):
        if tensor.op.type == "Mul" or _is_variable_read(tensor.op):
            yield Layer(op, tensor)
            return


def _output(op: Operation) -> Iterator[Layer]:
    yield from _layer(op.inputs[0].op if op.type == "BatchToSpaceND" else op)


def _corrected(op: Operation) -> Iterator[Layer]:
    """The output of a folded layer, times and plus a correction."""
    for product in _sources(op) if op.type in ADDITIONS else ():
        if product.type == "Mul":
            for source in _sources(product):
                yield from _output(source)


def _biased(op: Operation) -> Iterator[Layer]:
    if op.type not in (*ADDITIONS, "BiasAdd"):
        return
    for source in _sources(op):
        for layer in _output(source):
            yield replace(layer, bias=op)
        if op.type in ADDITIONS:
            for layer in _corrected(source):
                yield replace(layer, bias=op)


def _bypassed(op: Operation) -> Iterator[Layer]:
    for source in _sources(op) if op.type in ADDITIONS else ():
        through = source.inputs[0].op if source.type == "Identity" else source
        for layer in _biased(through):
            yield replace(layer, bypass=op)


def _activation(op: Operation) -> Iterator[Layer]:
    if op.type not in _ACTIVATIONS or not op.inputs:
        return
    source = op.inputs[0].op
    through = source.inputs[0].op if source.type == "Identity" and source.inputs else source
    for read, start in (
        (_biased, source),
        (_biased, through),
        (_bypassed, source),
        (_layer, source),
    ):
        for layer in read(start):
            yield replace(layer, activation=op)
            return


def _late_bypass(op: Operation) -> Iterator[Layer]:
    for source in _sources(op) if op.type in ADDITIONS else ():
        for layer in _activation(source):
            yield replace(layer, late_bypass=op)
            return


def _ends_in_bias(op: Operation) -> Iterator[Layer]:
    for layer in _biased(op):
        yield replace(layer, activation=layer.bias, bias=None)


def _layer_on_layer(op: Operation) -> Iterator[Layer]:
    """The first of two layers with nothing in between: a separable convolution."""
    for source in _sources(op) if op.type in LAYERS else ():
        for layer in _output(source):
            yield replace(layer, activation=layer.op)


def _is_normalized(op: Operation) -> bool:
    """Whether ``op`` only hands a layer on to a fused batch normalization."""
    users = op.outputs[0].consumers()
    return op.type == "Identity" and len(users) == 1 and users[0].type.startswith("FusedBatchNorm")
