"""The workloads, written once in TensorFlow 1's terms and run by both engines.

``WORKLOADS[name](tf)`` builds its graph and returns a function that does one unit of work. Inputs
are fixed; nothing in here knows which engine it runs on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the peer's Python may be that of TensorFlow 1.15
    from collections.abc import Callable

    Step = Callable[[], Any]
WORKLOADS: dict[str, Callable[[Any], Step]] = {}


def workload(function: Callable[[Any], Step]) -> Callable[[Any], Step]:
    """Registers a workload under its function's name."""
    WORKLOADS[function.__name__] = function
    return function


def _session(tf: Any) -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def _rng() -> Any:
    return np.random.default_rng(0)


@workload
def two_nodes(tf: Any) -> Step:
    x = tf.placeholder(tf.float32, [])
    y = tf.add(x, 1.0)
    session = tf.Session()
    return lambda: session.run(y, {x: 2.0})


@workload
def thousand_adds(tf: Any) -> Step:
    x = tf.placeholder(tf.float32, [])
    y = x
    for _ in range(1000):
        y = y + x
    session = tf.Session()
    return lambda: session.run(y, {x: 1.0})


def _mnist(batch: int) -> tuple[Any, Any]:
    rng = _rng()
    images = rng.random((batch, 784), dtype=np.float32)
    labels = np.eye(10, dtype=np.float32)[rng.integers(0, 10, batch)]
    return images, labels


@workload
def softmax_regression(tf: Any) -> Step:
    x = tf.placeholder(tf.float32, [None, 784])
    y_ = tf.placeholder(tf.float32, [None, 10])
    W = tf.Variable(tf.zeros([784, 10]))
    b = tf.Variable(tf.zeros([10]))
    y = tf.nn.softmax(tf.matmul(x, W) + b)
    loss = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y + 1e-10), 1))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = _session(tf)
    images, labels = _mnist(100)
    return lambda: session.run([train, loss], {x: images, y_: labels})


@workload
def mlp(tf: Any) -> Step:
    x = tf.placeholder(tf.float32, [None, 784])
    y_ = tf.placeholder(tf.float32, [None, 10])
    h = x
    for size_in, size in ((784, 256), (256, 256)):
        W = tf.Variable(tf.truncated_normal([size_in, size], stddev=0.05, seed=1))
        h = tf.nn.relu(tf.matmul(h, W) + tf.Variable(tf.zeros([size])))
    W = tf.Variable(tf.truncated_normal([256, 10], stddev=0.05, seed=1))
    logits = tf.matmul(h, W) + tf.Variable(tf.zeros([10]))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=logits))
    train = tf.train.AdamOptimizer(0.001).minimize(loss)
    session = _session(tf)
    images, labels = _mnist(128)
    return lambda: session.run([train, loss], {x: images, y_: labels})


@workload
def mlp_trained(tf: Any) -> Step:
    """After 1,500 steps: the loss is small, and many of Adam's numbers shrink toward zero."""
    step = mlp(tf)
    for _ in range(1500):
        step()
    return step


@workload
def cnn(tf: Any) -> Step:
    """Deep MNIST for experts: two convolutional layers, batch 50, Adam."""
    x = tf.placeholder(tf.float32, [None, 784])
    y_ = tf.placeholder(tf.float32, [None, 10])
    keep = tf.placeholder(tf.float32)

    def weights(shape: list[int]) -> Any:
        return tf.Variable(tf.truncated_normal(shape, stddev=0.1, seed=1))

    def biases(size: int) -> Any:
        return tf.Variable(tf.constant(0.1, shape=[size]))

    def layer(t: Any, size_in: int, size: int) -> Any:
        c = tf.nn.conv2d(t, weights([5, 5, size_in, size]), [1, 1, 1, 1], "SAME")
        h = tf.nn.relu(c + biases(size))
        return tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    h = layer(layer(tf.reshape(x, [-1, 28, 28, 1]), 1, 32), 32, 64)
    h = tf.reshape(h, [-1, 7 * 7 * 64])
    h = tf.nn.relu(tf.matmul(h, weights([7 * 7 * 64, 1024])) + biases(1024))
    h = tf.nn.dropout(h, keep)
    logits = tf.matmul(h, weights([1024, 10])) + biases(10)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=logits))
    train = tf.train.AdamOptimizer(1e-4).minimize(loss)
    session = _session(tf)
    images, labels = _mnist(50)
    return lambda: session.run([train, loss], {x: images, y_: labels, keep: 0.5})


