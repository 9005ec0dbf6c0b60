# issue 5: recurrent networks through tf.contrib.rnn, as most course code has it
# tolerance 1e-4
data = np.sin(np.arange(3 * 4 * 2)).reshape(3, 4, 2).astype(np.float32)
x = tf.placeholder(tf.float32, [None, 4, 2])
R = tf.contrib.rnn
with tf.variable_scope("net", initializer=tf.constant_initializer(0.3)):
    steps = tf.unstack(x, 4, 1)
    lstm = R.BasicLSTMCell(5, forget_bias=1.0)
    outputs, states = R.static_rnn(lstm, steps, dtype=tf.float32)
    stacked = R.MultiRNNCell([R.DropoutWrapper(R.GRUCell(n), output_keep_prob=1.0) for n in (3, 2)])
    deep, deep_state = tf.nn.dynamic_rnn(stacked, x, dtype=tf.float32, scope="deep")
    both, _, _ = R.static_bidirectional_rnn(
        R.BasicLSTMCell(2), R.BasicLSTMCell(2), steps, dtype=tf.float32, scope="both"
    )
    logits = tf.matmul(outputs[-1], tf.get_variable("out", [5, 2]))
loss = tf.reduce_mean(tf.square(logits))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
result["variables"] = [(v.name, shape_of(v)) for v in tf.trainable_variables()]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["values"] = sess.run([outputs, states, deep, deep_state, both], {x: data})
    result["losses"] = [sess.run([loss, train], {x: data})[0] for _ in range(4)]
