"""``from tensorflow.python.framework import tensor_util``."""

from dataflow.graph.tensor import Tensor
from dataflow.graph.tensor_proto import make_ndarray as MakeNdarray, make_tensor_proto
from dataflow.ops.static_value import static_dims
from dataflow.ops.tensor_values import constant_value, is_tensor
from dataflow.shapes import TensorShape

make_ndarray = MakeNdarray


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """The shape that a vector of sizes stands for, with None for sizes not known yet."""
    return TensorShape(static_dims(tensor))


__all__ = [
    "MakeNdarray",
    "constant_value",
    "constant_value_as_shape",
    "is_tensor",
    "make_ndarray",
    "make_tensor_proto",
]
