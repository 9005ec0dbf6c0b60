"""Networks in the form in which published programs write them: weights in dictionaries, feeds by hand.

As in `workloads`, each ``model(tf)`` builds its graph and returns a function that does one step of training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the peer's Python may be that of TensorFlow 1.15
    from collections.abc import Callable

    Step = Callable[[], Any]
PUBLISHED_NETWORKS: dict[str, Callable[[Any], Step]] = {}
#: What each network is to take, of TensorFlow's time.
GOAL = 1.0


def network(function: Callable[[Any], Step]) -> Callable[[Any], Step]:
    """Registers a network under its function's name."""
    PUBLISHED_NETWORKS[function.__name__] = function
    return function


def _rng() -> Any:
    return np.random.default_rng(0)


def _session(tf: Any) -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def _glorot(tf: Any, *shape: int) -> Any:
    return tf.Variable(tf.random_normal(shape, stddev=1 / np.sqrt(shape[0] / 2.0)))


@network
def linear_regression(tf: Any) -> Step:
    """One epoch: a run for each of 17 pairs of numbers, then the cost of all."""
    x, y = tf.placeholder("float"), tf.placeholder("float")
    weight, bias = tf.Variable(0.3, name="weight"), tf.Variable(-0.2, name="bias")
    predicted = tf.add(tf.multiply(x, weight), bias)
    cost = tf.reduce_sum(tf.pow(predicted - y, 2)) / (2 * 17)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(cost)
    xs, ys = _rng().random(17), _rng().random(17)
    session = _session(tf)

    def step() -> Any:
        for i in range(17):
            session.run(train, feed_dict={x: xs[i], y: ys[i]})
        return session.run(cost, feed_dict={x: xs, y: ys})

    return step


@network
def lenet(tf: Any) -> Step:
    """LeNet-5 on images of 32 x 32, batch 128, dropout, Adam."""
    x, y = tf.placeholder(tf.float32, (None, 32, 32, 1)), tf.placeholder(tf.int32, (None))
    keep = tf.placeholder(tf.float32)

    def weights(*shape: int) -> Any:
        return tf.Variable(tf.truncated_normal(shape=shape, mean=0, stddev=0.1))

    def convolved(h: Any, size_in: int, size: int) -> Any:
        filters, bias = weights(5, 5, size_in, size), tf.Variable(tf.zeros(size))
        h = tf.nn.relu(tf.nn.conv2d(h, filters, strides=[1, 1, 1, 1], padding="VALID") + bias)
        return tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")

    h = tf.reshape(convolved(convolved(x, 1, 6), 6, 16), [-1, 400])
    for size_in, size in ((400, 120), (120, 84)):
        h = tf.nn.relu(tf.matmul(h, weights(size_in, size)) + tf.Variable(tf.zeros(size)))
        h = tf.nn.dropout(h, keep)
    logits = tf.matmul(h, weights(84, 10)) + tf.Variable(tf.zeros(10))
    labels = tf.one_hot(y, 10)
    losses = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(learning_rate=0.001).minimize(loss)
    hits = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))
    images, classes = _rng().random((1280, 32, 32, 1), np.float32), _rng().integers(0, 10, 1280)
    session, state = _session(tf), {"at": 0}

    def step() -> Any:
        at = state["at"]
        state["at"] = (at + 128) % 1280
        feeds = {x: images[at : at + 128], y: classes[at : at + 128]}
        session.run(train, feed_dict={**feeds, keep: 0.5})
        if at == 0:
            return session.run(accuracy, feed_dict={**feeds, keep: 1.0})
        return None

    return step


