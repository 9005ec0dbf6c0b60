"""Wrong answers to the exercises of lesson 10."""

MISTAKES = {
    "ex1": [
        "def cbow(table, contexts):\n    return tf.nn.embedding_lookup(table, contexts)",
        "def cbow(table, contexts):\n"
        "    return tf.reduce_sum(tf.nn.embedding_lookup(table, contexts), axis=1)",
        "def cbow(table, contexts):\n"
        "    return tf.nn.embedding_lookup(table, tf.reduce_mean(contexts, axis=1))",
    ],
    "ex2": [
        "def noise_loss(true, noise):\n"
        "    f = tf.nn.sigmoid_cross_entropy_with_logits\n"
        "    return f(labels=tf.ones_like(true), logits=true)",
        "def noise_loss(true, noise):\n"
        "    f = tf.nn.sigmoid_cross_entropy_with_logits\n"
        "    return tf.reduce_mean(f(labels=tf.zeros_like(noise), logits=noise))",
        "def noise_loss(true, noise):\n"
        "    f = tf.nn.sigmoid_cross_entropy_with_logits\n"
        "    return (f(labels=tf.ones_like(true), logits=true)\n"
        "            + tf.reduce_mean(f(labels=tf.zeros_like(noise), logits=noise), axis=1))",
    ],
    "ex3": [
        "def odd_one_out(vectors):\n"
        "    return int(np.argmax(np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)))",
        "def odd_one_out(vectors):\n    return vectors[0]",
        "def odd_one_out(vectors):\n    return 0",
    ],
    "ex4": [
        "def alike(u, v):\n    return float(np.dot(u, v))",
        "def alike(u, v):\n    return abs(np.dot(u, v)) / np.linalg.norm(u) / np.linalg.norm(v)",
        "alike = 3",
    ],
}
