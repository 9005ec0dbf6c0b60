"""Models that one engine trains and saves, and the other loads and trains on.

    python model_programs.py save|load tensorflow|dataflow FOLDER

``save`` trains each program four steps, writes a checkpoint ``NAME`` with its meta graph, and trains four
more; ``load`` imports the meta graph, restores the checkpoint, and trains four steps. Both print what
the last four gave. Written for every Python that has a TensorFlow.
"""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import numpy as np

BATCH = np.random.RandomState(0).randn(4, 5, 3).astype(np.float32)
LENGTHS, LABELS = [5, 3, 2, 4], [0, 1, 1, 0]


def sequences(tf):
    x = tf.placeholder(tf.float32, [None, 5, 3], name="x")
    return x, tf.placeholder_with_default(LENGTHS, [None], name="lengths")


def lstm(tf):
    x, lengths = sequences(tf)
    cell = tf.nn.rnn_cell.LSTMCell(6, use_peepholes=True)
    _, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    return tf.layers.dense(state.h, 2), tf.train.AdamOptimizer(0.05)


def bidirectional(tf):
    x, lengths = sequences(tf)
    cells = tf.nn.rnn_cell.BasicLSTMCell(4), tf.nn.rnn_cell.GRUCell(4)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(
        cells[0], cells[1], x, sequence_length=lengths, dtype=tf.float32
    )
    hidden = tf.reduce_mean(tf.concat(outputs, 2), 1)
    return tf.layers.dense(hidden, 2), tf.train.RMSPropOptimizer(0.01)


def raw_rnn(tf):
    x, lengths = sequences(tf)
    cell = tf.nn.rnn_cell.GRUCell(4)
    steps = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(x, [1, 0, 2]))

    def loop(time, output, state, _):
        state = cell.zero_state(tf.shape(x)[0], tf.float32) if output is None else state
        done = time >= lengths
        zeros = lambda: tf.zeros([tf.shape(x)[0], 3])
        given = tf.cond(tf.reduce_all(done), zeros, lambda: steps.read(time))
        given.set_shape([None, 3])
        return done, given, state, output, None

    outputs, _, _ = tf.nn.raw_rnn(cell, loop)
    return tf.layers.dense(tf.reduce_sum(outputs.stack(), 0), 2), tf.train.AdamOptimizer(0.05)


def decoder(tf):
    x, lengths = sequences(tf)
    encoder, cell = tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.GRUCell(4, name="decoder")
    _, state = tf.nn.dynamic_rnn(encoder, x, sequence_length=lengths, dtype=tf.float32)
    words, weights = tf.get_variable("words", [7, 4]), tf.get_variable("weights", [4, 7])

    def body(i, state, word, found):
        output, state = cell(tf.nn.embedding_lookup(words, word), state)
        scores = tf.matmul(output, weights)
        return i + 1, state, tf.cast(tf.argmax(scores, 1), tf.int32), found.write(i, scores)

    start = [0, state, tf.zeros([tf.shape(x)[0]], tf.int32), tf.TensorArray(tf.float32, 4)]
    found = tf.while_loop(lambda i, *_: i < 4, body, start)[3]
    return tf.layers.dense(tf.reduce_mean(found.stack(), 0), 2), tf.train.AdamOptimizer(0.05)


def loops(tf):
    """Gradients of map_fn, scan, a loop in a loop and a branch in one."""
    x, _ = sequences(tf)
    w = tf.get_variable("w", [3, 3])
    mapped = tf.map_fn(lambda row: tf.tanh(tf.matmul(row, w)), x)
    scanned = tf.scan(
        lambda a, row: tf.tanh(a + tf.matmul(row, w)), tf.transpose(mapped, [1, 0, 2])
    )

    def inner(_, y):
        return tf.cond(y[0, 0] > 0, lambda: tf.tanh(tf.matmul(y, w)), lambda: y * 0.5)

    def body(i, y):
        z = tf.while_loop(lambda j, _: j < 2, lambda j, z: (j + 1, inner(j, z)), [0, y])[1]
        return i + 1, z + y

    y = tf.while_loop(lambda i, _: i < 3, body, [0, scanned[-1]])[1]
    return tf.layers.dense(y, 2), tf.train.AdagradOptimizer(0.1)


def normalized(tf):
    """Batch normalization of a convolution, in training or not as a fed boolean says."""
    x, _ = sequences(tf)
    training = tf.placeholder_with_default(True, [], name="training")
    images = tf.reshape(x[:, :4], [-1, 2, 2, 3])
    hidden = tf.layers.conv2d(images, 4, 2, padding="same")
    hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, training=training))
    hidden = tf.layers.flatten(tf.layers.max_pooling2d(hidden, 2, 2))
    return tf.layers.dense(hidden, 2), tf.train.MomentumOptimizer(0.1, 0.9)


def transformed(tf):
    """Ops whose attributes 1.15 does not know all: spectra, segments, concatenated unknown sizes."""
    x, _ = sequences(tf)
    x = tf.concat([x, x[:2]], 0)[:4]
    spectrum = tf.abs(tf.signal.rfft(tf.transpose(x, [0, 2, 1]), [8]))
    rows = tf.sparse_segment_mean(
        tf.reshape(spectrum, [-1, 5]), list(range(12)), [0, 1, 2] + [3] * 9
    )
    return tf.layers.dense(rows, 2), tf.train.FtrlOptimizer(0.1)


def pipeline(tf):
    """An input pipeline in the graph."""
    labels = np.array(LABELS)
    data = tf.data.Dataset.from_tensor_slices((BATCH, labels)).repeat()
    data = data.map(lambda x, y: (x * 2.0, y), num_parallel_calls=2).batch(4).prefetch(1)
    iterator = data.make_initializable_iterator()
    tf.group(iterator.initializer, name="start")
    x, _ = iterator.get_next()
    return tf.layers.dense(tf.reshape(x, [-1, 15]), 2), tf.train.GradientDescentOptimizer(0.1)


PROGRAMS = [lstm, bidirectional, raw_rnn, decoder, loops, normalized, transformed, pipeline]


def train(session):
    feed = {}
    for name, value in (("x:0", BATCH), ("labels:0", np.array(LABELS))):
        try:
            feed[session.graph.get_tensor_by_name(name)] = value
        except KeyError:
            pass
    if "start" in [op.name for op in session.graph.get_operations()]:
        session.run("start")
    losses = []
    for _ in range(4):
        losses.append(float(session.run("loss:0", feed)))
        session.run("train", feed)
    return losses


def save(tf, program, prefix):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        logits, optimizer = program(tf)
        labels = tf.placeholder_with_default(np.array(LABELS), [None], name="labels")
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses, name="loss")
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            optimizer.minimize(loss, global_step=step, name="train")
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        train(session)
        saver.save(session, prefix)
        return train(session)


def load(tf, prefix):
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(prefix + ".meta")
        saver.restore(session, prefix)
        return train(session)


def main(what, engine, folder):
    from tests.oracle.run_program import load_engine

    tf = load_engine(engine)
    if engine == "dataflow":
        tf.config.experimental.set_checkpoint_format("tensorflow")
    found = {}
    for program in PROGRAMS:
        prefix = os.path.join(folder, program.__name__)
        try:
            found[program.__name__] = (
                save(tf, program, prefix) if what == "save" else load(tf, prefix)
            )
        except Exception as error:
            found[program.__name__] = f"{type(error).__name__}: {error}"[:1000]
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
