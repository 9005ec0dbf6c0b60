"""Wrong answers to the exercises of lesson 5."""

MISTAKES = {
    "ex1": [
        "def derivative(f):\n    x = tf.constant(1.0)\n    return tf.gradients(f(x), [x])[0]",
        "def derivative(f):\n    return f",
        "def derivative(f):\n    return lambda x: (f(x + 0.1) - f(x)) / 0.1",
        "def derivative(f):\n    return lambda x: tf.gradients(f(x), [x])",
    ],
    "ex2": [
        "def gradient_by_hand(X, y, beta, lam):\n"
        "    return 2.0 * tf.matmul(X, tf.matmul(X, beta) - y, transpose_a=True)",
        "def gradient_by_hand(X, y, beta, lam):\n"
        "    return 2.0 * tf.matmul(X, y - tf.matmul(X, beta), transpose_a=True)",
        "def gradient_by_hand(X, y, beta, lam):\n    return 2.0 * (tf.matmul(X, beta) - y)",
    ],
    "ex3": [
        "def largest_rate(X, lam):\n    return 0.0007",
        "def largest_rate(X, lam):\n    return 2 / np.linalg.eigvalsh(2 * X.T @ X).max()",
        "def largest_rate(X, lam):\n"
        "    bowl = 2 * (X.T @ X + lam * np.eye(X.shape[1]))\n"
        "    return 2 / np.linalg.eigvalsh(bowl).min()",
    ],
    "ex4": [
        "x = tf.Variable(1.0)\ndownhill = x.assign(10.0 ** (1 / 3))",
        "x = tf.Variable(1.0)\n"
        "downhill = x.assign_sub(0.1 * tf.gradients((x ** 3 - 10.0) ** 2, [x])[0])",
        "x = tf.Variable(1.0)\ndownhill = x.assign_sub(0.001 * tf.gradients(x ** 3, [x])[0])",
    ],
}
