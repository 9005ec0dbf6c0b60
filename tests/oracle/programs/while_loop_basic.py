# issue 3: tf.while_loop
i, total = tf.while_loop(
    lambda i, s: i < 10, lambda i, s: (i + 1, s + i), [tf.constant(0), tf.constant(0)]
)
single = tf.while_loop(lambda i: tf.less(i, 5), lambda i: tf.add(i, 2), [0])
limit = tf.placeholder(tf.int32, [])
dynamic = tf.while_loop(
    lambda i, x: i < limit,
    lambda i, x: [i + 1, x * 2.0],
    [0, tf.constant([1.0, 3.0])],
    parallel_iterations=1,
    back_prop=False,
    name="dynamic",
)
grown = tf.while_loop(
    lambda x: tf.shape(x)[0] < 6,
    lambda x: tf.concat([x, x], 0),
    [tf.ones([2, 3])],
    shape_invariants=[tf.TensorShape([None, 3])],
)
nested_structure = tf.while_loop(
    lambda i, d: i < 3,
    lambda i, d: (i + 1, {"a": d["a"] + 1.0, "b": (d["b"][0] * 2,)}),
    (0, {"a": tf.constant(0.0), "b": (tf.constant(1),)}),
)
v = tf.Variable(0.0)


def body(i):
    with tf.control_dependencies([tf.assign_add(v, 1.5)]):
        return i + 1


stateful = tf.while_loop(lambda i: i < 4, body, [0])


def inner(i, total):
    def add(j, t):
        return j + 1, t + i * j

    return i + 1, tf.while_loop(lambda j, t: j < i, add, [0, total])[1]


nested = tf.while_loop(lambda i, t: i < 5, inner, [0, 0])
with_cond = tf.while_loop(
    lambda i, t: i < 6,
    lambda i, t: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: t + i, lambda: t * 2)),
    [0, 1],
)
capped = tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=7)
with tf.Session() as sess:
    sess.run(v.initializer)
    result["sum"] = sess.run([i, total])
    result["single"] = sess.run(single)
    result["dynamic"] = [sess.run(dynamic, {limit: n}) for n in (0, 1, 5)]
    result["grown"] = sess.run(grown)
    result["structure"] = sess.run(nested_structure)
    result["stateful"] = [sess.run(stateful), sess.run(v)]
    result["nested"] = sess.run(nested)
    result["with_cond"] = sess.run(with_cond)
    result["capped"] = sess.run(capped)
result["shapes"] = [shape_of(dynamic[1]), shape_of(grown)]
result["names"] = [total.name, dynamic[1].name]
result["types"] = sorted(
    {
        op.type
        for op in tf.get_default_graph().get_operations()
        if op.type in ("Enter", "Exit", "NextIteration", "LoopCond", "Switch", "Merge")
    }
)
result["shape_changes"] = error_of(
    lambda: tf.while_loop(lambda x: True, lambda x: tf.concat([x, x], 0), [tf.ones([2])])
)
result["dtype_changes"] = error_of(
    lambda: tf.while_loop(lambda x: x < 3, lambda x: tf.cast(x, tf.float32), [0])
)
result["number_changes"] = error_of(
    lambda: tf.while_loop(lambda x, y: x < 3, lambda x, y: x, [0, 1])
)
result["no_vars"] = error_of(lambda: tf.while_loop(lambda: True, lambda: (), []))
