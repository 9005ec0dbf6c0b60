"""Models of a course beyond `workloads`' networks: decoders, wide-and-deep, a graph auto-encoder, an RBM.

As there, each ``model(tf)`` builds its graph and returns a function that does one step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the peer's Python may be that of TensorFlow 1.15
    from collections.abc import Callable

    Step = Callable[[], Any]
MODELS: dict[str, Callable[[Any], Step]] = {}
#: What each model is to take, of TensorFlow's time.
GOAL = 0.9


def model(function: Callable[[Any], Step]) -> Callable[[Any], Step]:
    """Registers a model under its function's name."""
    MODELS[function.__name__] = function
    return function


def _session(tf: Any) -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def _weights(tf: Any, *shape: int) -> Any:
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1, seed=1))


@model
def attention_decoder(tf: Any) -> Step:
    """A GRU encoder of 20 words, and a decoder with Bahdanau's attention in a `dynamic_rnn`; Adam."""
    words, units, batch, length = 500, 64, 32, 20
    x = tf.placeholder(tf.int32, [None, None])
    y_ = tf.placeholder(tf.int32, [None, None])
    embeddings = _weights(tf, words, units)
    encoder = tf.nn.rnn_cell.GRUCell(units)
    memory, state = tf.nn.dynamic_rnn(
        encoder, tf.nn.embedding_lookup(embeddings, x), dtype=tf.float32, scope="encoder"
    )
    flat = tf.reshape(memory, [-1, units])
    keys = tf.reshape(tf.matmul(flat, _weights(tf, units, units)), tf.shape(memory))
    query_weights, v = _weights(tf, units, units), _weights(tf, units)
    cell = tf.nn.rnn_cell.GRUCell(units)

    class Attention(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc,name-defined]
        state_size = (units, units)
        output_size = units

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            hidden, context = state
            output, hidden = cell(tf.concat([inputs, context], 1), hidden)
            query = tf.expand_dims(tf.matmul(output, query_weights), 1)
            scores = tf.reduce_sum(v * tf.tanh(keys + query), [2])
            alignments = tf.expand_dims(tf.nn.softmax(scores), 2)
            context = tf.reduce_sum(alignments * memory, [1])
            return output + context, (hidden, context)

    given = tf.concat([tf.zeros_like(y_[:, :1]), y_[:, :-1]], 1)
    outputs, _ = tf.nn.dynamic_rnn(
        Attention(),
        tf.nn.embedding_lookup(embeddings, given),
        initial_state=(state, tf.zeros_like(state)),
        scope="decoder",
    )
    logits = tf.matmul(tf.reshape(outputs, [-1, units]), _weights(tf, units, words))
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(y_, [-1]), logits=logits)
    )
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    session = _session(tf)
    rng = np.random.default_rng(0)
    feeds = {p: rng.integers(0, words, (batch, length)).astype(np.int32) for p in (x, y_)}
    return lambda: session.run([train, loss], feeds)


@model
def raw_rnn_decoder(tf: Any) -> Step:
    """A decoder of `raw_rnn` that is fed its own best words; 20 steps, batch 32, Adam."""
    words, units, batch, length = 200, 64, 32, 20
    x = tf.placeholder(tf.float32, [batch, units])
    y_ = tf.placeholder(tf.int32, [length, batch])
    embeddings, weights = _weights(tf, words, units), _weights(tf, units, words)
    biases = tf.Variable(tf.zeros([words]))
    cell = tf.nn.rnn_cell.LSTMCell(units)
    lengths = tf.fill([batch], length)

    def following(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        finished = time >= lengths
        if output is None:
            first = tf.nn.embedding_lookup(embeddings, tf.zeros([batch], tf.int32))
            return finished, first, tf.nn.rnn_cell.LSTMStateTuple(x, x), None, None
        logits = tf.matmul(output, weights) + biases
        best = tf.argmax(logits, 1)
        padded = tf.cond(
            tf.reduce_all(finished),
            lambda: tf.zeros([batch, units]),
            lambda: tf.nn.embedding_lookup(embeddings, best),
        )
        return finished, padded, state, output, None

    outputs, _, _ = tf.nn.raw_rnn(cell, following)
    flat = tf.reshape(outputs.stack(), [-1, units])
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(y_, [-1]), logits=tf.matmul(flat, weights) + biases
        )
    )
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    session = _session(tf)
    rng = np.random.default_rng(0)
    feeds = {
        x: rng.standard_normal((batch, units)).astype(np.float32),
        y_: rng.integers(0, words, (length, batch)).astype(np.int32),
    }
    return lambda: session.run([train, loss], feeds)


