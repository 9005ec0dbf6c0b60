# issue 3: tf.cond runs one branch only
calls = []


def trace(tag, value):
    def note(x):
        calls.append(tag)
        return x

    return tf.py_func(note, [value], tf.float32)


p = tf.placeholder(tf.bool, [], name="p")
x = tf.constant(2.0, name="x")
out = tf.cond(p, lambda: trace("true", x + 1.0), lambda: trace("false", x - 1.0))
several = tf.cond(p, lambda: (x, [x * 2.0]), lambda: (x * 3.0, [x * 4.0]))
static = tf.cond(tf.constant(True), lambda: tf.zeros([2, 3]), lambda: tf.zeros([2, 3]))
merged = tf.cond(p, lambda: tf.zeros([2, 3]), lambda: tf.zeros([4, 3]))
v = tf.Variable(1.0, name="v")
assigned = tf.cond(p, lambda: tf.assign(v, 10.0), lambda: tf.identity(v))
nested = tf.cond(p, lambda: tf.cond(x > 1.0, lambda: 1, lambda: 2), lambda: 3)
no_outputs = tf.cond(p, lambda: tf.group(tf.assign_add(v, 5.0)), lambda: tf.no_op())
old = tf.cond(p, fn1=lambda: 1.0, fn2=lambda: 2.0)
with tf.Session() as sess:
    sess.run(v.initializer)
    result["true"] = sess.run(out, {p: True})
    result["false"] = sess.run(out, {p: False})
    result["calls"] = list(calls)
    result["several"] = sess.run(several, {p: False})
    result["merged"] = [sess.run(merged, {p: True}).shape, sess.run(merged, {p: False}).shape]
    result["not_assigned"] = [sess.run(assigned, {p: False}), sess.run(v)]
    result["assigned"] = [sess.run(assigned, {p: True}), sess.run(v)]
    result["nested"] = [sess.run(nested, {p: True}), sess.run(nested, {p: False})]
    sess.run(no_outputs, {p: True})
    result["no_outputs"] = sess.run(v)
    result["old"] = sess.run(old, {p: True})
result["shapes"] = [shape_of(static), shape_of(merged)]
result["types"] = sorted(
    {op.type for op in tf.get_default_graph().get_operations() if op.type in ("Switch", "Merge")}
)
result["name"] = out.name
result["different_structures"] = error_of(lambda: tf.cond(p, lambda: (x, x), lambda: x))
result["different_types"] = error_of(lambda: tf.cond(p, lambda: 1, lambda: 1.0))
result["none_in_one"] = error_of(lambda: tf.cond(p, lambda: x, lambda: None))
result["not_callable"] = error_of(lambda: tf.cond(p, x, x))
result["python_bool"] = error_of(lambda: tf.cond(True, lambda: x, lambda: x))
