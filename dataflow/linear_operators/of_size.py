"""Operators that a number of rows describes: sizes that are checked, as known and when they run."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.ops import array
from dataflow.ops.assertions import assert_non_negative
from dataflow.ops.casts import cast
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.shape_assertions import assert_rank
from dataflow.ops.tensor_values import constant_value
from dataflow.shapes import TensorShape


class OfSize(LinearOperator):
    """A square operator of ``num_rows`` rows for each member of ``batch_shape``."""

    def _set_size(self, num_rows: Any, batch_shape: Any = None, checks: bool = False) -> None:
        self._num_rows = size_of(num_rows, "num_rows", checks)
        shape: Any = [] if batch_shape is None else batch_shape
        if isinstance(shape, TensorShape):
            shape = shape.as_list()
        self._batch_given = _sizes(shape, "batch_shape", 1, checks)

    def _batch_static(self) -> TensorShape:
        known = constant_value(self._batch_given)
        if known is not None:
            return TensorShape([int(n) for n in known])
        given = self._batch_given.dims
        rank = None if given is None else given[0]
        return TensorShape(None if rank is None else [None] * rank)

    def _shape(self) -> TensorShape:
        size = known_size(self._num_rows)
        return self._batch_static().concatenate([size, size])

    def _shape_tensor(self) -> Any:
        return array.concat([self._batch_given, [self._num_rows, self._num_rows]], 0)


def size_of(value: Any, name: str, checks: bool = False) -> Any:
    return _sizes(value, name, 0, checks)


def _sizes(value: Any, name: str, rank: int, checks: bool) -> Any:
    """``value`` as int32, refused where it is known to be wrong; with ``checks`` when it runs, too."""
    dtype = dtypes.int32 if isinstance(value, (list, tuple)) and not value else None
    sizes = convert_to_tensor(value, dtype, name=name)
    if not sizes.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type. Found: {value}")
    sizes, text = cast(sizes, dtypes.int32), f"Argument {name} must be a {rank}-D Tensor."
    if sizes.get_shape().ndims not in (None, rank):
        raise ValueError(f"{text} Found: {value}")
    known, signs = constant_value(sizes), f"Argument {name} must be non-negative."
    if known is not None and (known < 0).any():
        raise ValueError(f"{signs} Found: {known}")
    if not checks:
        return sizes
    waits = [assert_rank(sizes, rank, message=text), assert_non_negative(sizes, message=signs)]
    return with_dependencies(waits, sizes)


def known_size(size: TensorLike) -> int | None:
    value = constant_value(size)
    return None if value is None else int(value)
