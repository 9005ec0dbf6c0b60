# issue 3: Python operators on tensors, names included
a = tf.constant([7.0, -7.0, 3.0], name="a")
b = tf.constant([2.0, 2.0, -2.0], name="b")
i = tf.constant([7, -7, 3], name="i")
j = tf.constant([2, 2, -2], name="j")
t = tf.constant([True, False], name="t")
u = tf.constant([True, True], name="u")
out = {
    "add": a + b,
    "radd": 1.0 + a,
    "sub": a - b,
    "rsub": 1.0 - a,
    "mul": a * b,
    "rmul": 2 * a,
    "div": a / b,
    "rdiv": 1.0 / a,
    "floordiv": a // b,
    "mod": a % b,
    "pow": a**2,
    "rpow": 2.0**a,
    "neg": -a,
    "abs": abs(a),
    "int_add": i + 1,
    "int_truediv": i / j,
    "int_floordiv": i // j,
    "int_mod": i % j,
    "int_pow": i**2,
    "gt": a > b,
    "ge": a >= b,
    "lt": a < b,
    "le": a <= 3.0,
    "and": t & u,
    "or": t | u,
    "xor": t ^ u,
    "invert": ~t,
    "matmul": tf.constant([[1.0, 2.0]], name="m") @ tf.constant([[3.0], [4.0]], name="n"),
}
for key, value in out.items():
    result[key + "_name"] = value.name
with tf.Session() as sess:
    result.update(sess.run(out))
result["bool_of_tensor"] = error_of(lambda: bool(a > b))
result["iterate"] = error_of(lambda: list(tf.placeholder(tf.float32)))
result["len"] = error_of(lambda: len(tf.placeholder(tf.float32, [3])))
result["equal_is_identity"] = [a == a, a == b, a != b]
result["hash"] = len({a, b, a})
result["array_priority"] = (np.ones(3, np.float32) + a).name
