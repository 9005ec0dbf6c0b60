"""Wrong answers to the exercises of lesson 11."""

MISTAKES = {
    "ex1": [
        "def pad(sentences, length):\n    return np.zeros([len(sentences), length], np.int32)",
        "def pad(sentences, length):\n    return [s + [0] * (length - len(s)) for s in sentences]",
        "def pad(sentences, length):\n"
        "    return np.array([(s + [0] * length)[-length:] for s in sentences])",
    ],
    "ex2": [
        "def two_strongest(seen):\n    return tf.reduce_max(seen, 1)",
        "def two_strongest(seen):\n    return tf.reduce_mean(tf.nn.top_k(seen, 1).values, 2)",
        "def two_strongest(seen):\n    return tf.reduce_mean(seen, 1)",
    ],
    "ex3": [
        "def value(a, b):\n"
        "    score = {'good': 1.0, 'bad': -1.0, 'not': -1.0, '': 0.0}\n"
        "    return score[a] + score[b]",
        "def value(a, b):\n    return 1.0 if b == 'good' else -1.0",
    ],
}
