"""Copies between the host's memory and a GPU's; only the placer makes them, in a plan's own graph."""

from __future__ import annotations

from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims

#: The op types of this file.
COPIES = frozenset({"_CopyToDevice", "_CopyToHost"})


@define_op("_CopyToDevice", "input: T -> output: T")
def copy_to_device(input: Tensor) -> Dims:
    """The same value in the memory of the node's device (from the host, or from another GPU).

    Shape and dtype: those of the input. Gradient: none; copies are put in after gradients are built.
    """
    return input.dims


@define_op("_CopyToHost", "input: T -> output: T")
def copy_to_host(input: Tensor) -> Dims:
    """The same value in the host's memory. The host waits until the GPU has computed it.

    Shape and dtype: those of the input. Gradient: none; copies are put in after gradients are built.
    """
    return input.dims


not_differentiable(copy_to_device)
not_differentiable(copy_to_host)
