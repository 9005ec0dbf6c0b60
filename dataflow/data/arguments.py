"""Converts arguments of `Dataset`'s methods, numbers or tensors, to what its nodes take."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.eager import executing_eagerly
from dataflow.graph.tensor import Tensor
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value


def int64_tensor(value: Any) -> Tensor:
    """The number as a tensor of int64."""
    if isinstance(value, Tensor):
        if value.dtype.base_dtype is not dtypes.int64:
            from dataflow.ops.math import cast

            return cast(value, dtypes.int64)  # type: ignore[no-any-return]
        return value
    return constant(np.int64(value), dtypes.int64)


def int64_scalar(value: Any) -> Callable[[], Tensor]:
    """A function that returns `int64_tensor` of the number, in the graph in which it is called."""
    if isinstance(value, Tensor):
        count_left_out(-1)  # no node is made of it
    return lambda: int64_tensor(value)


def static_int(value: Any) -> int | None:
    """The number, if it is known when the graph is built."""
    found = static_value(value) if isinstance(value, Tensor) else value
    return None if found is None else int(found)


def op_seeds(seed: Any) -> tuple[Any, Any]:
    """The graph's seed and that of an op, which may be a tensor; zeros where nothing is seeded."""
    from dataflow.ops.seeds import get_seed

    if isinstance(seed, Tensor):
        return get_seed(0)[0], seed
    first, second = get_seed(seed)
    return first or 0, second or 0


def dataset_seeds(seed: Any) -> tuple[Any, Any]:
    """The seeds of a dataset that draws at random, as `op_seeds` has them; eager code draws those that are missing.

    A dataset of eager code is made once, and each of its iterators begins with what it drew then: what was
    left out of one pass (`take` and `skip` of the same shuffled rows, say) is never met in it.
    """
    seeds = op_seeds(seed)
    count_left_out(
        6 if any(_is_given(s) for s in seeds) else -1
    )  # they are compared with zero there
    if executing_eagerly() and not any(_is_given(s) for s in seeds):
        return secrets.randbits(62) + 1, secrets.randbits(62) + 1
    return seeds


def _is_given(seed: Any) -> bool:
    return isinstance(seed, Tensor) or seed != 0