@model
def wide_and_deep(tf: Any) -> Step:
    """Feature columns as the census tutorial's: a linear part with crosses, a network; batch 128."""
    F, batch = tf.feature_column, 128
    rng = np.random.default_rng(0)
    vocabularies = {f"word{i}": [f"w{j}" for j in range(5 + 3 * i)] for i in range(6)}
    numbers = [f"number{i}" for i in range(5)]
    data = {n: rng.integers(0, 100, batch).astype(np.float32) for n in numbers}
    data.update({n: rng.choice(v, batch).astype(object) for n, v in vocabularies.items()})
    inputs = {
        n: tf.placeholder(tf.string if n in vocabularies else tf.float32, [None]) for n in data
    }
    columns = {n: F.categorical_column_with_vocabulary_list(n, v) for n, v in vocabularies.items()}
    buckets = F.bucketized_column(F.numeric_column("number0"), [18, 25, 30, 40, 50, 65])
    wide = [*columns.values(), buckets]
    wide += [F.crossed_column(["word1", "word2"], 1000)]
    wide += [F.crossed_column([buckets, "word1", "word2"], 1000)]
    deep = [F.numeric_column(n) for n in numbers] + [F.indicator_column(buckets)]
    deep += [F.embedding_column(column, 4) for column in columns.values()]
    y_ = tf.placeholder(tf.float32, [None, 1])
    with tf.variable_scope("linear"):
        logits = F.linear_model({n: tf.expand_dims(t, 1) for n, t in inputs.items()}, wide)
    with tf.variable_scope("deep"):
        h = F.input_layer({n: tf.expand_dims(t, 1) for n, t in inputs.items()}, deep)
        for size_in, size in ((36, 64), (64, 32)):
            h = tf.nn.relu(
                tf.matmul(h, _weights(tf, size_in, size)) + tf.Variable(tf.zeros([size]))
            )
        logits += tf.matmul(h, _weights(tf, 32, 1)) + tf.Variable(tf.zeros([1]))
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=y_, logits=logits)
    loss = tf.reduce_mean(losses)
    linear = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "linear")
    others = [v for v in tf.trainable_variables() if v not in linear]
    train = tf.group(
        tf.train.FtrlOptimizer(0.05, l1_regularization_strength=0.1).minimize(loss, None, linear),
        tf.train.AdagradOptimizer(0.05).minimize(loss, None, others),
    )
    session = _session(tf)
    session.run(tf.tables_initializer())
    feeds = {inputs[n]: values for n, values in data.items()}
    feeds[y_] = rng.integers(0, 2, (batch, 1)).astype(np.float32)
    return lambda: session.run([train, loss], feeds)


@model
def graph_auto_encoder(tf: Any) -> Step:
    """Kipf and Welling's: two convolutions on a sparse graph of 1,000 nodes, all pairs decoded."""
    nodes, features, edges = 1000, 500, 4000
    rng = np.random.default_rng(0)
    flat = np.unique(rng.integers(0, nodes * nodes, edges))
    indices = np.stack([flat // nodes, flat % nodes], 1)
    adjacency = tf.sparse_placeholder(tf.float32)
    words = tf.sparse_placeholder(tf.float32)
    labels = tf.placeholder(tf.float32, [nodes * nodes])
    first = tf.sparse_tensor_dense_matmul(words, _weights(tf, features, 32))
    hidden = tf.nn.relu(tf.sparse_tensor_dense_matmul(adjacency, first))
    code = tf.sparse_tensor_dense_matmul(adjacency, tf.matmul(hidden, _weights(tf, 32, 16)))
    pairs = tf.reshape(tf.matmul(code, code, transpose_b=True), [-1])
    losses = tf.nn.weighted_cross_entropy_with_logits(labels, pairs, pos_weight=200.0)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    session = _session(tf)
    ones = np.unique(rng.integers(0, nodes * features, 9 * nodes))
    has_words = np.stack([ones // features, ones % features], 1)
    dense = np.zeros(nodes * nodes, np.float32)
    dense[flat] = 1.0
    feeds = {
        adjacency: (indices, np.full(len(flat), 0.2, np.float32), (nodes, nodes)),
        words: (has_words, np.ones(len(ones), np.float32), (nodes, features)),
        labels: dense,
    }
    return lambda: session.run([train, loss], feeds)


@model
def rbm(tf: Any) -> Step:
    """A restricted Boltzmann machine of 784 and 500 units, contrastive divergence, batch 100."""
    x = tf.placeholder(tf.float32, [None, 784])
    W, a, b = _weights(tf, 784, 500), tf.Variable(tf.zeros([784])), tf.Variable(tf.zeros([500]))

    def draw(p: Any) -> Any:
        return tf.nn.relu(tf.sign(p - tf.random_uniform(tf.shape(p))))

    h0 = tf.nn.sigmoid(tf.matmul(x, W) + b)
    v1 = draw(tf.nn.sigmoid(tf.matmul(draw(h0), W, transpose_b=True) + a))
    h1 = tf.nn.sigmoid(tf.matmul(v1, W) + b)
    up, down = tf.matmul(x, h0, transpose_a=True), tf.matmul(v1, h1, transpose_a=True)
    train = tf.group(
        W.assign_add(0.001 * (up - down)),
        a.assign_add(0.1 * tf.reduce_mean(x - v1, 0)),
        b.assign_add(0.1 * tf.reduce_mean(h0 - h1, 0)),
    )
    error = tf.reduce_mean(tf.square(x - v1))
    session = _session(tf)
    images = np.random.default_rng(0).random((100, 784), dtype=np.float32)
    return lambda: session.run([train, error], {x: images})
