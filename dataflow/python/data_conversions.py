"""``tensorflow.python.data.util.convert``: arguments of datasets as tensors."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import int64
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.sources import constant
from dataflow.shapes import TensorShape

__all__ = ["optional_param_to_tensor", "partial_shape_to_tensor"]


def optional_param_to_tensor(
    argument_name: str,
    argument_value: Any,
    argument_default: Any = 0,
    argument_dtype: DTypeLike = int64,
) -> Tensor:
    """``argument_value``, or the default where it is None, as a tensor of this dtype and name."""
    if argument_value is None:
        return constant(argument_default, dtype=argument_dtype, name=argument_name)
    return convert_to_tensor(argument_value, dtype=argument_dtype, name=argument_name)


def partial_shape_to_tensor(shape_like: Any) -> Tensor:
    """A shape, or a vector of sizes, as an int64 vector; -1 stands for an unknown size.

    Raises `ValueError` for a tensor that is no vector, `TypeError` for one of other numbers.
    """
    if not isinstance(shape_like, Tensor):
        try:
            sizes = TensorShape(shape_like).as_list()
            return convert_to_tensor([-1 if n is None else n for n in sizes], dtype=int64)
        except (TypeError, ValueError):
            pass
    tensor = convert_to_tensor(shape_like, preferred_dtype=int64)
    if tensor.shape.ndims not in (None, 1):
        raise ValueError(
            f"The given shape {shape_like} must be a 1-D tensor of tf.int64 values, but the shape was "
            f"{tensor.shape}."
        )
    if tensor.dtype != int64:
        raise TypeError(
            f"The given shape {shape_like} must be a 1-D tensor of tf.int64 values, but the element "
            f"type was {tensor.dtype.name}."
        )
    return tensor
