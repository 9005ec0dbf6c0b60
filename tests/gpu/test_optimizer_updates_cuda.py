"""Optimizers' CUDA kernels, run on the CPU: every rule, dense and by rows, as on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import fake_cupy, fake_gpu


def dual_averaging() -> Any:
    step = tf.train.create_global_step()
    return tf.train.AdagradDAOptimizer(0.1, step, l1_regularization_strength=0.01)


OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "ftrl, another power": lambda: tf.train.FtrlOptimizer(
        0.1, -0.75, l2_shrinkage_regularization_strength=0.1
    ),
    "proximal": lambda: tf.train.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.1),
    "proximal, both": lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.1, 0.1),
    "proximal descent": lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.1, 0.1),
    "dual averaging": lambda: dual_averaging(),
}


def run(optimizer: Any, sparse: bool, config: Any) -> Any:
    with tf.Graph().as_default():
        start = np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3)
        v = tf.get_variable("v", initializer=start)
        x = tf.nn.embedding_lookup(v, [1, 5, 1, 6]) if sparse else v
        step = optimizer().minimize(tf.reduce_sum(tf.square(x - 0.3) * x))
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(step)
            return session.run(v)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "rows"])
def test_same_as_on_the_cpu(cuda_on_host: Any, name: str, sparse: bool) -> None:
    got = run(OPTIMIZERS[name], sparse, None)
    launched = cuda_on_host.launches.count("update")
    want = run(OPTIMIZERS[name], sparse, tf.ConfigProto(device_count={"GPU": 0}))
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)
    if not (sparse and name in ("adam", "sgd")):  # their sparse updates are made of other ops
        assert launched == 5


def test_adams_step_size_is_part_of_the_update(
    cuda_on_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else is computed for a variable: a launch would take as long as a small update."""
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=np.ones(5, np.float32))
        grad = tf.get_variable("g", initializer=np.ones(5, np.float32))
        step = tf.train.AdamOptimizer().apply_gradients([(grad, v)])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            seen: list[str] = []
            compute = fake_gpu.compute

            def counted(index: int, function: Any, args: Any, kwargs: Any) -> Any:
                owner = getattr(function, "__self__", None)
                seen.append(owner.__name__ if isinstance(owner, np.ufunc) else function.__name__)
                return compute(index, function, args, kwargs)

            for module in (fake_gpu, fake_cupy):
                monkeypatch.setattr(module, "compute", counted)
            cuda_on_host.launches.clear()
            session.run(step)
    assert cuda_on_host.launches == ["update"]
    assert seen.count("multiply") == 2  # the powers of both betas, once a step
    assert not {"sqrt", "divide", "subtract"} & set(seen)
