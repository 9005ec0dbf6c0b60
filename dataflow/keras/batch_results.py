"""The results of several batches as one: of arrays, and of sparse and ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.ops.ragged_value import RaggedTensorValue
from dataflow.ops.sparse_tensor import SparseTensorValue


def concatenated(parts: Any) -> Any:
    """The examples of all batches; each part is an array, or a value of a sparse or a ragged tensor."""
    parts = list(parts)
    if isinstance(parts[0], RaggedTensorValue):
        return _ragged(parts)
    if isinstance(parts[0], SparseTensorValue):
        return _sparse(parts)
    return np.concatenate(parts)


def _sparse(parts: list[Any]) -> SparseTensorValue:
    shapes = np.array([part.dense_shape for part in parts])
    starts = np.concatenate([[0], np.cumsum(shapes[:, 0])])
    indices = []
    for part, start in zip(parts, starts[:-1], strict=True):
        places = np.array(part.indices)
        places[:, 0] += start
        indices.append(places)
    return SparseTensorValue(
        np.concatenate(indices),
        np.concatenate([part.values for part in parts]),
        np.array([starts[-1], *shapes[:, 1:].max(0)], dtype=shapes.dtype),
    )


def _ragged(parts: list[Any]) -> RaggedTensorValue:
    splits, start = [np.zeros(1, parts[0].row_splits.dtype)], 0
    for part in parts:
        splits.append(part.row_splits[1:] + start)
        start += part.row_splits[-1]
    return RaggedTensorValue(concatenated(p.values for p in parts), np.concatenate(splits))
