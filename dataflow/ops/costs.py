"""How long nodes take, about, from static shapes: values of the trait `cost`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dataflow.graph.operation import Operation

#: Multiplications that a core does in a microsecond, in BLAS and in LAPACK.
BLAS_RATE, LAPACK_RATE = 60e3, 5e3
#: What an unknown size counts as.
_GUESSED_SIZE = 32


def num_elements(dims: Any) -> int:
    """The elements of a shape; 1 where not even the rank is known."""
    if dims is None:
        return 1
    return math.prod(_GUESSED_SIZE if d is None else d for d in dims)


def largest_operand(op: Operation) -> int:
    """The elements of a node's largest input or output."""
    return max((num_elements(t.dims) for t in (*op.inputs, *op.outputs)), default=1)


def product(op: Operation) -> float:
    """Of a matrix product, or a batch of them, by BLAS."""
    inner = num_elements((op.inputs[0].dims or (None,))[-1:])
    if op.attrs.get("transpose_a") or op.attrs.get("adj_x"):
        inner = num_elements((op.inputs[0].dims or (None, None))[-2:-1])
    return num_elements(op.outputs[0].dims) * inner / BLAS_RATE


def windows(op: Operation) -> float:
    """Of what looks at a window for each place of a picture, by three to a side."""
    channels = num_elements((op.inputs[0].dims or (None,))[-1:])
    return largest_operand(op) * channels * 9 / BLAS_RATE


def cubic(factor: float) -> Callable[[Operation], float]:
    """Of what LAPACK does with a matrix of n x n in ``factor`` * n^3 multiplications."""

    def cost(op: Operation) -> float:
        n = num_elements((op.inputs[0].dims or (None,))[-1:])
        return factor * largest_operand(op) * n / LAPACK_RATE

    return cost


def steps(attr: str, each: float = 0.0007) -> Callable[[Operation], float]:
    """Of a fused node whose attribute has so many ``steps`` for each element."""

    def cost(op: Operation) -> float:
        return largest_operand(op) * each * len(op.attrs[attr].steps)

    return cost
