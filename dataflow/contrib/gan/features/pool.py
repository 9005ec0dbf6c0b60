"""A pool of earlier tensors, out of which a step takes one at random."""

from __future__ import annotations

from typing import Any

from dataflow import nest
from dataflow.ops.conditionals import cond
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.identity import identity
from dataflow.ops.queues import RandomShuffleQueue
from dataflow.ops.random import random_uniform


def tensor_pool(
    input_values: Any,
    pool_size: int = 50,
    pooling_probability: float = 0.5,
    name: str = "tensor_pool",
) -> Any:
    """The tensors themselves, or, once ``pool_size`` were seen, those of an earlier step.

    Earlier ones come with ``pooling_probability``. ``input_values`` is a tensor, or a list, tuple or dict
    of them, and so is what comes back; with ``pool_size`` 0 it is ``input_values``, a negative one is a
    `ValueError`. Shrivastava et al., "Learning from Simulated and Unsupervised Images", 2016.
    """
    pool_size = int(pool_size)
    if pool_size < 0:
        raise ValueError("`pool_size` is negative.")
    if pool_size == 0:
        return input_values
    values = nest.flatten(input_values)
    with name_scope(f"{name}_pool_queue"):
        queue = RandomShuffleQueue(
            capacity=pool_size,
            min_after_dequeue=0,
            dtypes=[value.dtype for value in values],
            shapes=None,
        )

        def fill() -> list[Any]:
            with control_dependencies([queue.enqueue(values)]):
                return [identity(value) for value in values]

        def exchange() -> Any:
            taken = queue.dequeue()
            earlier = list(taken) if isinstance(taken, (list, tuple)) else [taken]
            with control_dependencies(earlier):
                enqueued = queue.enqueue(values)
            with control_dependencies([enqueued]):
                return cond(
                    random_uniform(()) < pooling_probability,
                    lambda: [identity(value) for value in earlier],
                    lambda: [identity(value) for value in values],
                )

        chosen = cond(queue.size() < pool_size, fill, exchange)
        outputs = list(chosen) if isinstance(chosen, (list, tuple)) else [chosen]
        for value, output in zip(values, outputs, strict=True):
            output.set_shape(value.shape)
    return nest.pack_sequence_as(input_values, outputs)
