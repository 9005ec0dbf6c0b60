# issue 3: TensorArray outside and inside loops
ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
ta = ta.write(0, [1.0, 2.0]).write(1, [3.0, 4.0]).write(2, [5.0, 6.0])
stacked = ta.stack()
gathered = ta.gather([2, 0])
one = ta.read(1)
concatenated = ta.concat()
size = ta.size()
unstacked = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False).unstack(
    tf.constant([[1.0], [2.0], [3.0]])
)
scattered = (
    tf.TensorArray(tf.float32, size=4).scatter([3, 1, 0, 2], [[1.0], [2.0], [3.0], [4.0]]).stack()
)
split = tf.TensorArray(tf.float32, size=2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2]).read(1)
_, loop = tf.while_loop(
    lambda i, a: i < 5,
    lambda i, a: (i + 1, a.write(i, tf.cast(i * i, tf.float32))),
    [0, tf.TensorArray(tf.float32, size=5)],
)
x = tf.constant([1.0, 2.0, 3.0])
xs = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)
_, ys = tf.while_loop(
    lambda i, a: i < 3,
    lambda i, a: (i + 1, a.write(i, xs.read(i) ** 2 * xs.read(0))),
    [0, tf.TensorArray(tf.float32, size=3)],
)
gradient = tf.gradients(ys.stack() * [1.0, 10.0, 100.0], x)[0]
_, growing = tf.while_loop(
    lambda i, a: i < 4,
    lambda i, a: (i + 1, a.write(i, i)),
    [0, tf.TensorArray(tf.int32, size=0, dynamic_size=True)],
)
with tf.Session() as sess:
    result["stacked"] = sess.run([stacked, gathered, one, concatenated, size])
    result["unstacked"] = sess.run([unstacked.stack(), unstacked.size()])
    result["scattered"] = sess.run(scattered)
    result["split"] = sess.run(split)
    result["loop"] = sess.run(loop.stack())
    result["gradient"] = sess.run(gradient)
    result["growing"] = sess.run(growing.stack())
    bad = tf.TensorArray(tf.float32, size=2)
    result["out_of_range"] = error_of(lambda: sess.run(bad.write(5, 1.0).flow))
    result["unwritten"] = error_of(lambda: sess.run(tf.TensorArray(tf.float32, size=2).read(0)))
    twice = tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(0, 2.0)
    result["written_twice"] = error_of(lambda: sess.run(twice.flow))
result["dtype"] = ta.dtype.name
result["shape"] = shape_of(stacked)
