"""Padding of ragged rows: what it is in a dense tensor, and rows filled up to one length."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DynamicShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.arithmetic import maximum_op
from dataflow.ops.casts import cast
from dataflow.ops.reduce import reduce_max
from dataflow.shapes import TensorShape


def check_default(default: Tensor, flat_values: Tensor) -> None:
    """Raises `ValueError` where ``default`` cannot stand for one of the values."""
    if default.dims is None or flat_values.dims is None:
        return
    default.shape.with_rank_at_most(len(flat_values.dims) - 1)
    for own, wanted in zip(default.dims[::-1], flat_values.dims[:0:-1], strict=False):
        if None not in (own, wanted) and own not in (1, wanted):
            raise ValueError(f"Shapes {default.shape} and {flat_values.shape[1:]} are incompatible")


def minimum_of(a: TensorLike, b: TensorLike) -> Any:
    """The smaller of two."""
    from dataflow.ops.arithmetic import minimum_op

    return minimum_op(a, b)


def lengths_without_padding(tensor: Any, padding: Any, kind: DType) -> Any:
    """The number of columns up to the last that is not padding, [rows]."""
    from dataflow.ops.comparison import not_equal_op
    from dataflow.ops.reduce import reduce_any

    padding = convert_to_tensor(padding, tensor.dtype.base_dtype)
    differs = not_equal_op(tensor, padding)
    rank = differs.get_shape().ndims
    if rank is None:
        raise ValueError("padding needs a tensor of known rank")
    if rank > 2:
        differs = reduce_any(differs, list(range(2, rank)))
    places = array.range_(1, array.shape(tensor, out_type=kind)[1] + 1)
    return reduce_max(
        array.concat(
            [cast(differs, kind) * places, array.zeros([array.shape(tensor)[0], 1], kind)], 1
        ),
        1,
    )


def fitted(tensor: TensorLike, default: Any, shape: DynamicShapeLike) -> Any:
    """Cut and widened to ``shape``; None stands for sizes that stay."""
    wanted = TensorShape(shape).as_list()
    have = array.shape(tensor)
    sizes = [have[i] if size is None else size for i, size in enumerate(wanted)]
    tensor = array.slice_(
        tensor,
        [0] * len(wanted),
        array.stack([minimum_of(have[i], s) for i, s in enumerate(sizes)]),
    )
    have = array.shape(tensor)
    missing = array.stack([[0, maximum_op(s - have[i], 0)] for i, s in enumerate(sizes)])
    result = array.pad(tensor, missing, constant_values=default)
    result.set_shape(wanted)
    return result
