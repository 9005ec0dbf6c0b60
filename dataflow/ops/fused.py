"""The node that stands for a fused chain; only rewrites make it, in a plan's private graph."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims, Shape


@define_op("_Fused", "inputs: list(Tin) -> output: T")
def fused_op(inputs: list[Tensor], *, program: Any, T: DType, output_shape: Shape) -> Dims:
    """A chain of element-wise ops, perhaps with a sum or mean at its end, as one kernel.

    Shape: ``output_shape``, that of the chain's last op. Gradient: none; fusing happens after
    gradients are built.
    """
    return output_shape


not_differentiable(fused_op)
