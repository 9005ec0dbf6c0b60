"""Optimizers of `tf.contrib.opt` for workers that train apart: TensorFlow 1.15's numbers, of one worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

opt = tf.contrib.opt
pytestmark = pytest.mark.usefixtures("session")
SGD = (tf.train.GradientDescentOptimizer, 0.1)
MOMENTUM = (tf.train.MomentumOptimizer, 0.05, 0.9)
ADAM = (tf.train.AdamOptimizer, 0.05)


def elastic(inner: Any, getter: Any, **options: Any) -> Any:
    options = {"rho": 0.2, **options}
    return opt.ElasticAverageOptimizer(inner, 2, getter, communication_period=3, **options)


def accumulated(inner: Any, getter: Any) -> Any:
    return opt.AGNOptimizer(inner, 2, getter, communication_period=3)


def averaged(inner: Any, getter: Any) -> Any:
    return opt.ModelAverageOptimizer(inner, 1, True, getter, interval_steps=3)


GETTERS = {
    elastic: opt.ElasticAverageCustomGetter,
    accumulated: opt.AGNCustomGetter,
    averaged: opt.ModelAverageCustomGetter,
}


def a_worker(make: Any, inner: Any, **options: Any) -> tuple[Any, Any, Any, Any]:
    """The optimizer, its step, its hook and what the step is fed."""
    getter = GETTERS[make]("/cpu:0")
    with tf.variable_scope("", custom_getter=getter):
        v0 = tf.get_variable("v0", initializer=np.array([1, 2], np.float32))
        v1 = tf.get_variable("v1", initializer=np.array([[3], [-1]], np.float32))
        tf.get_variable("count", [], trainable=False)
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [2])
    loss = tf.reduce_sum(tf.square(v0 - x)) + tf.reduce_sum(v1 * v1 * v1) * 0.1
    optimizer = make(inner[0](*inner[1:]), getter, **options)
    train = optimizer.apply_gradients(optimizer.compute_gradients(loss), global_step=step)
    given = () if make is averaged else (True, 0)
    return optimizer, train, optimizer.make_session_run_hook(*given), x


def names(variables: Any) -> set[str]:
    return {v.op.name for v in variables}


def values_after_seven_steps(session: Any, worker: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    _, train, hook, x = worker
    hook.begin()
    session.run(tf.global_variables_initializer())
    session.run(tf.local_variables_initializer())
    hook.after_create_session(session, None)
    for i in range(7):
        session.run(train, {x: [i * 0.1, -i * 0.2]})
    variables = [*tf.global_variables(), *tf.local_variables()]
    return {v.op.name: session.run(v).ravel().tolist() for v in variables}


V0, V1 = "v0", "v1"
CENTER0, CENTER1 = "global_center_variable/v0", "global_center_variable/v1"


@pytest.mark.parametrize(
    ("make", "inner", "expected"),
    [
        (
            elastic,
            SGD,
            {
                V0: [0.613619, 0.155698],
                V1: [2.01979, -1.19641],
                CENTER0: [0.87883, 1.59651],
                CENTER1: [2.76616, -1.03965],
                "local_center_variable/v0": [0.936688, 1.84002],
            },
        ),
        (
            elastic,
            MOMENTUM,
            {
                V0: [0.144822, -1.11504],
                CENTER0: [0.802657, 1.42834],
                "v1/Momentum": [7.13798, 1.84028],
            },
        ),
        (
            accumulated,
            SGD,
            {
                V0: [0.747379, 0.748848],
                CENTER1: [2.57602, -1.0659],
                "grad_variable/v0": [0.368448, 4.87212],
            },
        ),
        (
            accumulated,
            ADAM,
            {
                V0: [0.896629, 1.88845],
                CENTER0: [0.938922, 1.93766],
                "v1/Adam": [1.34627, 0.178559],
                "global_center_variable/v0/Adam": [0.258126, 0.931664],
                "beta1_power": [0.348678],
            },
        ),
        (averaged, SGD, {V0: [0.514573, -0.190285], CENTER0: [0.493216, 0.062144]}),
        (averaged, ADAM, {V1: [2.65231, -1.35291], CENTER1: [2.70147, -1.30187]}),
    ],
)
def test_steps_and_averages(session: Any, make: Any, inner: Any, expected: Any) -> None:
    found = values_after_seven_steps(session, a_worker(make, inner))
    for name, value in {**expected, "local_step": [7.0], "global_step": [2.0]}.items():
        np.testing.assert_allclose(found[name], value, rtol=3e-5, err_msg=name)


def test_rates_of_the_springs(session: Any) -> None:
    found = values_after_seven_steps(session, a_worker(elastic, SGD, rho=None))
    np.testing.assert_allclose(found[V0], [0.728931, 0.550706], rtol=3e-5)
    np.testing.assert_allclose(found[CENTER0], [0.905678, 1.67049], rtol=3e-5)


def test_where_the_variables_are() -> None:
    a_worker(elastic, MOMENTUM)
    center = {"count", CENTER0, CENTER1, "global_step"}
    assert names(tf.global_variables()) == center
    copies = {V0, V1, "local_center_variable/v0", "local_center_variable/v1", "local_step"}
    assert names(tf.local_variables()) == {*copies, "v0/Momentum", "v1/Momentum"}
    assert names(tf.trainable_variables()) == {V0, V1}


def test_slots_of_the_center_are_global() -> None:
    a_worker(accumulated, MOMENTUM)
    assert {f"{CENTER0}/Momentum", f"{CENTER1}/Momentum"} < names(tf.global_variables())
    assert {"v0/Momentum", "v1/Momentum"} < names(tf.local_variables())


def test_a_variable_of_parts_and_one_that_is_used_again(session: Any) -> None:
    getter = opt.ElasticAverageCustomGetter("/cpu:0")
    parts = tf.fixed_size_partitioner(2)
    with tf.variable_scope("", custom_getter=getter):
        whole = tf.get_variable("w", [4], partitioner=parts)
    with tf.variable_scope("", custom_getter=getter, reuse=True):
        assert list(tf.get_variable("w", [4], partitioner=parts)) == list(whole)
    assert len(tf.trainable_variables()) == 2
    inner = tf.train.GradientDescentOptimizer(0.1)
    optimizer = opt.ElasticAverageOptimizer(inner, 1, getter, communication_period=1)
    train = optimizer.minimize(tf.reduce_sum(tf.concat(list(whole), 0)))
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    session.run(optimizer.get_init_op(0))
    before = session.run(list(whole))
    session.run(train)
    np.testing.assert_allclose(
        session.run(list(whole)), np.subtract(before, 0.1 * (1 - 0.9)), rtol=1e-5, atol=1e-6
    )


def test_the_center_is_saved_under_the_variables_names(session: Any, tmp_path: Path) -> None:
    worker = a_worker(elastic, SGD)
    values = values_after_seven_steps(session, worker)
    path = worker[0].swapping_saver().save(session, str(tmp_path / "model"))
    saved = tf.train.load_checkpoint(path)
    np.testing.assert_allclose(saved.get_tensor("v0"), values[CENTER0])


def test_workers_that_wait_for_each_other(session: Any) -> None:
    optimizer, *_ = a_worker(elastic, SGD, synchronous=True)
    first, second = (optimizer.get_init_op(i) for i in range(2))
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    session.run([first, second])
    np.testing.assert_array_equal(*session.run(["v0:0", f"{CENTER0}:0"]))


def test_what_is_refused() -> None:
    inner = tf.train.GradientDescentOptimizer(0.1)
    getter = opt.ModelAverageCustomGetter("/cpu:0")
    optimizer = averaged(inner, getter)
    with pytest.raises(ValueError, match="Must supply at least one variable"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])


def test_springs_need_a_rate() -> None:
    with pytest.raises(ValueError, match="rho must be given: AdamOptimizer has no one learning"):
        elastic(tf.train.AdamOptimizer(), opt.ElasticAverageCustomGetter("/cpu:0"), rho=None)


def test_a_center_that_nobody_made() -> None:
    inner = tf.train.GradientDescentOptimizer(0.1)
    optimizer = elastic(inner, opt.ElasticAverageCustomGetter("/cpu:0"))
    with pytest.raises(RuntimeError, match="global_center_variable is empty"):
        optimizer.swapping_saver()
    with pytest.raises(ValueError, match="should not be empty"):
        optimizer.get_init_op(0)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (3, [1.0207087, 1.6213231, 2.8833949, -1.0168318]),
        (10, [1.0325509, 1.5747642, 2.8751103, -1.0186218]),
    ],
)
def test_a_window_of_gradients(session: Any, window: int, expected: list[float]) -> None:
    first = tf.get_variable("b", initializer=np.array([1.0, 2.0]))
    second = tf.get_variable("a", initializer=np.array([[3.0], [-1.0]]))
    x = tf.placeholder(tf.float64, [2])
    loss = tf.reduce_sum(tf.square(first - x)) + tf.reduce_sum(second * second * second) * 0.1
    optimizer = opt.GGTOptimizer(0.05, window=window, svd_eps=1e-3)
    train = optimizer.minimize(loss)
    assert [v.op.name for v in optimizer.variables()] == [
        "flat_grad",
        "global_step",
        "grad_buffer",
        "moment1",
    ]
    session.run(tf.global_variables_initializer())
    for i in range(6):
        session.run(train, {x: [i * 0.1, -i * 0.2]})
    found = [*session.run(first), *session.run(second).ravel()]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_gradients_that_are_too_old(session: Any) -> None:
    step = tf.train.get_or_create_global_step()
    v = tf.get_variable("v", initializer=1.0)
    wait = tf.placeholder(tf.int64, [])
    optimizer = opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
    pairs = optimizer.compute_gradients(v * v)
    with tf.control_dependencies([pairs[0][0]]):
        others = step.assign_add(wait)
    with tf.control_dependencies([others]):
        train = optimizer.apply_gradients([(tf.identity(pairs[0][0]), v)], global_step=step)
    session.run(tf.global_variables_initializer())
    assert session.run(train, {wait: 0}) == 0.0
    assert session.run(v) == pytest.approx(0.8) and session.run(step) == 1
    assert session.run(train, {wait: 2}) == 1.0, "two steps of others were made meanwhile"
    assert session.run(v) == pytest.approx(0.8) and session.run(step) == 3
    assert session.run(train, {wait: 1}) == 1.0
    assert session.run(v) == pytest.approx(0.64) and session.run(step) == 5
    assert [t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)] == [
        "Gradient_staleness_percentage"
    ]
