"""Workloads of eager code: single operations, and steps of training loops with tapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the peer's Python may be that of TensorFlow 1.15
    from collections.abc import Callable

    Step = Callable[[], Any]
EAGER_CODE: dict[str, Callable[[Any], Step]] = {}
#: What each step is to take, of TensorFlow's time.
GOAL = 1.0


def _eager(function: Callable[[Any], Step]) -> Callable[[Any], Step]:
    def begun(tf: Any) -> Step:
        tf.enable_eager_execution()
        return function(tf)

    EAGER_CODE[function.__name__] = begun
    return begun


@_eager
def eager_scalars(tf: Any) -> Step:
    x, y = tf.constant(2.0), tf.constant(3.0)

    def step() -> None:
        for _ in range(100):
            x * y

    return step


def _layers(tf: Any) -> tuple[Any, Any, Any]:
    """Variables of two dense layers, inputs and targets."""
    rng = np.random.RandomState(0)
    shapes = ((64, 128), (128,), (128, 10), (10,))
    variables = [tf.Variable(rng.randn(*shape).astype("f") * 0.1) for shape in shapes]
    return (
        variables,
        tf.constant(rng.randn(32, 64).astype("f")),
        tf.constant(rng.randn(32, 10).astype("f")),
    )


def _training(tf: Any, optimizer: Any) -> Step:
    variables, x, y = _layers(tf)
    first, first_bias, second, second_bias = variables

    def step() -> None:
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.matmul(x, first) + first_bias)
            z = tf.matmul(h, second) + second_bias
            loss = tf.reduce_mean(tf.square(z - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))  # noqa: B905

    return step


@_eager
def eager_sgd(tf: Any) -> Step:
    return _training(tf, tf.train.GradientDescentOptimizer(0.01))


@_eager
def eager_adam(tf: Any) -> Step:
    return _training(tf, tf.train.AdamOptimizer())


@_eager
def eager_keras(tf: Any) -> Step:
    rng = np.random.RandomState(0)
    dense = tf.keras.layers.Dense
    model = tf.keras.Sequential([dense(128, activation="relu"), dense(10)])
    x = tf.constant(rng.randn(32, 64).astype("f"))
    labels = tf.constant(rng.randint(0, 10, 32))
    optimizer = tf.train.AdamOptimizer()

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.losses.sparse_softmax_cross_entropy(labels, model(x))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))  # noqa: B905

    return step
