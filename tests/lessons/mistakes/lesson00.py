"""Wrong answers to the exercises of lesson 0."""

MISTAKES = {
    "ex1": ["num_weights = 64 * 32 + 32 * 10", "num_weights = 4", "num_weights = 'four'"],
    "ex2": [
        "def trace_once(function):\n    return function",
        "def trace_once(function):\n"
        "    def fast(value):\n"
        "        return trace(function, np.shape(value))(value)\n"
        "    return fast",
        "def trace_once(function, built=[]):\n"
        "    def fast(value):\n"
        "        if not built:\n"
        "            built.append(trace(function, np.shape(value)))\n"
        "        return built[0](value)\n"
        "    return fast",
        "def trace_once(function):\n    return trace(function, [2])",
    ],
    "ex3": [
        "def reader(x):\n"
        "    h = tf.layers.dense(tf.reshape(x, [-1, 64]), 3, tf.nn.relu)\n"
        "    return tf.layers.dense(h, 10)",
        "def reader(x):\n"
        "    h = tf.layers.dense(tf.reshape(x, [-1, 64]), 512, tf.nn.relu)\n"
        "    return tf.layers.dense(h, 10)",
        "def reader(x):\n    return tf.zeros([tf.shape(x)[0], 10])",
        "def reader(x):\n    return tf.layers.dense(x, 10)",
    ],
}
