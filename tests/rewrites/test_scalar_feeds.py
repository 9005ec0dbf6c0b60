"""Feeds of unknown rank that are one number, as dropout's ``keep_prob`` in most programs: shapes follow from that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites.fed_shapes import dims_are_equal, scalars_among
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING
from tests.rewrites.rewritten import types


def results(fetches: Any, all_feeds: list[dict[Any, Any]], rewrites: bool) -> tuple[Any, list[Any]]:
    """The only plan of a session, and what its runs gave."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = not rewrites
    with tf.Session(config=config) as s:
        got = [s.run(fetches, feeds) for feeds in all_feeds]
        (plan,) = s._plans.values()
        return plan, got


def same_bits(got: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(got, wanted, strict=True):
        assert [x.tobytes() for x in a] == [x.tobytes() for x in b]
        assert [x.shape for x in a] == [x.shape for x in b]


def test_which_feeds_are_scalars() -> None:
    feeds = [tf.placeholder(tf.float32), tf.placeholder(tf.float32), tf.placeholder(tf.float32, [])]
    values = [np.float32(1), np.ones(3, "f"), np.float32(1)]
    assert scalars_among(feeds, values) == [0]
    holds = dims_are_equal([], [0])
    assert holds(values) and not holds([np.ones(1, "f"), *values[1:]])


@pytest.mark.parametrize("rows", [None, 40])
def test_dropout_and_its_gradient_are_fused_with_what_is_around(rows: int | None) -> None:
    x, keep = tf.placeholder(tf.float32, [rows, 80]), tf.placeholder(tf.float32)
    y = tf.nn.dropout(tf.nn.relu(x), keep, seed=3)
    fetches = [y, tf.gradients(y, x)[0]]
    feeds = {x: np.random.default_rng(0).standard_normal((40, 80)).astype("f"), keep: 0.5}
    count = RUNS_BEFORE_REWRITING + 3
    plan, got = results(fetches, [feeds] * count, True)
    assert not {"Cast", "GreaterEqual", "BroadcastGradientArgs"} & set(types(plan))
    _, wanted = results(fetches, [feeds] * count, False)
    same_bits(got, wanted)


@pytest.mark.parametrize("other", [np.full(3, 2.0, "f"), np.full((2, 3), 2.0, "f")])
def test_what_was_a_number_may_be_an_array_later(other: np.ndarray) -> None:
    x, factor = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32)
    y = tf.tanh(x * factor) * 2.0 + factor
    fetches = [y, *tf.gradients(y, [x, factor])]
    numbers = np.arange(6, dtype="f").reshape(2, 3)
    before = [{x: numbers, factor: 0.5}] * (RUNS_BEFORE_REWRITING + 3)
    after = [{x: numbers, factor: other}] * 4
    all_feeds = [*before, *after, *before[:2]]
    _, got = results(fetches, all_feeds, True)
    _, wanted = results(fetches, all_feeds, False)
    for a, b in zip(got, wanted, strict=True):
        for u, v in zip(a, b, strict=True):
            np.testing.assert_allclose(u, v, rtol=1e-6)
            assert u.shape == v.shape


def test_shapes_that_do_not_fit_are_the_nodes_error() -> None:
    a, b, factor = (tf.placeholder(tf.float32, d) for d in ([2], [None], None))
    y = (a * factor) + (b * factor)
    with tf.Session() as s:
        for _ in range(RUNS_BEFORE_REWRITING + 3):
            s.run(y, {a: np.ones(2), b: np.ones(2), factor: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="shape|broadcast"):
            s.run(y, {a: np.ones(2), b: np.ones(3), factor: 1.0})
