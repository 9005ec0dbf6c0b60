"""Checks and small helpers of ``tf.contrib.framework``: shapes, ranks, the graph of some inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.logging_ops import Assert
from dataflow.ops.math import equal, reduce_all, reduce_sum
from dataflow.ops.shape_assertions import assert_scalar
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue
from dataflow.ops.sums import add_n
from dataflow.ops.tensor_values import constant_value
from dataflow.shapes import TensorShape, compatible


def assert_scalar_int(tensor: TensorLike, name: str | None = None) -> Tensor:
    """``tensor`` as a scalar of int32 or int64; raises `ValueError` for anything else."""
    tensor = convert_to_tensor(tensor, name=name or "tensor")
    if not tensor.dtype.base_dtype.is_integer:
        raise ValueError(f"Expected integer type for {tensor.name}, received type: {tensor.dtype}.")
    return assert_scalar(tensor, name=name)  # type: ignore[no-any-return]


def get_graph_from_inputs(op_input_list: Sequence[Any], graph: Graph | None = None) -> Graph:
    """The graph of the inputs, else the default one.

    Raises `ValueError` when they are of different graphs, or not of ``graph``.
    """
    named = graph
    for item in op_input_list:
        part = item.indices if isinstance(item, SparseTensor) else item
        of_item = getattr(part, "graph", None)
        if of_item is None:
            continue
        if graph is None:
            graph = of_item
        elif of_item is not graph:
            where = "the graph given" if named is not None else "the same graph as the others"
            raise ValueError(f"{item!r} must be from {where}.")
    return graph if graph is not None else default_graph()


def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of all elements of all tensors, a scalar. Raises `ValueError` without any."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with name_scope(name, "reduce_sum_n", list(tensors)) as scope:
        sums = [reduce_sum(t) if convert_to_tensor(t).dims != () else t for t in tensors]
        return sums[0] if len(sums) == 1 else add_n(sums, name=scope)


def remove_squeezable_dimensions(
    predictions: TensorLike, labels: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Predictions and labels; the one that has one dimension more, of size 1 at its end, loses it.

    Where a rank is known only at run time the other's is taken there.
    """
    with name_scope(name, "remove_squeezable_dimensions", [predictions, labels]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        of, and_of = predictions.dims, labels.dims
        if of is not None and and_of is not None:
            if len(of) == len(and_of) + 1 and compatible(of[-1:], (1,)):
                predictions = array.squeeze(predictions, [-1])
            elif len(of) == len(and_of) - 1 and compatible(and_of[-1:], (1,)):
                labels = array.squeeze(labels, [-1])
            return predictions, labels
        return _squeezed_like(predictions, labels), _squeezed_like(labels, predictions)


def _squeezed_like(tensor: Tensor, other: Tensor) -> Tensor:
    from dataflow.ops.conditionals import cond

    if tensor.dims is not None and not compatible(tensor.dims[-1:], (1,)):
        return tensor
    longer = equal(array.rank(tensor), array.rank(other) + 1)
    return cond(longer, lambda: array.squeeze(tensor, [-1]), lambda: tensor)  # type: ignore[no-any-return]


def with_same_shape(expected_tensor: TensorLike, tensor: TensorLike) -> Tensor:
    """``tensor``, after a check that it has the shape of ``expected_tensor``; see `with_shape`."""
    with name_scope("with_same_shape", values=[expected_tensor, tensor]):
        expected = convert_to_tensor(expected_tensor)
        known = expected.get_shape()
        wanted = known.as_list() if known.is_fully_defined() else array.shape(expected)
        return with_shape(wanted, tensor)


def with_shape(expected_shape: Any, tensor: TensorLike) -> Tensor:
    """``tensor``, after a check that its shape is ``expected_shape``: now where known, else when it runs.

    ``expected_shape`` is a list, in which None is any size, a `TensorShape`, or a tensor, a vector of int32
    or int64, which is compared when it runs. Raises `ValueError` for a shape that differs, for a sparse
    tensor and for another ``expected_shape``; `InvalidArgumentError` when a run finds another shape.
    """
    if isinstance(tensor, (SparseTensor, SparseTensorValue)):
        raise ValueError("SparseTensor not supported.")
    tensor = convert_to_tensor(tensor)
    if isinstance(expected_shape, Tensor):
        checked = _checked_at_run_time(_as_shape_tensor(expected_shape), tensor)
        known = constant_value(expected_shape)
        if known is not None and tensor.get_shape().is_compatible_with(known.tolist()):
            checked.set_shape(known.tolist())
        return checked
    if isinstance(expected_shape, TensorShape):
        shape = expected_shape
    else:
        sizes = np.asarray([-1 if s is None else s for s in np.ravel(expected_shape).tolist()])
        if np.ndim(expected_shape) != 1:
            raise ValueError(f"Invalid rank {np.ndim(expected_shape)} for expected shape.")
        if sizes.size and sizes.dtype.kind not in "iu":
            raise ValueError(f"Invalid dtype {sizes.dtype} for expected shape.")
        shape = TensorShape([None if s < 0 else int(s) for s in sizes])
    if not tensor.get_shape().is_compatible_with(shape):
        raise ValueError(f"Shapes {tensor.get_shape()} and {shape} are not compatible.")
    if shape.is_fully_defined() and not tensor.get_shape().is_fully_defined():
        tensor = _checked_at_run_time(convert_to_tensor(shape.as_list(), dtypes.int32), tensor)
    tensor.set_shape(shape)
    return tensor


def _as_shape_tensor(shape: Tensor) -> Tensor:
    if shape.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"Invalid dtype {shape.dtype} for expected shape.")
    if not compatible(shape.dims, (None,)):
        raise ValueError(f"Invalid rank {shape.get_shape().ndims} for expected shape.")
    return shape


def _checked_at_run_time(expected: Tensor, tensor: Tensor) -> Tensor:
    actual = array.shape(tensor, out_type=expected.dtype.base_dtype)
    same_rank = equal(array.size(actual), array.size(expected))
    said = [f"Wrong shape for {tensor.name} [expected] [actual].", expected, actual]
    with control_dependencies([Assert(same_rank, said)]):
        same = reduce_all(equal(expected, actual))
    with control_dependencies([Assert(same, said)]):
        checked: Tensor = array.identity(tensor)
    return checked


def get_placeholders(graph: Graph) -> list[Tensor]:
    """All placeholders of ``graph``: those of tf.placeholder, in the order in which they were made."""
    return [
        op.outputs[0]
        for op in graph.get_operations()
        if op.type in ("Placeholder", "PlaceholderV2")
    ]
