"""`tf.nn.compute_average_loss` and its kin: losses of a replica, as a part of the whole batch's."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.distribute.strategy import get_strategy, in_cross_replica_context
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.arithmetic import multiply
from dataflow.ops.assertions import assert_greater_equal
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.weights import broadcast_weights, match_rank

_RANK = "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1"


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """The sum of a loss of each example, weighted, over the size of the batch: a scalar of the loss' dtype.

    ``per_example_loss`` has shape [batch, ...]; ``sample_weight`` is a scalar, or a number for each of the
    leading dimensions. ``global_batch_size``: the examples of all replicas, by default those of this
    one times the replicas. Raises `ValueError` for a scalar loss and for weights whose shape does not fit,
    `RuntimeError` in a strategy's scope outside of its replicas where the size is not given.
    """
    loss = convert_to_tensor(per_example_loss)
    dtype = loss.dtype
    if loss.dims == ():
        raise ValueError(f"{_RANK}, received: {loss}")
    checks = []
    if loss.dims is None:
        checks.append(assert_greater_equal(array.rank(loss), 1, message=f"{_RANK}."))
    with control_dependencies(checks):
        if sample_weight is not None:
            loss = _weighted(loss, sample_weight)
        loss = cast(loss, dtype)
        if global_batch_size is None:
            _require_replica("compute_average_loss")
            size = array.shape(loss)[0] * get_strategy().num_replicas_in_sync
            global_batch_size = cast(size, dtype)
        return reduce_sum(loss) / global_batch_size  # type: ignore[no-any-return]


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of losses of regularizers, over the number of replicas, each of which adds it.

    Raises `RuntimeError` in a strategy's scope outside of its replicas.
    """
    _require_replica("scale_regularization_loss")
    return reduce_sum(regularization_loss) / get_strategy().num_replicas_in_sync  # type: ignore[no-any-return]


def _weighted(loss: Tensor, sample_weight: Any) -> Tensor:
    # Weighted losses are float32 numbers whatever the loss is, as in TensorFlow.
    loss = cast(loss, dtypes.float32)
    weights = match_rank(cast(sample_weight, dtypes.float32), loss)
    return multiply(loss, broadcast_weights(weights, loss))  # type: ignore[no-any-return]


def _require_replica(what: str) -> None:
    if in_cross_replica_context():
        raise RuntimeError(
            f"You are calling `{what}` in cross replica context, "
            "while it was expected to be called in replica context."
        )
