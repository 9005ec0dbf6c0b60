# issue 3: first gradients of many element-wise and reducing ops
x = tf.constant([[0.3, -0.7, 1.2], [2.1, 0.4, -1.1]])
p = tf.constant([[0.3, 0.7, 0.2], [0.1, 0.4, 0.9]])
unary = [
    "abs",
    "negative",
    "exp",
    "expm1",
    "log1p",
    "square",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "atanh",
    "sigmoid",
    "erf",
    "erfc",
    "lgamma",
    "digamma",
    "reciprocal",
    "sign",
    "floor",
    "ceil",
    "round",
    "rint",
    "log",
]
with tf.Session() as sess:
    for name in unary:
        f = getattr(tf, name, None) or getattr(tf.math, name)
        y = f(p)
        g = tf.gradients(y, p)[0]
        result[name] = sess.run([y, g if g is not None else tf.constant(-1.0)])
    for name in [
        "relu",
        "relu6",
        "elu",
        "selu",
        "softplus",
        "softsign",
        "leaky_relu",
        "crelu",
        "softmax",
        "log_softmax",
        "l2_loss",
    ]:
        y = getattr(tf.nn, name)(x)
        result["nn_" + name] = sess.run([y, tf.gradients(y * y, x)[0]])
    for name in [
        "reduce_sum",
        "reduce_mean",
        "reduce_max",
        "reduce_min",
        "reduce_prod",
        "reduce_logsumexp",
    ]:
        for axis in (None, 0, [1], [0, 1], -1):
            y = getattr(tf, name)(x, axis)
            result[f"{name}_{axis}"] = sess.run([y, tf.gradients(y * y, x)[0]])
    for name in ["cumsum", "cumprod"]:
        y = getattr(tf, name)(x, axis=1, exclusive=True, reverse=True)
        result[name] = sess.run([y, tf.gradients(y * y, x)[0]])
    binary = [
        "add",
        "subtract",
        "multiply",
        "divide",
        "pow",
        "maximum",
        "minimum",
        "atan2",
        "squared_difference",
        "mod",
        "floordiv",
        "truediv",
    ]
    for name in binary:
        y = getattr(tf, name)(p, p[:1] + 0.35)
        g = tf.gradients(y, p)[0]
        result["two_" + name] = sess.run([y, g if g is not None else tf.constant(-1.0)])
    for name in ["igamma", "igammac", "zeta", "polygamma"]:
        result[name] = sess.run(getattr(tf, name)(p + 1.5, p + 2.5))
    result["betainc"] = sess.run(tf.betainc(p, p + 1.0, p))
    tied = tf.constant([1.0, 3.0, 3.0])
    result["max_ties"] = sess.run(tf.gradients(tf.reduce_max(tied), tied))
    result["maximum_ties"] = sess.run(tf.gradients(tf.maximum(tied, tied + 0.0), tied))
    result["prod_zero"] = sess.run(tf.gradients(tf.reduce_prod([[0.0, 2.0, 0.0]] * tied), tied))
    empty = tf.zeros([0, 3])
    result["empty_sum"] = sess.run(
        [
            tf.reduce_sum(empty, 0),
            tf.reduce_mean(empty),
            tf.reduce_max(empty, 1),
            tf.reduce_prod(empty),
        ]
    )
