"""Sums that end a fused kernel, where a session allows another order of adding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites import fusion
from dataflow.rewrites.working_graph import WorkingGraph

X = np.random.default_rng(0).normal(size=(512, 256)).astype(np.float32)


def fused(build: Callable[[Any], Any], also: Callable[[Any], Any] | None = None) -> Any:
    """The programs of the fused nodes when sums may be computed in them."""
    x = tf.placeholder(tf.float32, X.shape)
    inner = tf.exp(x * 0.5) - 1.0
    y = build(inner)
    fetches = [y] if also is None else [y, also(inner)]
    ops = tf.get_default_graph().get_operations()
    work = WorkingGraph(ops, fetches, [], [x])
    for _ in fusion.run(work, [], reductions=True):
        pass
    return [op.attrs["program"] for op in work.needed() if op.type == "_Fused"]


@pytest.mark.parametrize(
    ("build", "over_rows", "keep_dims"),
    [
        (lambda x: tf.reduce_sum(x), False, False),
        (lambda x: tf.reduce_mean(x), False, False),
        (lambda x: tf.reduce_sum(x, [0, 1]), False, False),
        (lambda x: tf.reduce_sum(x, 1), True, False),
        (lambda x: tf.reduce_sum(x, -1), True, False),
        (lambda x: tf.reduce_mean(x, 1, keepdims=True), True, True),
    ],
)
def test_a_sum_over_all_or_over_rows_ends_the_kernel(
    build: Any, over_rows: bool, keep_dims: bool
) -> None:
    (program,) = fused(build)
    assert program.reduction
    assert (program.over_rows, program.keep_dims) == (over_rows, keep_dims)


@pytest.mark.parametrize(
    ("build", "also"),
    [
        (lambda x: tf.reduce_sum(x, 0), None),
        (lambda x: tf.reduce_sum(x), lambda x: x),  # the array is wanted, too
        (lambda x: tf.reduce_sum(x), lambda x: tf.matmul(x, x, transpose_a=True)),
        (lambda x: tf.reduce_max(x), None),
    ],
)
def test_other_sums_stay_apart(build: Any, also: Any) -> None:
    assert not any(program.reduction for program in fused(build, also))
