"""Programs as learners write them: loops by hand, many small runs, batches drawn by NumPy between the steps.

As in `workloads`, each ``model(tf)`` builds its graph and returns a function that does one step of training, here with
all that its program does between two of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the peer's Python may be that of TensorFlow 1.15
    from collections.abc import Callable

    Step = Callable[[], Any]
LEARNER_NETWORKS: dict[str, Callable[[Any], Step]] = {}
#: What each program is to take, of TensorFlow's time.
GOAL = 1.0


def program(function: Callable[[Any], Step]) -> Callable[[Any], Step]:
    """Registers a program under its function's name."""
    LEARNER_NETWORKS[function.__name__] = function
    return function


def _rng() -> Any:
    return np.random.default_rng(0)


def _session(tf: Any) -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


class _Batches:
    """Rows of some arrays, drawn anew for each batch."""

    def __init__(self, size: int, *arrays: Any) -> None:
        self._size, self._arrays, self._rng = size, arrays, _rng()

    def feeds(self, fed: list[Any]) -> dict[Any, Any]:
        """The next rows of each array, for the placeholder at its place."""
        rows = self._rng.integers(0, len(self._arrays[0]), self._size)
        return {tensor: self._arrays[i][rows] for i, tensor in enumerate(fed)}


def _trained_on(tf: Any, batches: _Batches, fed: list[Any], fetches: Any) -> Step:
    session = _session(tf)
    return lambda: session.run(fetches, batches.feeds(fed))


@program
def lstm_by_scan(tf: Any) -> Step:
    """An LSTM of 64 units over 28 rows, written by hand in `tf.scan`; batch 64, Adam."""
    x, labels = tf.placeholder(tf.float32, [None, 28, 28]), tf.placeholder(tf.int32, [None])
    weights = tf.get_variable("weights", [28 + 64, 4 * 64])

    def cell(state: Any, row: Any) -> Any:
        h, c = state
        i, j, f, o = tf.split(tf.matmul(tf.concat([row, h], 1), weights), 4, axis=1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
        return tf.sigmoid(o) * tf.tanh(c), c

    zeros = tf.zeros([tf.shape(x)[0], 64])
    outputs, _ = tf.scan(cell, tf.transpose(x, [1, 0, 2]), initializer=(zeros, zeros))
    logits = tf.layers.dense(outputs[-1], 10)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    images = _rng().random((1000, 28, 28), np.float32)
    batches = _Batches(64, images, _rng().integers(0, 10, 1000))
    return _trained_on(tf, batches, [x, labels], [train, loss])


@program
def gru_by_while_loop(tf: Any) -> Step:
    """A GRU of 48 units over 20 steps, written by hand with `tf.while_loop` and `TensorArray`; batch 32, Adam."""
    x, y = tf.placeholder(tf.float32, [32, 20, 16]), tf.placeholder(tf.float32, [32, 1])
    gates = tf.get_variable("gates", [16 + 48, 2 * 48])
    candidate = tf.get_variable("candidate", [16 + 48, 48])
    rows = tf.TensorArray(tf.float32, 20).unstack(tf.transpose(x, [1, 0, 2]))

    def body(i: Any, h: Any, outputs: Any) -> Any:
        row = rows.read(i)
        both = tf.sigmoid(tf.matmul(tf.concat([row, h], 1), gates))
        z, r = both[:, :48], both[:, 48:]
        h = (1 - z) * h + z * tf.tanh(tf.matmul(tf.concat([row, r * h], 1), candidate))
        return i + 1, h, outputs.write(i, h)

    start = [0, tf.zeros([32, 48]), tf.TensorArray(tf.float32, 20)]
    outputs = tf.while_loop(lambda i, *_: i < 20, body, start)[2].stack()
    loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.reduce_mean(outputs, 0), 1) - y))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    data = _rng().random((320, 20, 16), np.float32), _rng().random((320, 1), np.float32)
    return _trained_on(tf, _Batches(32, *data), [x, y], [train, loss])


