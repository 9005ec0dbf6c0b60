"""Gradients of tapes that look alike come from one plan, and are those of the walk back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.autodiff import tape_plans

TIMES = 5  # the first tape is walked through, the second one makes the plan


@pytest.fixture(autouse=True)
def plans(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = tape_plans._Plans()
    monkeypatch.setattr(tape_plans, "_plans", found)
    return found


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def dense(value: Any) -> Any:
    if isinstance(value, tf.IndexedSlices):
        return [value.indices.numpy(), value.values.numpy()]
    return None if value is None else value.numpy()


def alike(step: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What ``step`` gives each time, which is what it gives without plans, to the last bits."""
    got = [step(i) for i in range(TIMES)]
    with monkeypatch.context() as m:
        m.setattr(tape_plans._Plans, "of", lambda *_: None)
        wanted = [step(i) for i in range(TIMES)]
    for a, b in zip(got, wanted, strict=True):
        for x, y in zip(tf.nest.flatten(a), tf.nest.flatten(b), strict=True):
            assert (x is None) == (y is None)
            if x is not None:
                assert x.dtype == y.dtype and x.shape == y.shape
                np.testing.assert_allclose(x, y, rtol=2e-6, atol=1e-7)
    return got


def num_plans(plans: Any) -> int:
    return len(plans._plans)


def test_a_network_s_gradients(plans: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    W, b = tf.Variable(numbers(7, 5)), tf.Variable(numbers(5))

    def step(i: int) -> Any:
        x = tf.constant(numbers(4, 7, seed=i))
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.matmul(x, W) + b)
            loss = tf.reduce_mean(tf.reduce_sum(tf.square(h), axis=1))
        W.assign(W + 1.0)  # what was recorded counts
        found = tape.gradient(loss, [W, b])
        W.assign(W - 1.0)
        return [dense(g) for g in found]

    got = alike(step, monkeypatch)
    assert num_plans(plans) == 1
    assert not np.array_equal(got[2][0], got[3][0])


def test_shapes_axes_and_variables_tell_kinds_apart(
    plans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(i: int) -> Any:
        found = []
        for rows, axis in ((3, 0), (3, 1), (2, 0), (3, 0)):
            v = tf.Variable(numbers(rows, 3, seed=i))
            for _ in range(3):
                with tf.GradientTape() as tape:
                    y = tf.reduce_prod(v * 2.0, axis=axis)
                    z = tf.reduce_sum(tf.reshape(y, [1, -1]))
                found.append(dense(tape.gradient(z, v)))
        return found

    alike(step, monkeypatch)


def test_rows_that_were_gathered(plans: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tf.Variable(numbers(6, 2))

    def step(i: int) -> Any:
        with tf.GradientTape() as tape:
            rows = tf.nn.embedding_lookup(table, tf.constant([i, 5, i]))
            loss = tf.reduce_sum(rows * rows)
        found = tape.gradient(loss, table)
        assert isinstance(found, tf.IndexedSlices)
        return dense(found)

    alike(step, monkeypatch)
    assert num_plans(plans) == 1


def test_given_gradients_and_sources_that_nothing_depends_on(
    plans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(i: int) -> Any:
        x, other = tf.constant(numbers(3, seed=i)), tf.constant(1.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, other])
            y = tf.sin(x)
            unused = other * 2.0
        given = tf.constant(numbers(3, seed=9 + i))
        zeros = tape.gradient(y, [x, other], unconnected_gradients="zero")
        both = tape.gradient([y, unused], [x, other], output_gradients=[given, tf.constant(3.0)])
        return [dense(g) for g in (*tape.gradient(y, [x, other]), *zeros, *both)]

    got = alike(step, monkeypatch)
    assert got[4][1] is None and got[4][3] == 0 and got[4][5] == 6
    assert num_plans(plans) >= 2


def test_a_target_that_was_not_computed_on_the_tape() -> None:
    for i in range(TIMES):
        x, unused = tf.constant(float(i)), tf.constant(3.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, unused])
            y = x * x
        assert tape.gradient(x, x).numpy() == 1
        assert tape.gradient(unused, unused).numpy() == 1
        assert tape.gradient([x, y], x).numpy() == 1 + 2 * i
        assert tape.gradient(x, [x, y])[1] is None


def test_a_tape_within_a_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(i: int) -> Any:
        x = tf.constant(float(i + 1))
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x * x * x
            first = inner.gradient(y, x)
        return dense(outer.gradient(first, x))

    assert [float(g) for g in alike(step, monkeypatch)] == [6.0, 12.0, 18.0, 24.0, 30.0]


def test_random_numbers_are_those_that_were_drawn(plans: Any) -> None:
    x = tf.ones([50])
    for _ in range(TIMES):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.dropout(x, keep_prob=0.5)
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), y.numpy())
    assert num_plans(plans) == 1


