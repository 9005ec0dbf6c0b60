"""Wrong answers to the exercises of lesson 4."""

MISTAKES = {
    "ex1": [
        "with graph.as_default():\n    m4 = m3 * m3",
        "m4 = tf.zeros([4, 3])",
        "with graph.as_default():\n    m4 = m3 + 1.0",
        "m4 = both[0] + both[0]",
    ],
    "ex2": [
        "a = tf.Variable(tf.random_normal([3]))\nb = tf.Variable(a * 2.0)",
        "a = tf.Variable(tf.random_normal([3]))\nb = tf.Variable(tf.random_normal([3]))",
        "a = tf.Variable([1.0, 2.0, 3.0])\nb = tf.Variable([2.0, 4.0, 6.0])",
    ],
    "ex3": [
        "ticket = tf.constant(100)",
        "printed = tf.Variable(100)\nticket = printed.assign_add(1)",
        "printed = tf.Variable(99)\nticket = printed + 1",
    ],
    "ex4": [
        "def layer(x):\n    return tf.Variable(2.0) * x",
        "def layer(x):\n    return 2.0 * x",
        "def layer(x):\n"
        "    with tf.variable_scope('s', reuse=tf.AUTO_REUSE):\n"
        "        return tf.get_variable('w', initializer=3.0) * x",
    ],
    "ex5": [
        "state = tf.Variable(0)\ntick = state.assign_add(1)",
        "state = tf.Variable(0)\ntick = state.assign((state + 2) % 6)",
        "state = 0\ntick = 0",
    ],
}