@workload
def nce(tf: Any) -> Step:
    """Skip-gram with 64 negatives: vocabulary 50,000, dimension 128, batch 128."""
    words, size = 50_000, 128
    inputs = tf.placeholder(tf.int32, [128])
    labels = tf.placeholder(tf.int32, [128, 1])
    embeddings = tf.Variable(tf.random_uniform([words, size], -1.0, 1.0, seed=1))
    weights = tf.Variable(tf.truncated_normal([words, size], stddev=1 / math.sqrt(size), seed=1))
    biases = tf.Variable(tf.zeros([words]))
    embed = tf.nn.embedding_lookup(embeddings, inputs)
    loss = tf.reduce_mean(
        tf.nn.nce_loss(
            weights=weights,
            biases=biases,
            labels=labels,
            inputs=embed,
            num_sampled=64,
            num_classes=words,
        )
    )
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    session = _session(tf)
    rng = _rng()
    feeds = {
        inputs: rng.integers(0, 2000, 128).astype(np.int32),
        labels: rng.integers(0, 2000, (128, 1)).astype(np.int32),
    }
    return lambda: session.run([train, loss], feeds)


@workload
def text_cnn(tf: Any) -> Step:
    """Kim's sentence CNN: 56 words, dimension 128, filters 3/4/5 x 128, batch 64."""
    words, length, size, filters, batch = 18_000, 56, 128, 128, 64
    x = tf.placeholder(tf.int32, [None, length])
    y_ = tf.placeholder(tf.float32, [None, 2])
    W = tf.Variable(tf.random_uniform([words, size], -1.0, 1.0, seed=1))
    embedded = tf.expand_dims(tf.nn.embedding_lookup(W, x), -1)
    pooled = []
    for width in (3, 4, 5):
        F = tf.Variable(tf.truncated_normal([width, size, 1, filters], stddev=0.1, seed=1))
        b = tf.Variable(tf.constant(0.1, shape=[filters]))
        conv = tf.nn.conv2d(embedded, F, [1, 1, 1, 1], "VALID")
        h = tf.nn.relu(tf.nn.bias_add(conv, b))
        pooled.append(tf.nn.max_pool(h, [1, length - width + 1, 1, 1], [1, 1, 1, 1], "VALID"))
    h = tf.reshape(tf.concat(pooled, 3), [-1, 3 * filters])
    W2 = tf.Variable(tf.truncated_normal([3 * filters, 2], stddev=0.1, seed=1))
    logits = tf.matmul(h, W2) + tf.Variable(tf.zeros([2]))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=logits))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    session = _session(tf)
    rng = _rng()
    feeds = {
        x: rng.integers(0, words, (batch, length)).astype(np.int32),
        y_: np.eye(2, dtype=np.float32)[rng.integers(0, 2, batch)],
    }
    return lambda: session.run([train, loss], feeds)


