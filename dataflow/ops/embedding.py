"""Embeddings: rows of a table, also of one that is cut into several variables, and their sums."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.concat_split import concat, stack
from dataflow.ops.fills import zeros_like
from dataflow.ops.gather_scatter import gather
from dataflow.ops.graph_functions import colocate_with
from dataflow.ops.identity import identity
from dataflow.ops.partition_stitch import dynamic_partition, parallel_dynamic_stitch
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.ops.reshape import reshape
from dataflow.ops.seeds import count_left_out
from dataflow.ops.selection import where
from dataflow.ops.sequences import range_, unique
from dataflow.ops.shape import rank, shape, size
from dataflow.ops.slicing import slice_
from dataflow.ops.sparse import (
    sparse_fill_empty_rows,
    sparse_reshape,
    sparse_retain,
)
from dataflow.ops.sparse_tensor import SparseTensor, to_sparse
from dataflow.ops.tile import tile
from dataflow.shapes import TensorShape, as_dims, merge


def _tables(params: Any) -> list[Any]:
    """The variables, tensors or arrays that make up the table."""
    if params is None or (isinstance(params, (list, tuple)) and len(params) == 0):
        raise ValueError("Need at least one param")
    if isinstance(params, (list, tuple)):
        return list(params)
    partitions = getattr(params, "_variable_list", None)
    if partitions is None and type(params).__name__ == "PartitionedVariable":
        partitions = list(params)
    return [params] if partitions is None else list(partitions)


def _table(value: Any, name: str) -> Any:
    """A variable or a tensor as it is; an array or a list as a constant."""
    return value if hasattr(value, "graph") else convert_to_tensor(value, name=name)


def _static(value: TensorLike) -> Any:
    return as_dims(getattr(value, "shape", None))


def _clip_rows(rows: Tensor, ids: Tensor, max_norm: Any) -> Tensor:
    """Rows longer than ``max_norm`` scaled down to it."""
    if max_norm is None:
        return rows
    from dataflow.ops.clip import clip_by_norm

    if rows.dims is not None and ids.dims is not None:
        axes: Any = list(range(len(ids.dims), len(rows.dims)))
    else:
        axes = range_(rank(ids), rank(rows))
    return clip_by_norm(rows, max_norm, axes=axes)  # type: ignore[no-any-return]


@takes_ragged("lookup")
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """The rows of the table ``params`` that ``ids`` number; shape ids.shape + a row's.

    ``params`` may be several tables that share the rows: with "mod" row i is in table i % n, with
    "div" each holds a run of consecutive rows. ``max_norm`` clips each row's length.
    The gradient is sparse: only the rows that were looked up get one.
    """
    tables = _tables(params)
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"partition_strategy must be 'mod' or 'div', got {partition_strategy!r}")
    with op_scope(name, "embedding_lookup", [*tables, ids]) as scope:
        tables = [_table(t, f"params_{i}") for i, t in enumerate(tables)]
        ids = convert_to_tensor(ids, name="ids")
        count = len(tables)
        if count == 1:
            with colocate_with(tables[0]):  # rows travel between tasks, and not the table
                rows = gather(tables[0], ids, name=scope)
            return identity(_clip_rows(rows, ids, max_norm))
        flat = reshape(ids, [-1])
        places = range_(size(flat))
        which, local = _assign(tables, flat, partition_strategy)
        if which.dtype.base_dtype is not dtypes.int32:
            from dataflow.ops.math import cast

            which = cast(which, dtypes.int32)
        parts = dynamic_partition(local, which, count)
        where_to = dynamic_partition(places, which, count)
        rows_of = []
        for table, part in zip(tables, parts, strict=True):
            with colocate_with(table):
                rows_of.append(gather(table, part))
        rows = parallel_dynamic_stitch(where_to, rows_of, name=scope)
        row_dims: Any = None
        for table in tables:
            dims = _static(table)
            row_dims = merge(row_dims, None if dims is None else dims[1:])
        if row_dims is not None and None not in row_dims:
            row_shape: Any = TensorShape(row_dims)
        else:
            row_shape = shape(tables[0])[1:]
        result = reshape(rows, concat([shape(ids), row_shape], 0))
        if ids.dims is not None and row_dims is not None:
            result.set_shape(ids.dims + row_dims)
        return _clip_rows(result, ids, max_norm)


def _assign(tables: list[Any], flat: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """For each id the number of its table, and its row there."""
    count = len(tables)
    if strategy == "mod":
        return flat % count, flat // count
    sizes = [_static(t) for t in tables]
    if all(s is not None and s[0] is not None for s in sizes):
        total: Any = convert_to_tensor(sum(s[0] for s in sizes), flat.dtype.base_dtype)
    else:
        from dataflow.ops.math import add_n, cast

        total = add_n([cast(shape(t)[0], flat.dtype.base_dtype) for t in tables])
    from dataflow.ops.math import maximum

    each, longer = total // count, total % count
    which = maximum(flat // (each + 1), (flat - longer) // each)
    local = where(which < longer, flat % (each + 1), (flat - longer) % each)
    return which, local


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """For each row of the sparse ids, the combined embedding: "sum", "mean" (default) or "sqrtn".

    ``sp_weights`` (or ``None`` for ones) weigh the ids; "mean" divides by the sum of weights,
    "sqrtn" by the root of the sum of their squares.
    """
    from dataflow.ops.math import cast, pow_, sqrt
    from dataflow.ops.segment import segment_sum

    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    tables = _tables(params)
    ids = to_sparse(sp_ids)
    with op_scope(name, "embedding_lookup_sparse", [*tables, ids.indices]) as scope:
        segments = ids.indices[:, 0]
        if segments.dtype.base_dtype is not dtypes.int32:
            segments = cast(segments, dtypes.int32)
        different, index = unique(ids.values)
        rows = embedding_lookup(tables, different, partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            return _segment_rows(combiner, rows, index, segments, scope)  # type: ignore[no-any-return]
        weights = to_sparse(sp_weights).values
        if weights.dtype.base_dtype is not rows.dtype.base_dtype:
            weights = cast(weights, rows.dtype.base_dtype)
        rows = gather(rows, index)
        axes = 1 if rows.dims is None else len(rows.dims) - 1
        column = reshape(weights, [-1] + [1] * axes)
        count_left_out(9)  # the shape is made of the rank there
        rows = rows * column
        if combiner == "sum":
            return segment_sum(rows, segments, name=scope)  # type: ignore[no-any-return]
        from dataflow.ops.math import div_no_nan

        total = segment_sum(rows, segments)
        if combiner == "mean":
            # A row without ids is zeros, not NaN.
            return div_no_nan(total, segment_sum(column, segments), name=scope)
        norm = sqrt(segment_sum(pow_(column, 2), segments))
        return div_no_nan(total, norm, name=scope)


def _segment_rows(combiner: str, rows: Tensor, index: Tensor, segments: Tensor, scope: str) -> Any:
    from dataflow.ops import sparse_segment as segment

    function = {
        "sum": segment.sparse_segment_sum,
        "mean": segment.sparse_segment_mean,
        "sqrtn": segment.sparse_segment_sqrt_n,
    }[combiner]
    return function(rows, index, segments, name=scope)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """`embedding_lookup_sparse` that drops ids below 0 and weights not above 0.

    Rows without an id get that of ``default_id``, or zeros. Raises `ValueError` where the parts of
    the table, or they and the weights, differ in dtype.
    """
    from dataflow.ops.math import cast, greater, greater_equal, logical_and, reduce_prod

    tables = [_table(t, "embedding_weights") for t in _tables(embedding_weights)]
    ids = to_sparse(sparse_ids)
    weights = None if sparse_weights is None else to_sparse(sparse_weights)
    types = [t.dtype.base_dtype for t in [*tables, *([] if weights is None else [weights.values])]]
    if len(set(types)) > 1:
        raise ValueError(
            "The tables, and the weights of the ids, must have the same dtype; got "
            f"{', '.join(t.name for t in types)}."
        )
    with op_scope(name, "embedding_lookup", [*tables, ids.indices]) as scope:
        original = ids.dense_shape
        known = ids.shape.ndims
        top = known if known is not None else size(original)
        before = slice_(original, [0], [top - 1])
        flat_shape = stack([reduce_prod(before), gather(original, top - 1)])
        flat = sparse_reshape(ids, flat_shape)
        if weights is not None:
            weights = SparseTensor(flat.indices, weights.values, flat.dense_shape)
        valid = greater_equal(flat.values, 0)
        if weights is not None and combiner != "sum":
            valid = logical_and(valid, greater(weights.values, 0))
        flat = sparse_retain(flat, valid)
        if weights is not None:
            weights = sparse_retain(weights, valid)
            # A mask of ones beside the ids' own; weights are looked at in a second round.
            count_left_out(4 if combiner == "sum" else 19)
        flat, empty = sparse_fill_empty_rows(flat, default_id or 0)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        rows = embedding_lookup_sparse(
            tables,
            flat,
            weights,
            partition_strategy,
            combiner=combiner,
            name=None if default_id is None else scope,
            max_norm=max_norm,
        )
        if default_id is None:
            empty = tile(reshape(empty, [-1, 1]), stack([1, shape(rows)[1]]))
            rows = where(empty, zeros_like(rows), rows, name=scope)
        outer = slice_(cast(original, dtypes.int32), [0], [top - 1])
        final = reshape(rows, concat([outer, slice_(shape(rows), [1], [-1])], 0))
        if known is not None and rows.dims is not None:
            final.set_shape((*as_dims(ids.shape)[:-1], *rows.dims[1:]))  # type: ignore[index]
        return final
