# issue 3: only what is needed is computed
calls = []


def note(x):
    calls.append(float(x))
    return np.float32(x)


a = tf.constant(2.0)
used = tf.py_func(note, [a + 1.0], tf.float32)
useless = tf.py_func(note, [a + 100.0], tf.float32)
out = used * 2.0
with tf.Session() as sess:
    result["value"] = sess.run(out)
    result["calls"] = list(calls)
    sess.run([out, out, used])
    result["once_more"] = list(calls)
    sess.run(out, {used: 1.0})
    result["fed_is_not_computed"] = list(calls)
