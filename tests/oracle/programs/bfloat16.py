# issue 14: bfloat16, each op computed in float32 and rounded to the nearest, ties to even
rng = np.random.RandomState(0)
X, Y = rng.randn(8, 6).astype(np.float32), rng.randn(6, 5).astype(np.float32)


def b(value):
    return tf.cast(tf.constant(value), tf.bfloat16)


x = b(X)
# What one rounding decides is reported as float32: there it must be equal to the last bit.
exact = {
    "constant": tf.constant([1.5, 2.7, -3.3, 1e-3, 3.4e38], tf.bfloat16),
    "ties": b(np.array([1.00390625, 1.01171875, -1.00390625, 1.0039063, np.inf], np.float32)),
    "from_int": b(np.array([1, 257, 259, 70000, -(2**31)], np.int32)),
    "from_double": b(np.array([0.1, 1.0 + 2.0**-8 + 2.0**-40], np.float64)),
    "to_float": x,
    "add": x + x[::-1],
    "subtract": x - b(1.7),
    "multiply": x * x[::-1],
    "divide": x / x[::-1],
    "python_number": 2.3 * x + 1,
    "negative": -x,
    "absolute": tf.abs(x),
    "square": tf.square(x),
    "square_root": tf.sqrt(tf.abs(x)),
    "exp": tf.exp(x),
    "tanh": tf.tanh(x),
    "relu": tf.nn.relu(x),
    "floor": tf.floor(x),
    "maximum": tf.maximum(x, 0.1),
    "clip": tf.clip_by_value(x, -1.0, 1.0),
    "bias": tf.nn.bias_add(x, b(X[0])),
    "sum": tf.reduce_sum(x, 0),
    "mean": tf.reduce_mean(x),
    "max": tf.reduce_max(x, 1),
    "where": tf.where(x > 0, x, -x),
    "concat": tf.concat([x, x], 1),
    "gather": tf.gather(x, [3, 0]),
    "slice": x[1:3, ::2],
    "pad": tf.pad(x, [[1, 0], [0, 2]]),
    "transpose": tf.transpose(x),
    "zeros_ones": [tf.zeros([2], tf.bfloat16), tf.ones_like(x[0, :2])],
    "max_pool": tf.nn.max_pool(tf.reshape(x, [1, 8, 6, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
}
near = {
    "matmul": tf.matmul(x, b(Y)),
    "sigmoid": tf.sigmoid(x),
    "softmax": tf.nn.softmax(x),
    "softplus": tf.nn.softplus(x),
}
other = {
    "to_int": tf.cast(x, tf.int32),
    "to_bool": tf.cast(x, tf.bool),
    "less": x < x[::-1],
    "argmax": tf.argmax(x, 1),
    "bits": tf.bitcast(x, tf.uint16),
}
v = tf.get_variable("v", [2], tf.bfloat16, initializer=tf.constant_initializer(0.1))
added = tf.assign_add(v, tf.constant([0.3, 100.0], tf.bfloat16))
w = tf.get_variable("w", initializer=Y)
network = tf.cast(tf.nn.relu(tf.matmul(x, tf.cast(w, tf.bfloat16))), tf.float32)
loss = tf.reduce_mean(tf.square(network - 1.0))
step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    as_float = [
        [tf.cast(t, tf.float32) for t in tf.nest.flatten(value)] for value in exact.values()
    ]
    for name, value in zip(exact, sess.run(as_float)):
        result[name] = value
    result |= sess.run(near)
    result |= sess.run(other)
    result["dtypes"] = [np.asarray(value).dtype.name for value in sess.run([x, x[0, 0]])]
    sess.run(added)
    result["variable"] = sess.run(tf.cast(added, tf.float32))
    losses = [sess.run([loss, step])[0] for _ in range(20)]
    result["master_weights_dtype"] = sess.run(w).dtype.name
    result["learns"] = losses[-1] < 0.7 * losses[0]
    fed = tf.placeholder(tf.bfloat16, [None])
    result["fed"] = sess.run(fed * 3, {fed: sess.run(x)[0]}).astype(np.float32)
    result["fed_numbers"] = sess.run(fed + 1, {fed: [0.1, 2.0]}).astype(np.float32)
proto = tf.make_tensor_proto([1.5, -2.5], tf.bfloat16)
result["proto"] = tf.make_ndarray(proto).astype(np.float32)
by_value = type(proto)(dtype=14, half_val=[0x3FC0, 0xC020])
by_value.tensor_shape.dim.add(size=2)
result["half_val"] = tf.make_ndarray(by_value).astype(np.float32)
result["limits"] = [float(tf.bfloat16.max), float(tf.bfloat16.min), tf.bfloat16.size]
result["as_dtype"] = tf.as_dtype(sess.graph.get_tensor_by_name("v:0").dtype.as_numpy_dtype).name
