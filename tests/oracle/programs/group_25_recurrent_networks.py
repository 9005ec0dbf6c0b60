# issue 16: recurrent networks
"""Group 25: dynamic and static recurrent networks."""

cells = tf.nn.rnn_cell
x = tf.ones([2, 3, 4])
result["scalar_length"] = error_of(
    lambda: tf.nn.dynamic_rnn(cells.BasicRNNCell(2), x, sequence_length=4, dtype=tf.float32)
)
result["matrix_length"] = error_of(
    lambda: tf.nn.dynamic_rnn(cells.BasicRNNCell(2), x, sequence_length=[[4, 3]], dtype=tf.float32)
)
result["static_scalar"] = error_of(
    lambda: tf.nn.static_rnn(
        cells.BasicRNNCell(2), [tf.ones([2, 3])], sequence_length=4, dtype=tf.float32
    )
)
result["static_matrix"] = error_of(
    lambda: tf.nn.static_rnn(
        cells.BasicRNNCell(2), [tf.ones([2, 3])], sequence_length=[[4]], dtype=tf.float32
    )
)
result["empty"] = error_of(lambda: tf.nn.static_rnn(cells.BasicRNNCell(2), [], dtype=tf.float32))
result["no_dtype"] = error_of(lambda: tf.nn.dynamic_rnn(cells.BasicRNNCell(2), x))
result["unknown_depth"] = error_of(
    lambda: tf.nn.dynamic_rnn(
        cells.BasicRNNCell(2), tf.placeholder(tf.float32, [None, None, None]), dtype=tf.float32
    )
)
result["no_cell"] = error_of(lambda: tf.nn.dynamic_rnn(3, x, dtype=tf.float32))


class TensorArrayCell(tf.nn.rnn_cell.RNNCell):
    @property
    def output_size(self):
        return 1

    @property
    def state_size(self):
        return (tf.TensorShape([]), ())

    def zero_state(self, batch_size, dtype):
        return (tf.zeros([], tf.int32), tf.TensorArray(dtype=dtype, size=0, dynamic_size=True))

    def __call__(self, input_, state, scope=None):
        new = (state[0] + 1, state[1].write(state[0], input_))
        return input_, new


cell = TensorArrayCell()
inputs = tf.constant(np.array([[[1], [2], [3], [4]]], np.float32))
out, state = tf.nn.dynamic_rnn(
    cell,
    inputs,
    initial_state=cell.zero_state(1, tf.float32),
    dtype=tf.float32,
    sequence_length=[4],
)
with tf.Session() as sess:
    result["array_state"] = sess.run([out, state[0], state[1].stack()])
cell = TensorArrayCell()
out, state = tf.nn.dynamic_rnn(
    cell, inputs, initial_state=cell.zero_state(1, tf.float32), dtype=tf.float32
)
with tf.Session() as sess:
    result["array_state2"] = sess.run([out, state[0], state[1].stack()])


def loop_fn(time, cell_output, cell_state, loop_state):
    emit = cell_output
    if cell_output is None:
        ls = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
        st = tf.zeros([2, 2])
    else:
        ls = loop_state.write(time - 1, cell_output)
        st = cell_state
    return time >= 3, tf.ones([2, 2]), st, emit, ls


_, _, ls = tf.nn.raw_rnn(cells.BasicRNNCell(2), loop_fn)
result["raw_state"] = shape_of(ls.stack())
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["raw"] = list(sess.run(ls.stack()).shape)

lengths = tf.placeholder(tf.int32, [None])
steps = tf.placeholder(tf.float32, [None, None, 4])
constant = tf.constant_initializer(0.1)
kinds = {
    "rnn": cells.BasicRNNCell(2, name="k0"),
    "gru": cells.GRUCell(2, name="k1", kernel_initializer=constant),
    "lstm": cells.LSTMCell(2, name="k2", initializer=constant, use_peepholes=True),
    "projected": cells.LSTMCell(3, name="k3", initializer=constant, num_proj=2, cell_clip=0.5),
    "many": cells.MultiRNNCell([cells.GRUCell(2, name="k4"), cells.BasicLSTMCell(3, name="k5")]),
}
for name, cell in kinds.items():
    with tf.variable_scope(name, initializer=constant):
        out, state = tf.nn.dynamic_rnn(cell, steps, sequence_length=lengths, dtype=tf.float32)
        both, states = tf.nn.bidirectional_dynamic_rnn(
            cells.GRUCell(2), cells.GRUCell(2), steps, lengths, dtype=tf.float32
        )
    loss = tf.reduce_sum(tf.square(out)) + tf.reduce_sum(both[1])
    grads = tf.gradients(loss, tf.trainable_variables(name + "/"))
    result[f"{name} unused"] = [g is None for g in grads]
    grads = [g for g in grads if g is not None]
    result[f"{name} shapes"] = [shape_of(t) for t in tf.nest.flatten((out, state, both))]
    result[f"{name} names"] = [v.name for v in tf.trainable_variables(name + "/")]
    fed = {steps: np.linspace(-1, 1, 24).reshape(2, 3, 4), lengths: [2, 3]}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for run in range(2):
            found = sess.run(tf.nest.flatten((out, state, both, states)), fed)
            result[f"{name} {run}"] = found
            fed = {steps: np.ones([1, 2, 4]), lengths: [0]}
        fed = {steps: np.linspace(-1, 1, 24).reshape(2, 3, 4), lengths: [2, 3]}
        result[f"{name} grads"] = sess.run(grads, fed)
        result[f"{name} too long"] = error_of(
            lambda: sess.run(out, {steps: np.ones([1, 2, 4]), lengths: [1, 2]})
        )
