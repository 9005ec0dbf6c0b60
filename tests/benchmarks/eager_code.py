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
def eager_function(tf: Any) -> Step:
    """A training step that is a `tf.function`: tape and optimizer are inside."""
    variables, x, y = _layers(tf)
    first, first_bias, second, second_bias = variables
    optimizer = tf.train.AdamOptimizer()

    @tf.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.matmul(x, first) + first_bias)
            z = tf.matmul(h, second) + second_bias
            loss = tf.reduce_mean(tf.square(z - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))  # noqa: B905
        return loss

    return lambda: train_step(x, y)


@_eager
def eager_function_keras(tf: Any) -> Step:
    """The step of the published tutorials: a Keras model, its loss, its optimizer and two metrics."""
    rng = np.random.RandomState(0)
    keras = tf.keras
    model = keras.Sequential([keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])
    optimizer = keras.optimizers.Adam()
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    mean, accuracy = keras.metrics.Mean(), keras.metrics.SparseCategoricalAccuracy()
    x, labels = tf.constant(rng.randn(32, 64).astype("f")), tf.constant(rng.randint(0, 10, 32))

    @tf.function
    def train_step(images: Any, labels: Any) -> None:
        with tf.GradientTape() as tape:
            scores = model(images, training=True)
            loss = loss_of(labels, scores)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))  # noqa: B905
        mean(loss)
        accuracy(labels, scores)

    return lambda: train_step(x, labels)


@_eager
def eager_function_under_a_tape(tf: Any) -> Step:
    """A function without a tape of its own: gradient and update are made outside."""
    variables, x, y = _layers(tf)
    first, first_bias, second, second_bias = variables
    optimizer = tf.train.GradientDescentOptimizer(0.01)

    @tf.function
    def loss_of(x: Any, y: Any) -> Any:
        h = tf.nn.relu(tf.matmul(x, first) + first_bias)
        return tf.reduce_mean(tf.square(tf.matmul(h, second) + second_bias - y))

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = loss_of(x, y)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))  # noqa: B905

    return step


@_eager
def eager_gradient_inside_a_tape(tf: Any) -> Step:
    """A gradient that a further tape records, as gradient penalties need it."""
    rng = np.random.RandomState(0)
    variables = [tf.Variable(rng.randn(64, 64).astype("f") * 0.1) for _ in range(8)]
    x = tf.constant(rng.randn(8, 64).astype("f"))

    def step() -> None:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                h = x
                for v in variables:
                    h = tf.tanh(tf.matmul(h, v))
                loss = tf.reduce_sum(h)
            penalty = tf.reduce_sum(tf.square(tape.gradient(loss, variables)[0]))
        outer.gradient(penalty, variables)

    return step


@_eager
def eager_keras(tf: Any) -> Step:
    rng = np.random.RandomState(0)
    dense = tf.keras.layers.Dense
    model = tf.keras.Sequential([dense(128, activation="relu"), dense(10)])
    x = tf.constant(rng.randn(32, 64).astype("f"))
    labels = tf.constant(rng.randint(0, 10, 32))
    return _classifier(tf, model, x, labels)


@_eager
def eager_layers(tf: Any) -> Step:
    """The forward pass of layers alone."""
    rng = np.random.RandomState(0)
    layers = tf.keras.layers
    dense, conv, pool = layers.Dense(32, "relu"), layers.Conv2D(4, 3), layers.MaxPool2D()
    norm, embedding, flat = layers.BatchNormalization(), layers.Embedding(50, 16), layers.Flatten()
    image = tf.constant(rng.randn(4, 8, 8, 3).astype("f"))
    words = tf.constant(rng.randint(0, 50, (4, 10)))

    def step() -> None:
        dense(flat(pool(norm(conv(image), training=True))))
        embedding(words)

    return step


@_eager
def eager_cnn(tf: Any) -> Step:
    rng = np.random.RandomState(0)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPool2D(),
            layers.Conv2D(8, 3, activation="relu"),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(10),
        ]
    )
    x = tf.constant(rng.randn(8, 14, 14, 1).astype("f"))
    return _classifier(tf, model, x, tf.constant(rng.randint(0, 10, 8)))


@_eager
def eager_lstm(tf: Any) -> Step:
    rng = np.random.RandomState(0)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Embedding(50, 16), layers.LSTM(16), layers.Dense(2)])
    x = tf.constant(rng.randint(0, 50, (8, 12)))
    return _classifier(tf, model, x, tf.constant(rng.randint(0, 2, 8)))


def _classifier(tf: Any, model: Any, x: Any, labels: Any) -> Step:
    optimizer = tf.train.AdamOptimizer()

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.losses.sparse_softmax_cross_entropy(labels, model(x, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))  # noqa: B905

    return step


@_eager
def eager_rnn_loop(tf: Any) -> Step:
    """A recurrent network that a program writes as a loop, with its gradient."""
    rng = np.random.RandomState(0)
    shapes = ((8, 16), (16, 16), (16,))
    variables = [tf.Variable(rng.randn(*shape).astype("f") * 0.1) for shape in shapes]
    xs = tf.constant(rng.randn(20, 4, 8).astype("f"))
    into, within, bias = variables

    def step() -> None:
        with tf.GradientTape() as tape:
            h = tf.zeros([4, 16])
            for i in range(20):
                h = tf.tanh(tf.matmul(xs[i], into) + tf.matmul(h, within) + bias)
            loss = tf.reduce_sum(h)
        tape.gradient(loss, variables)

    return step


@_eager
def eager_clipped(tf: Any) -> Step:
    """Gradients of each example, clipped and averaged, as in private training."""
    variables, x, y = _layers(tf)
    first, first_bias, second, second_bias = variables
    optimizer = tf.train.GradientDescentOptimizer(0.01)

    def step() -> None:
        with tf.GradientTape(persistent=True) as tape:
            h = tf.nn.relu(tf.matmul(x[:8], first) + first_bias)
            z = tf.matmul(h, second) + second_bias
            losses = tf.reduce_mean(tf.square(z - y[:8]), axis=1)
            each = [tf.gather(losses, [i]) for i in range(8)]
        total = [tf.zeros_like(v) for v in variables]
        for loss in each:
            grads, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 1.0)
            total = [a + b for a, b in zip(total, grads)]  # noqa: B905
        optimizer.apply_gradients([(a / 8.0, v) for a, v in zip(total, variables)])  # noqa: B905

    return step
