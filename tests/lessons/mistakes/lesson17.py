"""Wrong answers to the exercises of lesson 17."""

MISTAKES = {
    "ex1": [
        "def build():\n    return tf.reduce_sum(tf.Variable(tf.ones([3])))",
        "def build():\n    with tf.device('/job:worker/task:1'):\n"
        "        return tf.reduce_sum(tf.Variable(tf.ones([3])))",
    ],
    "ex2": ["loss_and_count = (0.1, 600)", "loss_and_count = 0.1"],
    "ex3": ["error = 'task 7'", "error = ValueError('task:7')"],
}
