"""The node that stands for a convolution, a bias and a rectifier; only rewrites make it."""

from __future__ import annotations

from dataflow.dtypes import float32
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.costs import windows
from dataflow.shapes import Dims, Shape


@define_op(
    "_Conv2DBias",
    "input: T, filter: T, bias: T -> output: T",
    T=[float32],
    own_memory=True,
    calls_blas=True,
    cost=windows,
    shares_work="always",
)
def conv2d_bias_op(
    input: Tensor,
    filter: Tensor,
    bias: Tensor,
    *,
    relu: bool,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    dilations: list[int],
    output_shape: Shape,
) -> Dims:
    """``Conv2D`` plus a bias, and the rectifier of that with ``relu``.

    Shapes: those of `Conv2D` with the channels last, in one group; bias [outputs]; ``output_shape``. Dtype: float32.
    Gradient: none; rewriting happens after gradients are built.
    """
    return output_shape


not_differentiable(conv2d_bias_op)
