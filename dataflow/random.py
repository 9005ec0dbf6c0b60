"""`tf.random`: random tensors, and the seeds that make them repeatable."""

from __future__ import annotations

from dataflow.ops.random import (
    categorical,
    multinomial,
    random_gamma as gamma,
    random_normal as normal,
    random_poisson as poisson,
    random_shuffle as shuffle,
    random_uniform as uniform,
    truncated_normal,
)
from dataflow.ops.seeds import (
    get_seed,
    set_random_seed,
)

__all__ = [
    "categorical",
    "gamma",
    "get_seed",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "truncated_normal",
    "uniform",
]
