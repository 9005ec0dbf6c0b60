"""Wrong answers to the exercises of lesson 17."""

MISTAKES = {
    "ex1": [
        "def build():\n    return tf.reduce_sum(tf.Variable(tf.ones([3])))",
        "def build():\n    with tf.device('/job:worker/task:1'):\n"
        "        return tf.reduce_sum(tf.Variable(tf.ones([3])))",
    ],
    "ex2": ["loss_and_count = (0.1, 600)", "loss_and_count = 0.1"],
    "ex3": ["error = 'task 7'", "error = ValueError('task:7')"],
    "ex4": [
        "def squares():\n    with tf.device('/job:worker/task:0'):\n        n = tf.range(1000)\n        return tf.reduce_sum(n * n)",
        "def squares():\n    parts = []\n    for i in range(2):\n        with tf.device(f'/job:worker/task:{i}'):\n            n = tf.range(500 * i, 500 * i + 500)\n            parts.append(n * n)\n    with tf.device('/job:ps/task:0'):\n        return tf.reduce_sum(tf.stack(parts))",
    ],
}
