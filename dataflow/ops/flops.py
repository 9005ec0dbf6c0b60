"""Floating-point operations of nodes, from static shapes, by the rules of TensorFlow's profiler."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dataflow.graph.operation import Operation
from dataflow.graph.type_aliases import TensorLike

Rule = Callable[[Operation], int]


class UnknownShape(Exception):
    """A size that the count needs is known at run time only."""


def _dims(tensor: Any) -> list[int]:
    if tensor.dims is None or None in tensor.dims:
        raise UnknownShape(tensor.name)
    return list(tensor.dims)


def _size(tensor: TensorLike) -> int:
    return math.prod(_dims(tensor))


def _each_input(factor: int) -> Rule:
    return lambda op: factor * _size(op.inputs[0])


def _each_output(factor: int) -> Rule:
    return lambda op: factor * _size(op.outputs[0])


def _reduction(last_step: int) -> Rule:
    """One operation for each element that is taken in, and ``last_step`` for each result."""
    return lambda op: _size(op.inputs[0]) + (last_step - 1) * _size(op.outputs[0])


def _product(op: Operation) -> int:
    transposed = op.attrs.get("transpose_a") or op.attrs.get("adj_x")
    return 2 * _size(op.outputs[0]) * _dims(op.inputs[0])[-2 if transposed else -1]


def _convolution(result: int | None, filters: int | None) -> Rule:
    """Two for each place of the convolution's result and each weight that is seen there.

    ``result`` is the input that has the result's shape, ``filters`` the one with the filters; None
    means the node's own output.
    """

    def count(op: Operation) -> int:
        places = _size(op.outputs[0] if result is None else op.inputs[result])
        kernel = _dims(op.outputs[0] if filters is None else op.inputs[filters])
        return 2 * places * math.prod(kernel[:-1])

    return count


def _depthwise(op: Operation) -> int:
    return 2 * _size(op.outputs[0]) * math.prod(_dims(op.inputs[1])[:2])


def _pool(places: int | None, each: int, once: int = 0) -> Rule:
    """``each`` for each element of a window and ``once`` for each window; ``places`` as above."""

    def count(op: Operation) -> int:
        windows = _size(op.outputs[0] if places is None else op.inputs[places])
        area: int = math.prod(op.attrs["ksize"])
        return windows * (each * area + once)

    return count


_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd"), _each_input(1)
    ),
    **dict.fromkeys(
        [
            "Add",
            "AddV2",
            "Sub",
            "Mul",
            "RealDiv",
            "Maximum",
            "Minimum",
            "Pow",
            "GreaterEqual",
            "Greater",
            "LessEqual",
            "Less",
            "Equal",
            "NotEqual",
        ],
        _each_output(1),
    ),
    "Rsqrt": _each_input(2),
    "RsqrtGrad": _each_output(4),
    "SquaredDifference": _each_output(2),
    "Softmax": _each_input(5),
    "BiasAdd": _each_input(1),
    "L2Loss": lambda op: 3 * _size(op.inputs[0]) - 1,
    "AddN": lambda op: (len(op.inputs) - 1) * _size(op.inputs[0]),
    "Mean": _reduction(1),
    "Sum": _reduction(0),
    "ArgMax": _reduction(0),
    "ArgMin": _reduction(0),
    "BiasAddGrad": _reduction(0),
    "MatMul": _product,
    "BatchMatMul": _product,
    "BatchMatMulV2": _product,
    "Conv2D": _convolution(None, 1),
    "Conv3D": _convolution(None, 1),
    "Conv2DBackpropInput": _convolution(2, 1),
    "Conv2DBackpropFilter": _convolution(2, None),
    "DepthwiseConv2dNative": _depthwise,
    "Dilation2D": _depthwise,
    "MaxPool": _pool(None, 1),
    "AvgPool": _pool(None, 1),
    "MaxPoolGrad": _pool(1, 1, 1),
    "AvgPoolGrad": _pool(1, 2),
}


def float_ops(op: Operation) -> int:
    """The floating-point operations of one run of ``op``; a multiplication and an addition are two.

    0 for types that TensorFlow's profiler does not count either (``Relu``, ``Exp``), and where a
    shape is not known before the run. ``AddV2`` (``+``), ``BatchMatMulV2`` count as before their
    second versions.
    """
    rule = _RULES.get(op.type)
    try:
        return rule(op) if rule is not None else 0
    except UnknownShape:
        return 0
