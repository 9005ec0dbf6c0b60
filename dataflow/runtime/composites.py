"""Feeds and fetches of values that are several tensors: SparseTensor, RaggedTensor and IndexedSlices."""

from __future__ import annotations

from typing import Any

from dataflow.ops.indexed_slices import IndexedSlices, IndexedSlicesValue
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.ragged_value import RaggedTensorValue, is_value
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue, sparse_parts
from dataflow.runtime.feeds import register_feed_expander
from dataflow.runtime.fetches import register_fetch_expander


def _fetch_sparse(sp: SparseTensor) -> Any:
    return [sp.indices, sp.values, sp.dense_shape], lambda values: SparseTensorValue(*values)


def _feed_sparse(sp: SparseTensor, value: Any) -> Any:
    is_pair = isinstance(value, tuple) and len(value) == 2
    if is_pair and sp.dense_shape.op.type != "Placeholder":  # the shape is known already
        indices, values = value
        return [(sp.indices, indices), (sp.values, values)]
    try:
        indices, values, dense_shape = sparse_parts(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"The SparseTensor {sp.name!r} is fed with a tf.SparseTensorValue or a triple "
            f"(indices, values, dense_shape), got {type(value).__name__}."
        ) from None
    if len(indices) == 0:  # an empty list has no rank of its own
        import numpy as np

        rank = len(dense_shape)
        indices = np.zeros((0, rank), np.int64)
    return [(sp.indices, indices), (sp.values, values), (sp.dense_shape, dense_shape)]


def _fetch_slices(slices: IndexedSlices) -> Any:
    parts = [slices.values, slices.indices]
    if slices.dense_shape is not None:
        parts.append(slices.dense_shape)
    return parts, lambda values: IndexedSlicesValue(*values)


def _feed_slices(slices: IndexedSlices, value: Any) -> Any:
    try:
        parts = list(value)
    except TypeError:
        raise TypeError(
            f"The IndexedSlices {slices.name!r} are fed with a tf.IndexedSlicesValue or a tuple "
            f"(values, indices, dense_shape), got {type(value).__name__}."
        ) from None
    pairs = [(slices.values, parts[0]), (slices.indices, parts[1])]
    if slices.dense_shape is not None and len(parts) > 2 and parts[2] is not None:
        pairs.append((slices.dense_shape, parts[2]))
    return pairs


def _fetch_ragged(rt: RaggedTensor) -> Any:
    def rebuild(parts: list[Any]) -> Any:
        values = parts[0]
        for splits in reversed(parts[1:]):
            values = RaggedTensorValue(values, splits)
        return values

    return [rt.flat_values, *rt.nested_row_splits], rebuild


def _feed_ragged(rt: RaggedTensor, value: Any) -> Any:
    if not is_value(value) or value.ragged_rank != rt.ragged_rank:
        got = f"of ragged rank {value.ragged_rank}" if is_value(value) else type(value).__name__
        raise TypeError(
            f"The RaggedTensor {rt.name!r} is fed with a tf.ragged.RaggedTensorValue of ragged rank "
            f"{rt.ragged_rank}, got {got}. tf.ragged.constant_value makes one of lists."
        )
    parts = zip(rt.nested_row_splits, value.nested_row_splits, strict=True)
    return [(rt.flat_values, value.flat_values), *parts]


register_fetch_expander(RaggedTensor, _fetch_ragged)
register_feed_expander(RaggedTensor, _feed_ragged)
register_fetch_expander(SparseTensor, _fetch_sparse)
register_feed_expander(SparseTensor, _feed_sparse)
register_fetch_expander(IndexedSlices, _fetch_slices)
register_feed_expander(IndexedSlices, _feed_slices)
