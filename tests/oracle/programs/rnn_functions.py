# issue 5: static_rnn, dynamic_rnn, bidirectional, with lengths and gradients
# tolerance 1e-4
C = tf.nn.rnn_cell
data = np.sin(np.arange(2 * 4 * 3)).reshape(2, 4, 3).astype(np.float32)
x = tf.placeholder(tf.float32, [None, 4, 3])
lengths = tf.placeholder(tf.int32, [None])
with tf.variable_scope("all", initializer=tf.constant_initializer(0.2)):
    outputs, state = tf.nn.dynamic_rnn(C.BasicLSTMCell(5), x, dtype=tf.float32, scope="dynamic")
    short, short_state = tf.nn.dynamic_rnn(
        C.GRUCell(5), x, sequence_length=lengths, dtype=tf.float32, scope="short"
    )
    major, _ = tf.nn.dynamic_rnn(
        C.BasicRNNCell(5),
        tf.transpose(x, [1, 0, 2]),
        time_major=True,
        dtype=tf.float32,
        scope="major",
    )
    initial = C.GRUCell(5)
    given, _ = tf.nn.dynamic_rnn(
        initial, x, initial_state=tf.ones([tf.shape(x)[0], 5]), scope="given"
    )
    static, static_state = tf.nn.static_rnn(
        C.BasicRNNCell(5), tf.unstack(x, axis=1), dtype=tf.float32, scope="static"
    )
    static_short, _ = tf.nn.static_rnn(
        C.BasicLSTMCell(5),
        tf.unstack(x, axis=1),
        dtype=tf.float32,
        sequence_length=lengths,
        scope="static_short",
    )
    both, both_state = tf.nn.bidirectional_dynamic_rnn(
        C.GRUCell(4), C.GRUCell(4), x, sequence_length=lengths, dtype=tf.float32, scope="both"
    )
    both_static, _, _ = tf.nn.static_bidirectional_rnn(
        C.BasicRNNCell(4),
        C.BasicRNNCell(4),
        tf.unstack(x, axis=1),
        dtype=tf.float32,
        scope="both_static",
    )
    stacked, stacked_state = tf.nn.dynamic_rnn(
        C.MultiRNNCell([C.BasicLSTMCell(3), C.BasicLSTMCell(2)]),
        x,
        dtype=tf.float32,
        scope="stacked",
    )
result["variables"] = [(v.name, shape_of(v)) for v in tf.global_variables()]
result["static"] = [
    shape_of(t) for t in (outputs, state.h, short, major, static[0], both[0], stacked)
]
result["lengths"] = [len(static), len(both_static)]
loss = (
    tf.reduce_sum(tf.square(outputs))
    + tf.reduce_sum(tf.square(short))
    + tf.reduce_sum(tf.square(stacked))
    + tf.reduce_sum(tf.square(static[-1]))
    + tf.reduce_sum(both[0] * both[1])
    + tf.reduce_sum(static_short[2])
)
grads = tf.gradients(
    loss,
    [
        v
        for v in tf.trainable_variables()
        if "major" not in v.name and "given" not in v.name and "both_static" not in v.name
    ],
)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: data, lengths: [4, 2]}
    for name, value in {
        "dynamic": (outputs, state),
        "short": (short, short_state),
        "major": major,
        "given": given,
        "static": (static, static_state),
        "static_short": static_short,
        "both": (both, both_state),
        "both_static": both_static,
        "stacked": (stacked, stacked_state),
    }.items():
        result[name] = sess.run(value, feed)
    result["gradients"] = sess.run(grads, feed)
    result["losses"] = [sess.run([loss, train], feed)[0] for _ in range(3)]
result["no_dtype"] = error_of(lambda: tf.nn.dynamic_rnn(C.GRUCell(2), x, scope="no_dtype"))
result["rank"] = error_of(
    lambda: tf.nn.dynamic_rnn(C.GRUCell(2), x[0, 0], dtype=tf.float32, scope="rank")
)
result["not_cell"] = error_of(lambda: tf.nn.dynamic_rnn(3, x, dtype=tf.float32))
result["output_names"] = [outputs.name, short.name]
