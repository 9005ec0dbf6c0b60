"""Levenshtein's distance between sequences."""

from __future__ import annotations

from typing import Any

from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.sparse_tensor import to_sparse
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims


@define_op(
    "EditDistance",
    "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64 -> output: float32",
)
def edit_distance_op(
    hypothesis_indices: Tensor,
    hypothesis_values: Tensor,
    hypothesis_shape: Tensor,
    truth_indices: Tensor,
    truth_values: Tensor,
    truth_shape: Tensor,
    *,
    normalize: bool = True,
) -> Dims:
    """Levenshtein's distance between the sequences along the last axis of two sparse tensors.

    With ``normalize`` divided by the truth's length. Not differentiable.
    """
    for name, t in (("hypothesis", hypothesis_shape), ("truth", truth_shape)):
        if t.dims is not None and t.dims[0] is not None and t.dims[0] < 2:
            raise ValueError(f"{name} must have rank 2 at least: batches of sequences")
    a, b = static_value(hypothesis_shape), static_value(truth_shape)
    if a is None or b is None:
        return None
    if len(a) != len(b):
        raise ValueError(f"ranks differ: {len(a)} and {len(b)}")
    return tuple(int(max(x, y)) for x, y in zip(a[:-1], b[:-1], strict=True))


not_differentiable(edit_distance_op)


def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = "edit_distance"
) -> Tensor:
    """How many insertions, deletions and changes turn each hypothesis into its truth.

    Both are SparseTensors whose last axis holds the sequences. Normalized, an empty truth gives
    infinity for a hypothesis that is not empty, 0 otherwise.
    """
    first, second = to_sparse(hypothesis), to_sparse(truth)
    return edit_distance_op(  # type: ignore[no-any-return]
        first.indices,
        first.values,
        first.dense_shape,
        second.indices,
        second.values,
        second.dense_shape,
        normalize=normalize,
        name=name,
    )
