"""Wrong answers to the exercises of lesson 12."""

MISTAKES = {
    "ex1": [
        "def leaky(x):\n    return tf.reduce_sum(x, axis=1)",
        "def leaky(x):\n"
        "    h = tf.zeros_like(x[:, 0])\n"
        "    for element in tf.unstack(x, axis=1):\n"
        "        h = 0.5 * (h + element)\n"
        "    return h",
        "def leaky(x):\n"
        "    h = tf.zeros_like(x[0])\n"
        "    for element in tf.unstack(x[:3], 3, axis=0):\n"
        "        h = 0.5 * h + element\n"
        "    return h",
    ],
    "ex2": [
        "def bias_for(share, num_steps):\n    return np.log(share / (1 - share))",
        "def bias_for(share, num_steps):\n    return share ** (1 / num_steps)",
        "def bias_for(share, num_steps):\n    return 3.0",
    ],
    "ex3": [
        "def clipped(gradients, limit):\n"
        "    return [tf.clip_by_value(g, -limit, limit) for g in gradients]",
        "def clipped(gradients, limit):\n    return [tf.clip_by_norm(g, limit) for g in gradients]",
        "def clipped(gradients, limit):\n"
        "    length = tf.sqrt(tf.add_n([tf.reduce_sum(tf.square(g)) for g in gradients]))\n"
        "    return [g * limit / length for g in gradients]",
    ],
    "ex4": [
        "def step(state, x):\n    return 0.9 * state + x",
        "def step(state, x):\n    return state + x",
        "step = 2",
    ],
}
