"""Wrong answers to the exercises of lesson 15."""

MISTAKES = {
    "ex1": [
        "def quick(x):\n"
        "    with tf.device('/gpu:0'):\n"
        "        first = tf.matmul(x, x)\n"
        "    with tf.device('/cpu:0'):\n"
        "        middle = tf.nn.relu(first)\n"
        "    with tf.device('/gpu:0'):\n"
        "        return tf.matmul(middle, middle)",
        "def quick(x):\n"
        "    with tf.device('/cpu:0'):\n"
        "        middle = tf.nn.relu(tf.matmul(x, x))\n"
        "        return tf.matmul(middle, middle)",
        "def quick(x):\n    return tf.matmul(tf.matmul(x, x), tf.matmul(x, x))",
    ],
    "ex2": [
        "def model():\n"
        "    with tf.device('/gpu:0'):\n"
        "        weights, count = tf.Variable(tf.ones([3, 3])), tf.Variable(0)\n"
        "        return tf.group(weights.assign(weights * 2.0), count.assign_add(1))",
        "def model():\n"
        "    with tf.device('/cpu:0'):\n"
        "        weights, count = tf.Variable(tf.ones([3, 3])), tf.Variable(0)\n"
        "        return tf.group(weights.assign(weights * 2.0), count.assign_add(1))",
        "def model():\n"
        "    with tf.device('/gpu:0'):\n"
        "        weights = tf.Variable(tf.ones([3, 3]))\n"
        "    with tf.device('/cpu:0'):\n"
        "        count = tf.Variable(0)\n"
        "    return tf.group(weights.assign_add(tf.ones([3, 3])), count.assign_add(1))",
    ],
    "ex3": ["smallest = 100", "smallest = 10", "smallest = 70.5"],
}
