"""Ops of stochastic dual coordinate ascent for linear models (Shalev-Shwartz and Zhang, 2013)."""

from __future__ import annotations

from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims

#: The losses that the solver knows.
LOSSES = ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss")


@define_op("SdcaFprint", "input: string -> output: int64")
def sdca_fprint(input: Tensor) -> Dims:
    """FarmHash's Fingerprint128 of each string, int64 [n, 2]: the lower half, then the upper.

    The lower half is never 0 or 1, which tables may use as marks. Not differentiable.
    """
    if input.dims is not None and len(input.dims) != 1:
        raise ValueError(f"input must be a vector of strings, got shape {list(input.dims)}")
    return (None if input.dims is None else input.dims[0], 2)


@define_op(
    "SdcaOptimizerV2",
    "sparse_example_indices: num_sparse_features * int64, sparse_feature_indices: num_sparse_features * int64, "
    "sparse_feature_values: num_sparse_features_with_values * float32, "
    "dense_features: num_dense_features * float32, example_weights: float32, example_labels: float32, "
    "sparse_indices: num_sparse_features * int64, sparse_weights: num_sparse_features * float32, "
    "dense_weights: num_dense_features * float32, example_state_data: float32 -> "
    "out_example_state_data: float32, out_delta_sparse_weights: num_sparse_features * float32, "
    "out_delta_dense_weights: num_dense_features * float32",
)
def sdca_optimizer(
    sparse_example_indices: list[Tensor],
    sparse_feature_indices: list[Tensor],
    sparse_feature_values: list[Tensor],
    dense_features: list[Tensor],
    example_weights: Tensor,
    example_labels: Tensor,
    sparse_indices: list[Tensor],
    sparse_weights: list[Tensor],
    dense_weights: list[Tensor],
    example_state_data: Tensor,
    *,
    loss_type: str,
    l1: float,
    l2: float,
    num_loss_partitions: int,
    num_inner_iterations: int,
    adaptive: bool = True,
) -> list[Dims]:
    """One pass over a batch of n examples: their new state [n, 4], and what to add to the weights.

    The state of an example: its dual variable, the primal and the dual loss, its weight. ``sparse_indices``:
    the features of ``sparse_weights``; ``dense_features``: [n, d] for weights [d]. Not differentiable.
    """
    if loss_type not in LOSSES:
        raise ValueError(f"loss_type must be one of {', '.join(LOSSES)}, got {loss_type!r}")
    if not l2 > 0:
        raise ValueError(f"l2 must be positive, got {l2}")
    return [
        example_state_data.dims,
        *(weights.dims for weights in sparse_weights),
        *(weights.dims for weights in dense_weights),
    ]


not_differentiable(sdca_fprint, sdca_optimizer)
