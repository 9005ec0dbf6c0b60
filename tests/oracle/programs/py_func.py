# issue 3: Python functions in the graph
def add_and_count(a, b):
    return a + b, np.int64(a.size)


x = tf.placeholder(tf.float32, [None], name="x")
total, size = tf.py_func(add_and_count, [x, x], [tf.float32, tf.int64])
one = tf.py_func(lambda v: np.sinh(v), [x], tf.float32, name="sinh")
text = tf.py_func(lambda: b"text", [], tf.string)
nothing = tf.py_func(lambda v: None, [x], [])
stateless = tf.py_func(lambda v: v * 2.0, [x], [tf.float32], stateful=False)
listed = tf.py_func(lambda v: [v, v + np.float32(1)], [x], [tf.float32, tf.float32])
bad_type = tf.py_func(lambda v: v.astype(np.float64), [x], tf.float32)
failing = tf.py_func(lambda v: 1 // 0, [x], tf.float32)
with tf.Session() as sess:
    feed = {x: [1.0, 2.0]}
    result["both"] = sess.run([total, size], feed)
    result["one"] = sess.run(one, feed)
    result["text"] = sess.run(text)
    result["stateless"] = sess.run(stateless, feed)
    result["listed"] = sess.run(listed, feed)
    result["bad_type"] = error_of(lambda: sess.run(bad_type, feed))
    result["failing"] = error_of(lambda: sess.run(failing, feed))
result["shapes"] = [shape_of(total), shape_of(size), isinstance(stateless, list)]
result["names"] = [total.name, size.name, one.name]
result["gradient"] = tf.gradients(one, x)[0] is None
one.set_shape([None])
result["set_shape"] = shape_of(one)
