"""``from tensorflow.python.framework import tensor_util``."""

from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.graph.tensor_proto import make_ndarray as MakeNdarray, make_tensor_proto
from dataflow.ops.static_value import static_dims
from dataflow.ops.tensor_values import constant_value, is_tensor
from dataflow.shapes import TensorShape

make_ndarray = MakeNdarray


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """The shape that a vector of sizes stands for, with None for sizes not known yet."""
    return TensorShape(static_dims(tensor))


def ShapeEquals(tensor_proto: Any, shape: Any) -> bool:
    """Whether a ``TensorProto`` has this shape: sizes, or a ``TensorShapeProto``.

    Raises `TypeError` for anything else.
    """
    sizes = [dim.size for dim in tensor_proto.tensor_shape.dim]
    if hasattr(shape, "dim"):
        shape = [dim.size for dim in shape.dim]
    if not isinstance(shape, (list, tuple)):
        raise TypeError(f"shape must be sizes or a TensorShapeProto, got {shape!r}")
    return sizes == list(shape)


__all__ = [
    "MakeNdarray",
    "ShapeEquals",
    "constant_value",
    "constant_value_as_shape",
    "is_tensor",
    "make_ndarray",
    "make_tensor_proto",
]
