"""Wrong answers to the milestones of capstone 3."""

_DEFINED = (
    '@tf.extend.define_op("SquaredDistances", "a: T, b: T -> distances: T",\n'
    "                     T=(tf.float32, tf.float64))\n"
    "def distances(a, b):\n    {}\n"
)
_KERNEL = '@tf.extend.kernel("SquaredDistances")\ndef kernel(xp, a, b):\n    {}\n'
_GRADIENT = "@distances.gradient\ndef gradient(op, dy):\n    a, b = op.inputs\n    {}\n"

MISTAKES = {
    "ex1": [
        _DEFINED.format("return a.dims"),
        _DEFINED.format("return (a.dims[0], b.dims[0])"),
        _DEFINED.format("return [a.dims[0], b.dims[0]]"),
        _DEFINED.format("return None"),
        _DEFINED.format(
            "if a.dims[1] != b.dims[1]:\n        raise ValueError\n    return (a.dims[0], b.dims[0])"
        ),
        _DEFINED.format(
            "assert None in (a.dims[1], b.dims[1]) or a.dims[1] == b.dims[1]\n"
            "    return (a.dims[0], b.dims[0])"
        ),
        _DEFINED.replace("SquaredDistances", "Distances").format("return (a.dims[0], b.dims[0])"),
        "def distances(a, b):\n    return tf.reduce_sum((a[:, None] - b[None]) ** 2, 2)",
    ],
    "ex2": [
        _KERNEL.format("return ((a - b) ** 2).sum(-1)"),
        _KERNEL.format("return (a * a).sum(1)[:, None] - 2 * a @ b.T + (b * b).sum(1)[None, :]"),
        "def kernel(xp, a, b):\n    return ((a[:, None] - b[None]) ** 2).sum(-1)",
        _KERNEL.format("return ((a[:, None] - b[None]) ** 2).sum(-1).tolist()"),
        _KERNEL.format("((a[:, None] - b[None]) ** 2).sum(-1)"),
        _KERNEL.format("a -= b[:1]\n    return ((a[:, None] - b[None] + b[:1]) ** 2).sum(-1)"),
        _KERNEL.format("return ((a[:, None].astype('f4') - b[None]) ** 2).sum(-1).astype('f4')"),
    ],
    "ex3": [
        _GRADIENT.format("return [2.0 * a, 2.0 * b]"),
        _GRADIENT.format(
            "rows = tf.reduce_sum(dy, 1, keepdims=True)\n"
            "    return [2.0 * (a * rows - tf.matmul(dy, b)), tf.zeros_like(b)]"
        ),
        _GRADIENT.format("return [None, None]"),
        _GRADIENT.format(
            "d = tf.stop_gradient(a[:, None] - b[None]) * dy[:, :, None]\n"
            "    return [2.0 * tf.reduce_sum(d, 1), -2.0 * tf.reduce_sum(d, 0)]"
        ),
        _GRADIENT.format(
            "d = (a[:, None] - b[None]) * dy[:, :, None]\n"
            "    return [-2.0 * tf.reduce_sum(d, 0), 2.0 * tf.reduce_sum(d, 1)]"
        ),
    ],
    "ex4": [
        "def fit(features, labels, num_classes):\n"
        "    return np.array([features[labels == k].mean(0) for k in range(num_classes)])",
        "def fit(features, labels, num_classes):\n"
        "    distances(tf.constant(features), tf.constant(features[:2]))\n"
        "    return np.array([features[0] for k in range(num_classes)])",
        "def fit(features, labels, num_classes):\n"
        "    return tf.Variable(np.array([features[labels == k].mean(0) for k in range(num_classes)]))",
        "def fit(features, labels, num_classes):\n    return 7",
    ],
}