@program
def unrolled_attention(tf: Any) -> Step:
    """Translation of 12 words to 10, with attention written by hand in an unrolled decoder; batch 32, Adam."""
    source, target = tf.placeholder(tf.int32, [None, 12]), tf.placeholder(tf.int32, [None, 11])
    embedding = tf.get_variable("embedding", [200, 32])
    encoded, state = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(64),
        tf.nn.embedding_lookup(embedding, source),
        dtype=tf.float32,
        scope="encoder",
    )
    keys = tf.tensordot(encoded, tf.get_variable("memory", [64, 64]), [[2], [0]])
    query, v = tf.get_variable("query", [64, 64]), tf.get_variable("v", [64])
    cell, losses = tf.nn.rnn_cell.GRUCell(64, name="decoder"), []
    for i in range(10):
        asked = tf.expand_dims(tf.matmul(state, query), 1)
        weights = tf.nn.softmax(tf.reduce_sum(v * tf.tanh(keys + asked), 2))
        context = tf.reduce_sum(tf.expand_dims(weights, 2) * encoded, 1)
        word = tf.nn.embedding_lookup(embedding, target[:, i])
        output, state = cell(tf.concat([word, context], 1), state)
        logits = tf.layers.dense(tf.concat([output, context], 1), 200, name="words", reuse=i > 0)
        losses.append(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target[:, i + 1], logits=logits)
        )
    loss = tf.reduce_mean(tf.add_n(losses))
    optimizer = tf.train.AdamOptimizer(1e-3)
    pairs = optimizer.compute_gradients(loss)
    gradients, _ = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 5.0)
    train = optimizer.apply_gradients([(gradients[i], v) for i, (_, v) in enumerate(pairs)])
    words = _rng().integers(0, 200, (640, 12)), _rng().integers(0, 200, (640, 11))
    return _trained_on(tf, _Batches(32, *words), [source, target], [train, loss])


@program
def variational_autoencoder(tf: Any) -> Step:
    """Two layers of 200 each way and two numbers between them, by `tf.distributions`; batch 100, Adam."""
    distributions, dense = tf.distributions, tf.layers.dense
    x = tf.placeholder(tf.float32, [None, 784])
    h = dense(dense(x, 200, tf.nn.relu), 200, tf.nn.relu)
    code = distributions.Normal(dense(h, 2), dense(h, 2, tf.nn.softplus) + 1e-4)
    prior = distributions.Normal(tf.zeros(2), tf.ones(2))
    h = dense(dense(code.sample(), 200, tf.nn.relu), 200, tf.nn.relu)
    pixels = distributions.Bernoulli(logits=dense(h, 784))
    likelihood = tf.reduce_sum(pixels.log_prob(tf.cast(x > 0.5, tf.int32)), 1)
    bound = likelihood - tf.reduce_sum(distributions.kl_divergence(code, prior), 1)
    loss = -tf.reduce_mean(bound)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    batches = _Batches(100, _rng().random((5000, 784), np.float32))
    return _trained_on(tf, batches, [x], [train, loss])


@program
def deep_q_network(tf: Any) -> Step:
    """An action for one state, then a step on 32 transitions, with a target network; Adam."""
    state, following = (tf.placeholder(tf.float32, [None, 4]) for _ in range(2))
    action = tf.placeholder(tf.int32, [None])
    reward, done = (tf.placeholder(tf.float32, [None]) for _ in range(2))

    def network(x: Any, scope: str) -> Any:
        with tf.variable_scope(scope):
            h = tf.layers.dense(tf.layers.dense(x, 64, tf.nn.relu), 64, tf.nn.relu)
            return tf.layers.dense(h, 2)

    values, later = network(state, "online"), network(following, "target")
    aim = reward + 0.99 * (1 - done) * tf.reduce_max(later, 1)
    taken = tf.reduce_sum(values * tf.one_hot(action, 2), 1)
    loss = tf.reduce_mean(tf.square(tf.stop_gradient(aim) - taken))
    online = tf.trainable_variables("online")
    train = tf.train.AdamOptimizer(1e-3).minimize(loss, var_list=online)
    rng, states = _rng(), _rng().standard_normal((1000, 4), np.float32)
    numbers = rng.random(1000, np.float32), (rng.random(1000) < 0.1).astype(np.float32)
    batches = _Batches(32, states, states + 1, rng.integers(0, 2, 1000), *numbers)
    fed, session = [state, following, action, *(reward, done)], _session(tf)

    def step() -> Any:
        np.argmax(session.run(values, {state: states[:1]})[0])
        return session.run([train, loss], batches.feeds(fed))

    return step


