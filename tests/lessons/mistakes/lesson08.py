"""Wrong answers to the exercises of lesson 8."""

MISTAKES = {
    "ex1": [
        "def top_two(logits, labels):\n"
        "    hits = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))\n"
        "    return tf.reduce_mean(tf.cast(hits, tf.float32))",
        "def top_two(logits, labels):\n    return tf.nn.in_top_k(logits, tf.argmax(labels, 1), 2)",
        "def top_two(logits, labels):\n    return tf.nn.in_top_k(logits, labels, 2)",
    ],
    "ex2": [
        "def small(X):\n    return deep(X)",
        "def small(X):\n    return tf.layers.flatten(X)",
        "def small(X):\n"
        "    h = tf.layers.dense(tf.layers.flatten(X), 1)\n"
        "    return tf.layers.dense(h, 10)",
    ],
    "ex3": [
        "def when_to_stop(losses, patience):\n    return int(np.argmin(losses))",
        "def when_to_stop(losses, patience):\n"
        "    for i in range(1, len(losses)):\n"
        "        if losses[i] > losses[i - 1]:\n"
        "            return i - 1\n"
        "    return len(losses) - 1",
        "def when_to_stop(losses, patience):\n"
        "    best = 0\n"
        "    for i, loss in enumerate(losses):\n"
        "        if loss < losses[best]:\n"
        "            best = i\n"
        "        elif i - best >= patience:\n"
        "            return i\n"
        "    return best",
    ],
    "ex4": [
        "def cross_entropy_of(logits, labels):\n"
        "    return -tf.reduce_sum(labels * tf.log(tf.nn.softmax(logits)), axis=1)",
        "def cross_entropy_of(logits, labels):\n"
        "    logits -= tf.reduce_max(logits, axis=1, keepdims=True)\n"
        "    total = tf.reduce_sum(tf.exp(logits), axis=1, keepdims=True)\n"
        "    return -tf.reduce_sum(labels * (logits - tf.log(total)))",
    ],
}