@workload
def lstm(tf: Any) -> Step:
    """An LSTM of 128 units over 28 rows of 28 pixels, unrolled; batch 128."""
    steps, inputs, units, batch = 28, 28, 128, 128
    x = tf.placeholder(tf.float32, [None, steps, inputs])
    y_ = tf.placeholder(tf.float32, [None, 10])
    W = tf.Variable(tf.truncated_normal([inputs + units, 4 * units], stddev=0.05, seed=1))
    b = tf.Variable(tf.zeros([4 * units]))
    c = tf.zeros([batch, units])
    h = tf.zeros([batch, units])
    for row in tf.unstack(x, steps, 1):
        i, j, f, o = tf.split(tf.matmul(tf.concat([row, h], 1), W) + b, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    V = tf.Variable(tf.truncated_normal([units, 10], stddev=0.05, seed=1))
    logits = tf.matmul(h, V) + tf.Variable(tf.zeros([10]))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session = _session(tf)
    images, labels = _mnist(batch)
    feeds = {x: images.reshape(batch, steps, inputs), y_: labels}
    return lambda: session.run([train, loss], feeds)


@workload
def stacked_gru(tf: Any) -> Step:
    """Three GRUs of 128 units over 25 characters of 60; batch 50, Adam."""
    characters, units, batch, length = 60, 128, 50, 25
    x = tf.placeholder(tf.int32, [None, None])
    y_ = tf.placeholder(tf.int32, [None, None])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(units) for _ in range(3)])
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.one_hot(x, characters), dtype=tf.float32)
    logits = tf.layers.dense(tf.reshape(outputs, [-1, units]), characters)
    labels = tf.reshape(tf.one_hot(y_, characters), [-1, characters])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    session = _session(tf)
    rng = _rng()
    feeds = {p: rng.integers(0, characters, (batch, length)).astype(np.int32) for p in (x, y_)}
    return lambda: session.run([train, loss], feeds)


@workload
def transformer(tf: Any) -> Step:
    """A language model: four pre-norm layers, 128 wide, four heads; 64 words, batch 32, Adam."""
    words, width, length, batch, heads = 1000, 128, 64, 32, 4
    x = tf.placeholder(tf.int32, [None, length])
    y_ = tf.placeholder(tf.int32, [None, length])

    def weights(*shape: int) -> Any:
        return tf.Variable(tf.truncated_normal(shape, stddev=0.05, seed=1))

    def norm(t: Any) -> Any:
        mean, variance = tf.nn.moments(t, [-1], keep_dims=True)
        scale, shift = tf.Variable(tf.ones([width])), tf.Variable(tf.zeros([width]))
        return (t - mean) * tf.rsqrt(variance + 1e-6) * scale + shift

    def dense(t: Any, size_in: int, size: int) -> Any:
        flat = tf.matmul(tf.reshape(t, [-1, size_in]), weights(size_in, size))
        return tf.reshape(flat + tf.Variable(tf.zeros([size])), [-1, length, size])

    def split(t: Any) -> Any:
        t = tf.reshape(t, [-1, length, heads, width // heads])
        return tf.transpose(t, [0, 2, 1, 3])

    embeddings = weights(words, width)
    h = tf.nn.embedding_lookup(embeddings, x) + weights(length, width)
    future = tf.constant(np.triu(np.full((length, length), -1e9, np.float32), 1))
    for _ in range(4):
        t = norm(h)
        q, k, v = (split(dense(t, width, width)) for _ in range(3))
        scores = tf.matmul(q, k, transpose_b=True) * math.sqrt(heads / width)
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores + future), v), [0, 2, 1, 3])
        h += dense(tf.reshape(mixed, [-1, length, width]), width, width)
        h += dense(tf.nn.relu(dense(norm(h), width, 4 * width)), 4 * width, width)
    logits = tf.matmul(tf.reshape(norm(h), [-1, width]), embeddings, transpose_b=True)
    labels = tf.reshape(y_, [-1])
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    session = _session(tf)
    rng = _rng()
    feeds = {p: rng.integers(0, words, (batch, length)).astype(np.int32) for p in (x, y_)}
    return lambda: session.run([train, loss], feeds)


@workload
def scalar_chain(tf: Any) -> Step:
    """A chain of 1,000 tanh and 1,000 additions of scalars, and its gradient."""
    x = tf.placeholder(tf.float32, [])
    y = x
    for _ in range(1000):
        y = tf.tanh(y) + x
    gradient = tf.gradients(y, x)[0]
    session = tf.Session()
    return lambda: session.run([y, gradient], {x: 0.5})


