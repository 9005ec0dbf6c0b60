"""Wrong answers to the exercises of lesson 22."""

MISTAKES = {
    "ex1": [
        "def attend(q, k, v):\n"
        "    return tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True)), v)",
        "def attend(q, k, v):\n"
        "    size = q.shape[-1].value\n"
        "    scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(size)\n"
        "    return tf.matmul(tf.nn.softmax(scores, axis=0), v)",
        "def attend(q, k, v):\n"
        "    scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(q.shape[-1].value)\n"
        "    return tf.matmul(scores, v)",
    ],
    "ex2": [
        "def window_mask(length, width):\n"
        "    return np.where(np.triu(np.ones([length, length]), 1), -1e9, 0.0)",
        "def window_mask(length, width):\n"
        "    row, column = np.indices([length, length])\n"
        "    return np.where(abs(row - column) < width, 0.0, -1e9)",
        "def window_mask(length, width):\n"
        "    row, column = np.indices([length, length])\n"
        "    return np.where((column <= row) & (column >= row - width), 0.0, -1e9)",
        "def window_mask(length, width):\n    return 0",
    ],
    "ex3": [
        "def most_likely(logits, num):\n    return np.sort(logits)[-num:]",
        "def most_likely(logits, num):\n"
        "    return np.where(logits >= np.sort(logits)[num - 1], logits, -np.inf)",
        "def most_likely(logits, num):\n"
        "    return np.where(logits >= np.sort(logits)[-num], logits, 0.0)",
    ],
    "ex4": [
        "def previous_position():\n    return np.eye(32, k=-1), np.eye(32)",
        "def previous_position():\n    return 50 * np.eye(32, k=1), np.eye(32)",
        "def previous_position():\n    return 50 * np.eye(32), np.eye(32)",
        "def previous_position():\n    return 50 * np.eye(32, k=-1)",
    ],
}
