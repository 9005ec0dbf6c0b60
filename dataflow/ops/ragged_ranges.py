"""Ranges of different lengths as a ragged tensor, and row splits as segment ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.arithmetic import maximum_op
from dataflow.ops.assertions import assert_none_equal
from dataflow.ops.casts import cast
from dataflow.ops.cumulative import cumsum
from dataflow.ops.elementary import ceil
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.ragged_tensor import RaggedTensor


def _check_ranges(**arguments: Tensor) -> None:
    """Raises `ValueError` for an argument that is neither a number nor a vector, or vectors of other lengths."""
    sizes = set()
    for name, each in arguments.items():
        if each.dims is not None and len(each.dims) > 1:
            raise ValueError(f"{name} must be a number or a vector, got shape {each.shape}.")
        sizes |= {d for d in each.dims or () if d is not None}
    if len(sizes) > 1:
        shapes = ", ".join(f"{name} {each.shape}" for name, each in arguments.items())
        raise ValueError(f"starts, limits and deltas must have the same length, got {shapes}.")


def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> RaggedTensor:
    """Row i counts from ``starts[i]`` up to, but not including, ``limits[i]``, by ``deltas[i]``.

    Of one argument the rows begin with 0. Scalars stand for all rows.
    """
    with op_scope(name, "RaggedRange", []):
        if limits is None:
            starts, limits = 0, starts
        parts = [p if isinstance(p, Tensor) else np.asarray(p) for p in (starts, limits, deltas)]
        if dtype is None:
            known = [p.dtype.base_dtype for p in parts if isinstance(p, Tensor)]
            dtype = known[0] if known else as_dtype(np.result_type(*parts))
            dtype = dtypes.int32 if not known and dtype is dtypes.int64 else dtype
        first, last, step = (cast(convert_to_tensor(p), as_dtype(dtype)) for p in parts)
        _check_ranges(starts=first, limits=last, deltas=step)
        zero = array.reshape((first + last + step) * 0, [-1])
        first, last, step = (array.reshape(p, [-1]) + zero for p in (first, last, step))
        kind = as_dtype(row_splits_dtype)
        if isinstance(deltas, Tensor) or not np.all(deltas):
            ok = assert_none_equal(step, array.zeros_like(step), message="Requires delta != 0")
            with control_dependencies([ok]):
                step = array.identity(step)
        if as_dtype(dtype).is_floating:
            counts = cast(ceil((last - first) / step), kind)
        else:
            counts = -cast((first - last) // step, kind)
        counts = maximum_op(counts, array.zeros_like(counts))
        splits = array.concat([array.zeros([1], kind), cumsum(counts)], 0)
        rows = RaggedTensor(array.range_(splits[-1]), splits)
        ids = rows.value_rowids()
        place = rows.values - array.gather(splits, ids)
        values = array.gather(first, ids) + cast(place, first.dtype) * array.gather(step, ids)
        return rows.with_values(values)


def row_splits_to_segment_ids(
    splits: Any, name: str | None = None, out_type: DTypeLike | None = None
) -> Any:
    """The row of each value: ``[0, 3, 3, 5]`` gives ``[0, 0, 0, 2, 2]``."""
    splits = convert_to_tensor(splits, preferred_dtype=dtypes.int64)
    ids = RaggedTensor(array.range_(splits[-1]), splits).value_rowids()
    return ids if out_type is None else cast(ids, as_dtype(out_type))


def segment_ids_to_row_splits(
    segment_ids: TensorLike,
    num_segments: Any = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> Any:
    """Where rows begin: ``[0, 0, 0, 2, 2]`` gives ``[0, 3, 3, 5]``."""
    ids = convert_to_tensor(segment_ids, preferred_dtype=dtypes.int64)
    splits = RaggedTensor.from_value_rowids(ids, ids, num_segments).row_splits
    return cast(splits, ids.dtype if out_type is None else as_dtype(out_type))