@network
def gan(tf: Any) -> Step:
    """A generator and a discriminator of one hidden layer of 256 each, weights in dictionaries; batch 128, Adam."""
    noise, real = tf.placeholder(tf.float32, [None, 100]), tf.placeholder(tf.float32, [None, 784])
    sizes = {"g1": (100, 256), "g2": (256, 784), "d1": (784, 256), "d2": (256, 1)}
    weights = {name: _glorot(tf, *size) for name, size in sizes.items()}
    biases = {name: tf.Variable(tf.zeros([size[1]])) for name, size in sizes.items()}

    def layer(h: Any, name: str) -> Any:
        return tf.add(tf.matmul(h, weights[name]), biases[name])

    def discriminator(h: Any) -> Any:
        return tf.nn.sigmoid(layer(tf.nn.relu(layer(h, "d1")), "d2"))

    made = tf.nn.sigmoid(layer(tf.nn.relu(layer(noise, "g1")), "g2"))
    of_made, of_real = discriminator(made), discriminator(real)
    generator_loss = -tf.reduce_mean(tf.log(of_made))
    discriminator_loss = -tf.reduce_mean(tf.log(of_real) + tf.log(1.0 - of_made))
    trains = [
        tf.train.AdamOptimizer(2e-4).minimize(
            loss, var_list=[d[key] for d in (weights, biases) for key in sizes if key[0] == letter]
        )
        for loss, letter in ((generator_loss, "g"), (discriminator_loss, "d"))
    ]
    rng, images, session = _rng(), _rng().random((1280, 784), np.float32), _session(tf)

    def step() -> Any:
        drawn = rng.uniform(-1.0, 1.0, size=[128, 100])
        feeds = {real: images[rng.integers(0, 1280, 128)], noise: drawn}
        return session.run([*trains, generator_loss, discriminator_loss], feed_dict=feeds)

    return step


@network
def vae_by_hand(tf: Any) -> Step:
    """A variational autoencoder of 784, 512 and 2 numbers with its loss written out; batch 64, RMSProp."""
    sizes = {
        "in": (784, 512),
        "mean": (512, 2),
        "deviation": (512, 2),
        "back": (2, 512),
        "out": (512, 784),
    }
    weights = {name: _glorot(tf, *size) for name, size in sizes.items()}
    biases = {name: _glorot(tf, size[1]) for name, size in sizes.items()}

    def layer(h: Any, name: str) -> Any:
        return tf.matmul(h, weights[name]) + biases[name]

    x = tf.placeholder(tf.float32, shape=[None, 784])
    h = tf.nn.tanh(layer(x, "in"))
    mean, deviation = layer(h, "mean"), layer(h, "deviation")
    drawn = tf.random_normal(tf.shape(deviation), dtype=tf.float32, mean=0.0, stddev=1.0)
    code = mean + tf.exp(deviation / 2) * drawn
    found = tf.nn.sigmoid(layer(tf.nn.tanh(layer(code, "back")), "out"))
    pixels = x * tf.log(1e-10 + found) + (1 - x) * tf.log(1e-10 + 1 - found)
    divergence = 1 + deviation - tf.square(mean) - tf.exp(deviation)
    loss = tf.reduce_mean(-tf.reduce_sum(pixels, 1) - 0.5 * tf.reduce_sum(divergence, 1))
    train = tf.train.RMSPropOptimizer(learning_rate=0.001).minimize(loss)
    rng, images, session = _rng(), _rng().random((640, 784), np.float32), _session(tf)
    return lambda: session.run([train, loss], feed_dict={x: images[rng.integers(0, 640, 64)]})


@network
def word2vec(tf: Any) -> Step:
    """Skip-gram of 10,000 words and 128 numbers, 64 negatives, batch 128, and the norms of all words; SGD."""
    words, size = 10_000, 128
    inputs, labels = tf.placeholder(tf.int32, [128]), tf.placeholder(tf.int32, [128, 1])
    embeddings = tf.Variable(tf.random_uniform([words, size], -1.0, 1.0))
    weights = tf.Variable(tf.truncated_normal([words, size], stddev=1.0 / np.sqrt(size)))
    loss = tf.reduce_mean(
        tf.nn.nce_loss(
            weights=weights,
            biases=tf.Variable(tf.zeros([words])),
            labels=labels,
            inputs=tf.nn.embedding_lookup(embeddings, inputs),
            num_sampled=64,
            num_classes=words,
        )
    )
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    rng, session = _rng(), _session(tf)

    def step() -> Any:
        feeds = {inputs: rng.zipf(1.3, 128) % words, labels: rng.zipf(1.3, (128, 1)) % words}
        return session.run([train, loss], feed_dict=feeds)

    return step


