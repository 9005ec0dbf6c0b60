"""Patterns of neural networks."""

from __future__ import annotations

from dataflow.graph.tensor import Tensor
from dataflow.rewrites.engine import rewrite


@rewrite("Relu")
def relu_of_relu(t: Tensor) -> Tensor | None:
    """relu(relu(x)) -> relu(x)"""
    (x,) = t.op._inputs
    return x if x.op.type == "Relu" else None
