"""Reading serialized ``SequenceExample`` messages: a context, and features for each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.identity import ensure_shape
from dataflow.ops.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    default_of,
    feature_dtype,
)
from dataflow.ops.shape import need_rank
from dataflow.ops.sources import constant
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import Dims, Shape


@define_op(
    "ParseSequenceExampleV2",
    "serialized: string, debug_name: string, context_sparse_keys: string, "
    "context_dense_keys: string, context_ragged_keys: string, feature_list_sparse_keys: string, "
    "feature_list_dense_keys: string, feature_list_ragged_keys: string, "
    "feature_list_dense_missing_assumed_empty: bool, "
    "context_dense_defaults: list(Tcontext_dense) "
    "-> context_sparse_indices: Ncontext_sparse * int64, "
    "context_sparse_values: list(context_sparse_types), "
    "context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: list(Tcontext_dense), "
    "context_ragged_values: list(context_ragged_value_types), "
    "context_ragged_row_splits: list(context_ragged_split_types), "
    "feature_list_sparse_indices: Nfeature_list_sparse * int64, "
    "feature_list_sparse_values: list(feature_list_sparse_types), "
    "feature_list_sparse_shapes: Nfeature_list_sparse * int64, "
    "feature_list_dense_values: list(feature_list_dense_types), "
    "feature_list_dense_lengths: Nfeature_list_dense * int64, "
    "feature_list_ragged_values: list(feature_list_ragged_value_types), "
    "feature_list_ragged_outer_splits: list(feature_list_ragged_split_types), "
    "feature_list_ragged_inner_splits: list(feature_list_ragged_split_types)",
)
def parse_sequence_example_op(
    serialized: Tensor,
    debug_name: Tensor,
    context_sparse_keys: Tensor,
    context_dense_keys: Tensor,
    context_ragged_keys: Tensor,
    feature_list_sparse_keys: Tensor,
    feature_list_dense_keys: Tensor,
    feature_list_ragged_keys: Tensor,
    feature_list_dense_missing_assumed_empty: Tensor,
    context_dense_defaults: list[Tensor],
    *,
    Ncontext_sparse: int = 0,
    context_sparse_types: list[DType] = (),  # type: ignore[assignment]
    context_ragged_value_types: list[DType] = (),  # type: ignore[assignment]
    context_ragged_split_types: list[DType] = (),  # type: ignore[assignment]
    context_dense_shapes: list[Shape] = (),  # type: ignore[assignment]
    Nfeature_list_sparse: int = 0,
    Nfeature_list_dense: int = 0,
    feature_list_dense_types: list[DType] = (),  # type: ignore[assignment]
    feature_list_sparse_types: list[DType] = (),  # type: ignore[assignment]
    feature_list_ragged_value_types: list[DType] = (),  # type: ignore[assignment]
    feature_list_ragged_split_types: list[DType] = (),  # type: ignore[assignment]
    feature_list_dense_shapes: list[Shape] = (),  # type: ignore[assignment]
) -> list[Dims]:
    """Serialized ``SequenceExample`` messages (a scalar or a vector) as tensors.

    Shape: a step axis in front of each entry of the sequences, before it the batch; dense ones are
    padded to the longest, whose true lengths are given too. Not differentiable.
    """
    if context_ragged_value_types or feature_list_ragged_value_types:
        raise ValueError("ragged features are not read here: use VarLenFeature")
    batch = serialized.dims
    if batch is None or len(batch) > 1:
        raise ValueError(
            f"serialized must be a scalar or a vector of known rank, got {shapes.list_dims(batch)}"
        )
    rank = len(batch)
    result: list[Dims] = [(None, rank + 1)] * Ncontext_sparse
    result += [(None,)] * Ncontext_sparse + [(rank + 1,)] * Ncontext_sparse
    result += [None if d is None else (*batch, *d) for d in context_dense_shapes]
    result += [(None, rank + 2)] * Nfeature_list_sparse
    result += [(None,)] * Nfeature_list_sparse + [(rank + 2,)] * Nfeature_list_sparse
    result += [None if d is None else (*batch, None, *d) for d in feature_list_dense_shapes]
    return result + [batch] * Nfeature_list_dense


not_differentiable(parse_sequence_example_op)


def _keys(names: Any) -> Any:
    return np.array(list(names), object) if names else constant([], dtypes.string)


@dataclass
class _Features:
    """Features by their keys, in order: sparse and dense ones with their dtypes; dims of the dense ones.

    Of the context's the values where they are missing, of lists whether they may be.
    """

    sparse: dict[str, DType] = field(default_factory=dict)
    dense: dict[str, DType | None] = field(default_factory=dict)
    dims: list[Any] = field(default_factory=list)
    defaults: list[Any] = field(default_factory=list)
    may_miss: list[bool] = field(default_factory=list)


def _context_features(context: dict[str, Any]) -> _Features:
    found = _Features()
    for key in sorted(context):
        feature = context[key]
        if isinstance(feature, VarLenFeature):
            found.sparse[key] = feature_dtype(key, feature.dtype)
        elif isinstance(feature, FixedLenFeature):
            default, dims = default_of(key, feature)
            found.dense[key] = None  # the default says the dtype
            found.defaults.append(default)
            found.dims.append(dims)
        else:
            raise TypeError(
                f"context_features[{key!r}] must be a FixedLenFeature or VarLenFeature, "
                f"got {type(feature).__name__}"
            )
    return found


def _list_features(sequences: dict[str, Any]) -> _Features:
    found = _Features()
    for key in sorted(sequences):
        feature = sequences[key]
        if isinstance(feature, VarLenFeature):
            found.sparse[key] = feature_dtype(key, feature.dtype)
        elif isinstance(feature, FixedLenSequenceFeature):
            found.dense[key] = feature_dtype(key, feature.dtype)
            found.dims.append(shapes.as_dims(feature.shape))
            found.may_miss.append(bool(feature.allow_missing))
        else:
            raise TypeError(
                f"sequence_features[{key!r}] must be a FixedLenSequenceFeature or VarLenFeature, "
                f"got {type(feature).__name__}"
            )
    return found


def _parse(
    serialized: Tensor, context: Any, sequences: Any, example_names: Any
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    if not context and not sequences:
        raise ValueError("context_features or sequence_features must be given")
    context_features = _context_features(context or {})
    lists = _list_features(sequences or {})
    with op_scope(None, "ParseSequenceExample"):
        none = constant([], dtypes.string)
        result = parse_sequence_example_op(
            serialized,
            none if example_names is None else example_names,
            _keys(context_features.sparse),
            _keys(context_features.dense),
            none,
            _keys(lists.sparse),
            _keys(lists.dense),
            none,
            np.array(lists.may_miss, np.bool_),
            context_features.defaults,
            Ncontext_sparse=len(context_features.sparse),
            context_sparse_types=list(context_features.sparse.values()),
            context_dense_shapes=context_features.dims,
            Nfeature_list_sparse=len(lists.sparse),
            Nfeature_list_dense=len(lists.dense),
            feature_list_dense_types=list(lists.dense.values()),
            feature_list_sparse_types=list(lists.sparse.values()),
            feature_list_dense_shapes=lists.dims,
        )
    found = _sparse(context_features.sparse, result, "context_sparse")
    found.update(zip(context_features.dense, result.context_dense_values, strict=True))
    steps = _sparse(lists.sparse, result, "feature_list_sparse")
    steps.update(zip(lists.dense, result.feature_list_dense_values, strict=True))
    lengths = dict(zip(lists.dense, result.feature_list_dense_lengths, strict=True))
    return found, steps, lengths


def _sparse(keys: Any, result: Any, prefix: str) -> dict[str, Any]:
    parts = (getattr(result, f"{prefix}_{part}") for part in ("indices", "values", "shapes"))
    return {key: SparseTensor(*one) for key, *one in zip(keys, *parts, strict=True)}


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """``(context, sequences)`` of one serialized ``SequenceExample``, two dicts.

    ``context_features``: `FixedLenFeature` and `VarLenFeature` by name. ``sequence_features``:
    `FixedLenSequenceFeature` (a tensor [steps, ...]) and `VarLenFeature` (sparse [steps, most]).
    """
    with op_scope(name, "ParseSingleSequenceExample", [serialized]):
        serialized = convert_to_tensor(serialized, dtypes.string, "serialized")
        if serialized.dims is None:  # as a queue gives it out: the run looks
            serialized = ensure_shape(serialized, [])
        need_rank(serialized, 0, "the serialized example")
        found = _parse(serialized, context_features, sequence_features, example_name)
        return found[0], found[1]


def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """``(context, sequences, lengths)`` of a batch; dense sequences are padded to the longest."""
    with op_scope(name, "ParseSequenceExample", [serialized]):
        serialized = convert_to_tensor(serialized, dtypes.string, "serialized")
        return _parse(serialized, context_features, sequence_features, example_names)