@network
def seq2seq(tf: Any) -> Step:
    """An LSTM that reads 15 words and one that writes 15, each a `dynamic_rnn`; batch 64, Adam, clipped."""
    words, units = 500, 128
    source, given, wanted = (tf.placeholder(tf.int32, [None, None]) for _ in range(3))
    lengths = tf.placeholder(tf.int32, [None])
    embeddings = tf.Variable(tf.random_uniform([words, 64], -1.0, 1.0))

    def read(ids: Any, scope: str, **options: Any) -> Any:
        embedded = tf.nn.embedding_lookup(embeddings, ids)
        cell = tf.nn.rnn_cell.LSTMCell(units)
        return tf.nn.dynamic_rnn(cell, embedded, dtype=tf.float32, scope=scope, **options)

    _, state = read(source, "encoder", sequence_length=lengths)
    outputs, _ = read(given, "decoder", initial_state=state)
    logits = tf.layers.dense(outputs, words)
    losses = tf.nn.softmax_cross_entropy_with_logits(
        labels=tf.one_hot(wanted, depth=words, dtype=tf.float32), logits=logits
    )
    loss = tf.reduce_mean(losses)
    optimizer, variables = tf.train.AdamOptimizer(), tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    train = optimizer.apply_gradients([(gradients[i], v) for i, v in enumerate(variables)])
    rng, session = _rng(), _session(tf)

    def step() -> Any:
        feeds = {ids: rng.integers(0, words, (64, 15)) for ids in (source, given, wanted)}
        return session.run([train, loss], {**feeds, lengths: rng.integers(5, 16, 64)})

    return step


@network
def char_rnn(tf: Any) -> Step:
    """Two LSTMs of 128 units, unrolled over 25 of 65 characters, the state fed back in; batch 50, Adam, clipped."""
    characters, units, layers, length, batch = 65, 128, 2, 25, 50
    x, y = (tf.placeholder(tf.int32, [batch, length]) for _ in range(2))
    cells = [tf.nn.rnn_cell.LSTMCell(units, name=f"cell{i}") for i in range(layers)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    initial = state = cell.zero_state(batch, tf.float32)
    embedded = tf.nn.embedding_lookup(tf.get_variable("embedding", [characters, units]), x)
    inputs = [tf.squeeze(part, [1]) for part in tf.split(embedded, length, 1)]
    outputs, state = tf.nn.static_rnn(cell, inputs, initial_state=initial)
    flat = tf.reshape(tf.concat(outputs, 1), [-1, units])
    logits = tf.matmul(flat, tf.get_variable("w", [units, characters])) + tf.get_variable(
        "b", [characters]
    )
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(y, [-1]), logits=logits
    )
    loss, rate = tf.reduce_sum(losses) / batch / length, tf.Variable(0.002, trainable=False)
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    pairs = [(gradients[i], v) for i, v in enumerate(variables)]
    train = tf.train.AdamOptimizer(rate).apply_gradients(pairs)
    rng, session = _rng(), _session(tf)
    kept = session.run(initial)

    def step() -> Any:
        nonlocal kept
        feeds = {ids: rng.integers(0, characters, (batch, length)) for ids in (x, y)}
        for i, (c, h) in enumerate(initial):
            feeds[c], feeds[h] = kept[i]
        loss_value, kept, _ = session.run([loss, state, train], feeds)
        return loss_value

    return step


