"""Wrong answers to the exercises of lesson 13."""

MISTAKES = {
    "ex1": [
        "def safe_root(x):\n    return tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x))",
        "def safe_root(x):\n    return tf.sqrt(tf.abs(x))",
        "def safe_root(x):\n"
        "    root = tf.sqrt(x)\n"
        "    return tf.cond(x > 0, lambda: root, lambda: tf.zeros_like(x))",
        "def safe_root(x):\n    if x > 0:\n        return tf.sqrt(x)\n    return 0.0",
    ],
    "ex2": [
        "def gcd(a, b):\n    while b > 0:\n        a, b = b, a % b\n    return a",
        "def gcd(a, b):\n"
        "    return tf.while_loop(lambda a, b: tf.not_equal(b, 0),\n"
        "                         lambda a, b: (b, a % b), [a, b])",
        "def gcd(a, b):\n    return tf.minimum(a, b)",
    ],
    "ex3": [
        "def drain(sess, get):\n    return [sess.run(get) for _ in range(5)]",
        "def drain(sess, get):\n    return sess.run(get)",
        "def drain(sess, get):\n"
        "    try:\n"
        "        return [sess.run(get)]\n"
        "    except tf.errors.OutOfRangeError:\n"
        "        return []",
    ],
    "ex4": [
        "def car_park():\n"
        "    places = tf.FIFOQueue(4, [tf.bool], shapes=[[]])\n"
        "    return tf.no_op(), places.enqueue(True), places.dequeue()",
        "def car_park():\n"
        "    inside = tf.Variable(0)\n"
        "    return inside.initializer, inside.assign_add(1), inside.assign_sub(1)",
        "def car_park():\n"
        "    places = tf.FIFOQueue(3, [tf.bool], shapes=[[]])\n"
        "    return tf.no_op(), places.dequeue(), places.enqueue(True)",
    ],
}