def test_gradients_of_one_s_own_are_asked_each_time(plans: Any) -> None:
    asked = []

    @tf.custom_gradient
    def twice(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            asked.append(float(x))
            return dy * x

        return x * 2.0, grad

    for i in range(TIMES):
        x = tf.constant(float(i))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = twice(x)
        assert tape.gradient(y, x).numpy() == i
    assert asked == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert num_plans(plans) == 0


def test_so_many_plans_are_kept(plans: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape_plans, "_MOST_PLANS", 2)
    monkeypatch.setattr(tape_plans, "_MOST_SEEN", 2)
    for _ in range(3):
        for rows in (1, 2, 3, 4):
            x = tf.constant(numbers(rows))
            for _ in range(2):
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.square(x)
                np.testing.assert_array_equal(tape.gradient(y, x).numpy(), 2 * x.numpy())
            assert num_plans(plans) <= 2 and len(plans._seen) <= 2


def test_what_has_no_derivative_has_none_in_a_plan(plans: Any) -> None:
    for _ in range(3):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cast(tf.nn.in_top_k(tf.reshape(x, [1, 2]), [0], 1), tf.float32)
        assert tape.gradient(y, x) is None


def test_targets_of_a_persistent_tape_that_are_made_alike_share_a_plan(
    plans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else the tape holds does not matter: gradients of single examples, as in private training."""
    W = tf.Variable(numbers(3, 2))

    def step(i: int) -> Any:
        x = tf.constant(numbers(4, 3, seed=i))
        with tf.GradientTape(persistent=True) as tape:
            losses = tf.reduce_sum(tf.square(tf.matmul(x, W)), axis=1)
            each = [tf.reduce_mean(tf.gather(losses, [k])) for k in range(4)]
            other = tf.reduce_sum(tf.exp(W))
        found = [tape.gradient(loss, W).numpy() for loss in each]
        np.testing.assert_allclose(
            sum(found), tape.gradient(losses, W).numpy(), rtol=1e-5, atol=1e-6
        )
        return [*found, tape.gradient(other, W).numpy()]

    alike(step, monkeypatch)
    assert num_plans(plans) == 3


def test_gradients_within_a_tape_that_records_them() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    for _ in range(TIMES):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            cubes = x * x * x
            total = tf.zeros([3])
            for k in range(3):
                total += tape.gradient(tf.gather(cubes, [k]), x)
        np.testing.assert_allclose(total.numpy(), [3, 12, 27], rtol=1e-6)
        np.testing.assert_allclose(tape.gradient(total, x).numpy(), [6, 12, 18], rtol=1e-6)


def test_plans_within_a_further_tape_are_differentiated_again(
    plans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    W, v = tf.Variable(numbers(4, 3)), tf.Variable(numbers(3, 1))
    embedding = tf.Variable(numbers(6, 4))

    def step(i: int) -> Any:
        rows = tf.constant([i, 1, 1])
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as tape:
                x = tf.nn.embedding_lookup(embedding, rows)
                y = tf.matmul(tf.tanh(tf.matmul(x, W)), v)
            by_x, by_w = tape.gradient(y, [x, W])
            penalty = tf.reduce_sum(tf.square(by_x)) + tf.reduce_sum(by_w**3)
            twice = penalty * tf.reduce_sum(y)
        first = outer.gradient(penalty, [W, v, embedding])
        return [dense(g) for g in (*first, *outer.gradient(twice, [W, v]))]

    alike(step, monkeypatch)
    assert num_plans(plans) == 3  # of the inner tape, and of the outer one for two targets


def test_third_derivatives_by_plans(plans: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(i: int) -> Any:
        x = tf.constant(numbers(3, seed=i))
        with tf.GradientTape() as third:
            third.watch(x)
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    y = tf.reduce_sum(tf.sin(x) * x**2)
                slope = first.gradient(y, x)
            curve = second.gradient(slope, x)
        return dense(third.gradient(curve, x))

    alike(step, monkeypatch)
    assert num_plans(plans) == 3


def test_functions_that_read_variables_are_walked_through(
    plans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = tf.Variable(numbers(3))
    squared = tf.function(lambda x: tf.reduce_sum(w * x * x))
    plain = tf.function(lambda x: tf.reduce_sum(x**3))

    def step(i: int) -> Any:
        x = tf.constant(numbers(3, seed=i))
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = squared(x), plain(x) * 2.0
        return [dense(g) for g in (*tape.gradient(y, [x, w]), tape.gradient(z, x))]

    alike(step, monkeypatch)
    assert num_plans(plans) == 1
