"""Wrong answers to the exercises of lesson 14."""

MISTAKES = {
    "ex1": [
        "def roundabout(x):\n    return x",
        "def roundabout(x):\n    return tf.log(tf.exp(tf.log(tf.exp(x))))",
        "def roundabout(x):\n    return -(-(-x)) * 1.0",
    ],
    "ex2": [
        "def removed(session, fetches):\n    return session.explain(fetches).journal",
        "def removed(session, fetches):\n"
        "    told = session.explain(fetches)\n"
        "    left = {node['name'] for node in told.after}\n"
        "    return {node['name'] for node in told.before if node['name'] not in left}",
        "def removed(session, fetches):\n"
        "    told = session.explain(fetches)\n"
        "    left = {node['name'] for node in told.after}\n"
        "    return {node['op'] for node in told.graph if node['name'] not in left}",
    ],
    "ex3": [
        "def log_sum_exp(x):\n    return tf.log(tf.reduce_sum(tf.exp(x)))",
        "def log_sum_exp(x):\n"
        "    largest = tf.reduce_max(x)\n"
        "    return tf.log(tf.reduce_sum(tf.exp(x - largest)))",
        "def log_sum_exp(x):\n    return tf.nn.softplus(x)",
    ],
    "ex4": [
        "def product(a, b, v):\n    return tf.matmul(tf.matmul(a, b), v)",
        "def product(a, b, v):\n    return tf.matmul(b, tf.matmul(a, v))",
        "def product(a, b, v):\n    return a * b * v",
    ],
}
