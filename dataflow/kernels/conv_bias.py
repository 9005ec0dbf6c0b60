"""A convolution with a bias and perhaps a rectifier, added while its sums are in registers.

`rewrites.conv_bias` makes the op. Where the tiles of `direct_conv` cannot do it, one loop over the sums follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv import convolve, forward_and_end
from dataflow.kernels.conv_geometry import Layout, Problem
from dataflow.kernels.direct_conv import Ending
from dataflow.kernels.registry import kernel


@kernel(
    "_Conv2DBias",
    cpu_only="a GPU convolves and adds one after the other; no rewrite makes one for it",
)
def conv2d_bias_kernel(
    xp: Module,
    input: Array,
    filter: Array,
    bias: Array,
    *,
    relu: bool,
    strides: list[int],
    padding: str,
    explicit_paddings: Sequence[int],
    dilations: list[int],
) -> Any:
    if bias.shape != filter.shape[-1:]:
        raise InvalidArgumentError(
            None,
            None,
            f"Must provide as many biases as the channels of the input tensor: "
            f"{list(bias.shape)} vs. {filter.shape[-1]} outputs",
        )
    ending = Ending(bias, relu)

    def ended(xp: Module, x: Array, filters: Array, problem: Problem) -> Any:
        return forward_and_end(xp, x, filters, problem, ending)

    attrs = (strides, dilations, padding, explicit_paddings)
    return convolve(xp, input, filter, Layout(False), *attrs, by=ended)
