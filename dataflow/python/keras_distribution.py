"""``tensorflow.python.keras.distribute.distributed_training_utils``: batches and checks of training with a strategy."""

from __future__ import annotations

from typing import Any

from dataflow.distribute.strategies import TPUStrategy
from dataflow.distribute.values import PerReplica, components
from dataflow.graph import nest
from dataflow.graph.eager import executing_eagerly
from dataflow.graph.tensor import Tensor

__all__ = [
    "get_input_params",
    "global_batch_size_supported",
    "is_tpu_strategy",
    "validate_distributed_dataset_inputs",
]


def global_batch_size_supported(distribution_strategy: Any) -> bool:
    """Whether ``batch_size`` counts the rows of all replicas together: it does with every strategy here."""
    return True


def is_tpu_strategy(strategy: Any) -> bool:
    """Whether it is one of TPUs, of which there are none here."""
    return isinstance(strategy, TPUStrategy)


def get_input_params(
    distribution_strategy: Any,
    num_samples: int,
    steps: int | None,
    batch_size: int | None,
    mode: Any = None,
) -> tuple[int, int]:
    """(steps, batch size) for arrays of ``num_samples`` rows; without either, batches of 32 rows at most.

    In a graph the batches have to be equal, but for ``mode="train"``. Raises `ValueError` for
    rows that do not divide, or are too few for ``steps``.
    """
    is_partial_allowed = executing_eagerly() or getattr(mode, "value", mode) == "train"
    if steps is None:
        size = min(num_samples, 32) if batch_size is None else batch_size
        if num_samples % size and not is_partial_allowed:
            raise ValueError(
                f"The number of samples {num_samples} is not divisible by batch size {size}."
            )
        return -(-num_samples // size), size
    if batch_size is None:
        if num_samples % steps:
            raise ValueError(
                f"The number of samples {num_samples} is not divisible by steps {steps}. Please "
                "change the number of steps to a value that can consume all the samples"
            )
        return steps, num_samples // steps
    needed = batch_size * steps
    if is_partial_allowed:
        needed = batch_size * (steps - 1) + 1 if steps > 1 else 0
    if num_samples < needed:
        raise ValueError(
            f"Number of samples {num_samples} is less than samples required for specified "
            f"batch_size {batch_size} and steps {steps}"
        )
    return steps, batch_size


def validate_distributed_dataset_inputs(
    distribution_strategy: Any, x: Any, y: Any, sample_weights: Any = None
) -> tuple[Any, Any, Any]:
    """The replicas' tensors of the inputs, targets and weights, each as a list of tuples.

    Raises `ValueError` for what is no tensor, and where dtypes or shapes differ between replicas.
    """
    return tuple(None if v is None else _checked(v) for v in (x, y, sample_weights))  # type: ignore[return-value]


def _checked(structure: Any) -> list[tuple[Any, ...]]:
    flat = nest.flatten(structure)
    found = [components(value) for value in flat]
    for value, parts in zip(flat, found, strict=True):
        if not all(isinstance(part, Tensor) for part in parts):
            raise ValueError(
                "Dataset input to the model should be tensors instead they are of type "
                f"{type(parts[0])}"
            )
        if not isinstance(value, PerReplica):
            continue
        if len({part.dtype for part in parts}) > 1:
            raise ValueError(
                f"Input tensor dtypes do not match for distributed tensor inputs {value}"
            )
        if not executing_eagerly() and len({str(part.shape) for part in parts}) > 1:
            raise ValueError(
                f"Input tensor shapes do not match for distributed tensor inputs {value}"
            )
    return found