@workload
def elementwise(tf: Any) -> Step:
    """Eight element-wise ops on four million floats."""
    x = tf.placeholder(tf.float32, [4_000_000])
    y = tf.placeholder(tf.float32, [4_000_000])
    z = tf.nn.relu(x * y + 1.0) * tf.exp(-x) - tf.sqrt(y) / 2.0
    session = tf.Session()
    rng = _rng()
    feeds = {x: rng.random(4_000_000, dtype=np.float32), y: rng.random(4_000_000, dtype=np.float32)}
    return lambda: session.run(z, feeds)


@workload
def matmul_1024(tf: Any) -> Step:
    rng = _rng()
    a = tf.Variable(rng.random((1024, 1024), dtype=np.float32))
    b = tf.Variable(rng.random((1024, 1024), dtype=np.float32))
    c = tf.matmul(a, b)
    session = _session(tf)
    return lambda: session.run(c.op)


@workload
def while_loop(tf: Any) -> Step:
    """A thousand iterations over two scalars."""
    x = tf.placeholder(tf.float32, [])
    _, total = tf.while_loop(
        lambda i, s: tf.less(i, 1000), lambda i, s: (i + 1, s * 0.999 + x), [0, 0.0]
    )
    session = tf.Session()
    return lambda: session.run(total, {x: 1.0})


@workload
def building(tf: Any) -> Step:
    """Building a graph of 5,000 ops."""

    def step() -> None:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [10])
            for _ in range(2500):
                x = tf.tanh(x) * x

    return step


@workload
def gradients(tf: Any) -> Step:
    """The gradients of a chain of 500 ops."""

    def step() -> None:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [10])
            y = x
            for _ in range(500):
                y = tf.tanh(y)
            tf.gradients(y, x)

    return step


@workload
def first_run(tf: Any) -> Step:
    """A graph, a session and its first run: a small network with its gradients."""

    def step() -> None:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 20])
            h = x
            for _ in range(3):
                W = tf.Variable(tf.ones([20, 20]) * 0.01)
                h = tf.nn.relu(tf.matmul(h, W) + tf.Variable(tf.zeros([20])))
            loss = tf.reduce_mean(tf.square(h))
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run([train, loss], {x: np.ones((5, 20), np.float32)})

    return step


@workload
def dataset(tf: Any) -> Step:
    """10,000 rows of 20 numbers, shuffled, in batches of 100."""
    rng = _rng()
    data = tf.data.Dataset.from_tensor_slices(
        (rng.random((10_000, 20), dtype=np.float32), rng.integers(0, 10, 10_000))
    )
    data = data.shuffle(1000, seed=1).batch(100)
    iterator = data.make_initializable_iterator()
    following = iterator.get_next()
    session = tf.Session()

    def step() -> None:
        session.run(iterator.initializer)
        for _ in range(100):
            session.run(following)

    return step


#: Ratios to reach, by workload: (against TensorFlow, against PyTorch).
GOALS = {
    "import_to_first_result": (0.1, None),
    "two_nodes": (0.1, None),
    "thousand_adds": (0.5, None),
    "softmax_regression": (0.5, None),
    "mlp": (0.7, None),
    "mlp_trained": (0.7, None),
    "cnn": (1.0, 1.2),
    "nce": (0.8, None),
    "text_cnn": (0.2, 1.0),
    "lstm": (0.9, None),
    "stacked_gru": (0.9, None),
    "transformer": (0.8, None),
    "scalar_chain": (0.5, None),
    "elementwise": (0.8, None),
    "matmul_1024": (1.0, None),
    "while_loop": (0.5, None),
    "building": (0.1, None),
    "gradients": (0.1, None),
    "first_run": (0.2, None),
    "dataset": (0.5, None),
    "peak_memory": (0.35, None),
}