@network
def gcn(tf: Any) -> Step:
    """Kipf and Welling's on a graph of the size of Cora: 2,708 papers of 1,433 words, 16 hidden units; Adam."""
    nodes, words = 2708, 1433
    rng = _rng()
    features = (rng.random((nodes, words)) < 0.013).astype(np.float32)
    links = np.unique(
        np.concatenate([rng.integers(0, nodes, (10_500, 2)), np.c_[:nodes, :nodes]]), axis=0
    )
    x, y = tf.placeholder(tf.float32, [nodes, words]), tf.placeholder(tf.float32, [nodes, 7])
    mask, keep = tf.placeholder(tf.float32, [nodes]), tf.placeholder_with_default(1.0, ())
    adjacency = tf.sparse_placeholder(tf.float32)
    weights = [tf.get_variable(f"w{i}", size) for i, size in enumerate(((words, 16), (16, 7)))]
    h = tf.matmul(tf.nn.dropout(x, keep_prob=keep), weights[0])
    h = tf.nn.dropout(tf.nn.relu(tf.sparse_tensor_dense_matmul(adjacency, h)), keep_prob=keep)
    logits = tf.sparse_tensor_dense_matmul(adjacency, tf.matmul(h, weights[1]))
    losses = tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(losses * mask / tf.reduce_mean(mask)) + 5e-4 * tf.nn.l2_loss(weights[0])
    hits = tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32)
    accuracy = tf.reduce_mean(hits * mask / tf.reduce_mean(mask))
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    links = links[np.lexsort((links[:, 1], links[:, 0]))].astype(np.int64)
    matrix = links, np.full(len(links), 0.2, np.float32), (nodes, nodes)
    classes = np.eye(7, dtype=np.float32)[rng.integers(0, 7, nodes)]
    feeds = {x: features, y: classes, mask: (rng.random(nodes) < 0.05), adjacency: matrix}
    session = _session(tf)

    def step() -> Any:
        session.run([train, loss, accuracy], {**feeds, keep: 0.5})
        return session.run([loss, accuracy], feeds)

    return step


@network
def resnet_by_hand(tf: Any) -> Step:
    """Ten residual layers with batch normalization by moments and moving averages; 32 x 32, batch 32, momentum."""
    images, labels = tf.placeholder(tf.float32, [None, 32, 32, 3]), tf.placeholder(tf.int32, [None])
    training = tf.placeholder(tf.bool)
    counter = iter(range(100))

    def normalized(x: Any) -> Any:
        size = x.get_shape().as_list()[-1]
        with tf.variable_scope(f"norm{next(counter)}"):
            beta = tf.get_variable("beta", [size], initializer=tf.zeros_initializer())
            gamma = tf.get_variable("gamma", [size], initializer=tf.ones_initializer())
            mean, variance = tf.nn.moments(x, [0, 1, 2], name="moments")
            average = tf.train.ExponentialMovingAverage(decay=0.9)

            def updated() -> Any:
                with tf.control_dependencies([average.apply([mean, variance])]):
                    return tf.identity(mean), tf.identity(variance)

            mean, variance = tf.cond(
                training, updated, lambda: (average.average(mean), average.average(variance))
            )
            return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)

    def convolved(x: Any, size: int, stride: int = 1, width: int = 3) -> Any:
        shape = [width, width, x.get_shape().as_list()[-1], size]
        filters = tf.get_variable(f"conv{next(counter)}", shape)
        return tf.nn.conv2d(x, filters, [1, stride, stride, 1], padding="SAME")

    x = tf.nn.relu(normalized(convolved(images, 16)))
    for size, stride in ((16, 1), (32, 2), (64, 2)):
        y = tf.nn.relu(normalized(convolved(x, size, stride)))
        y = normalized(convolved(y, size))
        x = tf.nn.relu((convolved(x, size, stride, 1) if stride > 1 else x) + y)
    logits = tf.matmul(tf.reduce_mean(x, [1, 2]), _glorot(tf, 64, 10))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    rng, session = _rng(), _session(tf)
    data, classes = rng.standard_normal((320, 32, 32, 3), np.float32), rng.integers(0, 10, 320)

    def step() -> Any:
        rows = rng.integers(0, 320, 32)
        feeds = {images: data[rows], labels: classes[rows], training: True}
        return session.run([train, loss], feed_dict=feeds)

    return step
