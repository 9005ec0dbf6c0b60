"""Optimizers of ``tf.contrib.opt`` in a small program; the variables are those of TensorFlow 1.15.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf

opt = tf.contrib.opt


pytestmark = pytest.mark.usefixtures("graph")


def program(make: Callable[[], Any], steps: int = 4) -> tuple[list[Any], list[str]]:
    """A matrix and a vector of a dense gradient, and rows of a table."""
    with tf.variable_scope("m"):
        w = tf.get_variable("w", initializer=np.float32([[1.0, -2.0], [0.5, 3.0]]))
        b = tf.get_variable("b", initializer=np.float32([0.1, 0.2]))
        e = tf.get_variable("e", initializer=np.arange(6.0, dtype=np.float32).reshape(3, 2))
    x = tf.constant([[1.0, 2.0], [3.0, -1.0]])
    rows = tf.nn.embedding_lookup(e, [0, 2])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b)) + 0.1 * tf.reduce_sum(tf.square(rows))
    step = tf.train.get_or_create_global_step()
    train = make().minimize(loss, global_step=step, var_list=[w, b, e])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
        return session.run([w, b, e]), sorted(v.op.name for v in tf.global_variables())


ADAM = (
    [[0.96003205, -1.960016], [0.46008468, 2.9600065]],
    [0.06003674, 0.23997381],
    [[0.0, 0.96002406], [2.0, 3.0], [3.9600058, 4.9600043]],
)
CASES = {
    "AddSign": (
        lambda: opt.AddSignOptimizer(0.01),
        [[0.66843307, -1.2548995], [0.4378759, 2.3714347]],
        [-0.05984987, 0.3397387],
        [[0.0, 0.98409575], [2.0, 3.0], [3.936383, 4.920479]],
    ),
    "PowerSign": (
        lambda: opt.PowerSignOptimizer(0.01),
        [[0.5774413, -1.0496365], [0.41660073, 2.172943]],
        [-0.10492496, 0.3709967],
        [[0.0, 0.97843045], [2.0, 3.0], [3.9137218, 4.8921523]],
    ),
    "AdamGS": (
        lambda: opt.AdamGSOptimizer(tf.train.get_or_create_global_step(), 0.01),
        *ADAM,
    ),
    "LazyAdamGS": (
        lambda: opt.LazyAdamGSOptimizer(tf.train.get_or_create_global_step(), 0.01),
        *ADAM,
    ),
    "Multitask": (
        lambda: opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.01, 0.9)),
        [[0.59112036, -1.0821332], [0.42861867, 2.2570274]],
        [-0.09562883, 0.3810935],
        [[0.0, 0.9819573], [2.0, 3.0], [3.9278293, 4.9097857]],
    ),
    "RegAdagrad": (
        lambda: opt.RegAdagradOptimizer(0.01),
        [[0.9723674, -1.972253], [0.4737735, 2.9722056]],
        [0.07250559, 0.22754134],
        [[0.0, 0.98184335], [2.0, 3.0], [3.973389, 4.9729724]],
    ),
    "Shampoo": (
        lambda: opt.ShampooOptimizer(0, learning_rate=0.1),
        [[0.7262749, -1.7520785], [0.2608624, 2.7056024]],
        [-0.03771124, 0.5800274],
        [[0.2555189, 0.7337507], [2.0, 3.0], [3.7015595, 4.6908293]],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    make, *wanted = CASES[name]
    found, names = program(make)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)
    if name.endswith("AdamGS"):
        assert names == ["global_step", "m/b", "m/b/Adam", "m/b/Adam_1", "m/e", "m/e/Adam",
                         "m/e/Adam_1", "m/w", "m/w/Adam", "m/w/Adam_1"]  # fmt: skip


def test_accumulators_are_left_alone() -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    optimizer = opt.RegAdagradOptimizer(0.1)
    plain = optimizer.minimize(tf.reduce_sum(v * v))
    with optimizer.avoid_updating_slots():
        spared = optimizer.minimize(tf.reduce_sum(v * v))
    accumulator = optimizer.get_slot(v, "accumulator")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(spared)
        np.testing.assert_allclose(session.run(accumulator), [0.1, 0.1], rtol=1e-6)
        session.run(plain)
        assert (session.run(accumulator) > 0.2).all()


def test_zeros_change_no_averages() -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    factor = tf.placeholder(tf.float32)
    optimizer = opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9))
    train = optimizer.minimize(tf.reduce_sum(v) * factor)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {factor: 1.0})
        before = session.run(v)
        session.run(train, {factor: 0.0})
        assert session.run(v).tolist() == before.tolist()
    with pytest.raises(TypeError, match="must be an instance"):
        opt.MultitaskOptimizerWrapper("SGD")


def test_shampoo_with_long_axes_and_intervals() -> None:
    """A vector for each axis, and roots that are computed every second step: the loss falls."""
    for options in (
        {"max_matrix_size": 1, "gbar_decay": 0.5, "gbar_weight": 0.5},
        {"svd_interval": 2, "precond_update_interval": 2, "mat_gbar_decay": lambda step: 0.9},
    ):
        with tf.Graph().as_default():
            w = tf.get_variable("w", initializer=np.float32([[1.0, -2.0], [0.5, 3.0]]))
            loss = tf.reduce_sum(w * w)
            step = tf.train.get_or_create_global_step()
            train = opt.ShampooOptimizer(step, learning_rate=0.05, **options).minimize(loss, step)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                before = session.run(loss)
                for _ in range(20):
                    session.run(train)
                assert session.run(loss) < 0.9 * before
