# issue 16: recurrent networks
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