with tf.variable_scope("major", initializer=constant):
    out, state = tf.nn.dynamic_rnn(
        cells.GRUCell(2), tf.transpose(steps, [1, 0, 2]), time_major=True, dtype=tf.float32
    )
    result["major"] = shape_of(out)
with tf.variable_scope("static", initializer=constant):
    parts = tf.unstack(tf.constant(np.linspace(-1, 1, 24).reshape(2, 3, 4), tf.float32), axis=1)
    outs, state = tf.nn.static_rnn(
        cells.BasicLSTMCell(2), parts, dtype=tf.float32, sequence_length=[1, 3]
    )
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        result["static"] = sess.run([*outs, *state])
result["half"] = error_of(
    lambda: tf.nn.dynamic_rnn(
        cells.GRUCell(2, name="h"), tf.ones([2, 3, 4], tf.float16), dtype=tf.float16
    )
)
result["wrong_state"] = error_of(
    lambda: tf.nn.dynamic_rnn(cells.LSTMCell(2, name="w"), x, initial_state=tf.zeros([2, 2]))
)
result["float_lengths"] = error_of(
    lambda: tf.nn.dynamic_rnn(
        cells.GRUCell(2, name="f"), x, sequence_length=tf.constant([1.0, 2.0]), dtype=tf.float32
    )
)

# cells of Keras in the loops, what cells refuse, and the states that they begin with
x = tf.placeholder(tf.float32, [None, 3, 2], name="for_keras")
sequences = np.arange(12.0).reshape(2, 3, 2) / 10
ones = tf.keras.initializers.Constant(0.1)
keras_cells = {
    "simple": tf.keras.layers.SimpleRNNCell(4, kernel_initializer=ones, recurrent_initializer=ones),
    "lstm": tf.keras.layers.LSTMCell(4, kernel_initializer=ones, recurrent_initializer=ones),
}
for name, cell in keras_cells.items():
    outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=[2, 3], dtype=tf.float32)
    steps, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values = sess.run([outputs, state, steps], {x: sequences})
    result[f"keras_{name}"] = [np.asarray(v) for v in tf.nest.flatten(values)]
    result[f"keras_{name}_shapes"] = [shape_of(outputs), len(cell.weights), len(steps)]
stack = tf.keras.layers.StackedRNNCells([tf.keras.layers.LSTMCell(3), tf.keras.layers.LSTMCell(4)])
outputs, state = tf.nn.dynamic_rnn(stack, x, dtype=tf.float32)
result["keras_stack"] = [shape_of(outputs), len(state)]
tall = tf.nn.rnn_cell
numbers = tf.placeholder(tf.int32, [3, 4, 5])
for made in (tall.BasicRNNCell, tall.GRUCell, tall.BasicLSTMCell, tall.LSTMCell):
    result[f"integers {made.__name__}"] = error_of(
        lambda: tf.nn.dynamic_rnn(made(2, dtype=tf.int32), numbers, dtype=tf.int32)
    )
cell = tall.BasicRNNCell(5)
result["states"] = [
    error_of(lambda: cell.get_initial_state(None, None, None)),
    error_of(lambda: cell.get_initial_state(x, 50, None)),
    error_of(lambda: cell.get_initial_state(x, tf.constant(50), None)),
    error_of(lambda: cell.get_initial_state(x, None, tf.int16)),
    shape_of(cell.get_initial_state(x, None, None)),
    shape_of(cell.get_initial_state(None, tf.shape(x)[0], tf.float32)),
]
wrapped = tall.GRUCell(2)
result["wrappers"] = [
    error_of(lambda: tall.MultiRNNCell([tall.LSTMCell(2)], state_is_tuple=False)),
    error_of(
        lambda: tall.DropoutWrapper(wrapped, 0.5, variational_recurrent=True, dtype=tf.float32)
    ),
    error_of(
        lambda: tall.DropoutWrapper(
            wrapped, 0.5, variational_recurrent=True, dtype=tf.float32, input_size=3
        )
    ),
]