@program
def policy_gradient(tf: Any) -> Step:
    """An episode of 20 actions, each a run of its own, then a step on all of them; Adam."""
    state, action = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
    advantage = tf.placeholder(tf.float32, [None])
    logits = tf.layers.dense(tf.layers.dense(state, 32, tf.nn.tanh), 2)
    drawn = tf.squeeze(tf.multinomial(logits, 1), 1)
    log_probability = tf.reduce_sum(tf.one_hot(action, 2) * tf.nn.log_softmax(logits), 1)
    loss = -tf.reduce_mean(advantage * log_probability)
    train = tf.train.AdamOptimizer(1e-2).minimize(loss)
    states, session = _rng().standard_normal((20, 4), np.float32), _session(tf)

    def step() -> Any:
        actions = [session.run(drawn, {state: one[None]})[0] for one in states]
        return session.run(train, {state: states, action: actions, advantage: np.ones(20)})

    return step


@program
def inception(tf: Any) -> Step:
    """Two blocks of four towers on images of 16 x 16 x 64, batch 16, momentum."""
    images, labels = (
        tf.placeholder(tf.float32, [None, 16, 16, 64]),
        tf.placeholder(tf.int64, [None]),
    )

    def convolved(x: Any, filters: int, size: int) -> Any:
        return tf.layers.conv2d(x, filters, size, padding="same", activation=tf.nn.relu)

    x = images
    for _ in range(2):
        towers = [
            convolved(x, 32, 1),
            convolved(convolved(x, 32, 1), 48, 3),
            convolved(convolved(x, 16, 1), 24, 5),
            convolved(tf.layers.max_pooling2d(x, 3, 1, padding="same"), 24, 1),
        ]
        x = tf.concat(towers, 3)
    logits = tf.layers.dense(tf.reduce_mean(x, [1, 2]), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    data = _rng().random((64, 16, 16, 64), np.float32), _rng().integers(0, 10, 64)
    return _trained_on(tf, _Batches(16, *data), [images, labels], [train, loss])


@program
def conv3d(tf: Any) -> Step:
    """Two convolutions and poolings of volumes of 16 x 16 x 16, batch 4, Adam."""
    volumes = tf.placeholder(tf.float32, [None, 16, 16, 16, 1])
    labels, x = tf.placeholder(tf.int64, [None]), volumes
    for filters in (8, 16):
        x = tf.layers.conv3d(x, filters, 3, padding="same", activation=tf.nn.relu)
        x = tf.layers.max_pooling3d(x, 2, 2)
    x = tf.layers.dense(tf.layers.flatten(x), 64, tf.nn.relu)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(x, 10))
    train = tf.train.AdamOptimizer().minimize(loss)
    data = _rng().random((64, 16, 16, 16, 1), np.float32), _rng().integers(0, 10, 64)
    return _trained_on(tf, _Batches(4, *data), [volumes, labels], [train, loss])


@program
def matrix_factorization(tf: Any) -> Step:
    """Ratings of 2,000 users and 1,500 films by embeddings of 32 numbers and biases; batch 256, Adam."""
    user, film = (tf.placeholder(tf.int32, [None]) for _ in range(2))
    rating = tf.placeholder(tf.float32, [None])
    users, films = (
        tf.nn.embedding_lookup(tf.get_variable(name, [count, 33]), ids)
        for name, count, ids in (("users", 2000, user), ("films", 1500, film))
    )
    found = tf.reduce_sum(users[:, :32] * films[:, :32], 1) + users[:, 32] + films[:, 32]
    loss = tf.nn.l2_loss(found - rating) + 0.05 * (tf.nn.l2_loss(users) + tf.nn.l2_loss(films))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    rng = _rng()
    ids = rng.integers(0, 2000, 10_000), rng.integers(0, 1500, 10_000)
    batches = _Batches(256, *ids, rng.random(10_000, np.float32))
    return _trained_on(tf, batches, [user, film, rating], [train, loss])


@program
def k_means(tf: Any) -> Step:
    """A step of k-means on 2,000 points of the plane, by `tf.dynamic_partition`."""
    points = tf.Variable(_rng().standard_normal((2000, 2), np.float32))
    centers = tf.Variable(_rng().standard_normal((5, 2), np.float32))
    distances = tf.square(tf.expand_dims(points, 0) - tf.expand_dims(centers, 1))
    nearest = tf.argmin(tf.reduce_sum(distances, 2), 0)
    parts = tf.dynamic_partition(points, tf.cast(nearest, tf.int32), 5)
    means = tf.stack([tf.reduce_mean(part, 0) for part in parts])
    session, update = _session(tf), tf.assign(centers, means)
    return lambda: session.run([update, nearest])
