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
from dataflow.ops.stateless_random import (
    stateless_categorical,
    stateless_multinomial,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
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
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
