"""What tests of sequence-to-sequence models share."""

from __future__ import annotations

from typing import Any

import numpy as np

import dataflow as tf


def run(*values: Any) -> Any:
    """The values after all variables are initialized."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(values)


def random(*shape: int, seed: int = 0) -> Any:
    """Normal float32 numbers, the same for the same seed."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)
