# issue 3: map_fn, scan, foldl, foldr and their gradients
x = tf.constant([1.0, 2.0, 3.0, 4.0])
m = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
out = {
    "map": tf.map_fn(lambda t: t * t, x),
    "map_rows": tf.map_fn(lambda row: tf.reduce_sum(row) * row, m),
    "map_pair": tf.map_fn(lambda t: t[0] * t[1], (x, x + 1.0), dtype=tf.float32),
    "map_two_out": tf.map_fn(lambda t: (t, -t), x, dtype=(tf.float32, tf.float32)),
    "map_dtype": tf.map_fn(lambda t: tf.cast(t, tf.int32), x, dtype=tf.int32),
    "scan": tf.scan(lambda a, t: a + t, x),
    "scan_init": tf.scan(lambda a, t: a * t, x, initializer=tf.constant(2.0)),
    "scan_reverse": tf.scan(lambda a, t: a + t, x, reverse=True),
    "scan_pair": tf.scan(lambda a, t: (a[1], a[0] + a[1]), tf.range(5), initializer=(0, 1)),
    "scan_rows": tf.scan(lambda a, t: a * 0.5 + t, m, parallel_iterations=1),
    "foldl": tf.foldl(lambda a, t: a * 2.0 + t, x),
    "foldr": tf.foldr(lambda a, t: a * 2.0 + t, x),
    "foldl_init": tf.foldl(lambda a, t: a + t, x, initializer=100.0),
}
for key, value in out.items():
    if not isinstance(value, tuple):
        result[key + "_shape"] = shape_of(value)
        result[key + "_name"] = value.name
with tf.Session() as sess:
    result.update(sess.run(out))
    for key in ("map", "map_pair", "scan", "scan_init", "scan_reverse", "foldl", "foldr"):
        result[key + "_gradient"] = sess.run(tf.gradients(tf.reduce_sum(out[key] * out[key]), x)[0])
    result["scan_rows_gradient"] = sess.run(tf.gradients(out["scan_rows"] ** 2, m)[0])
    empty = tf.placeholder(tf.float32, [None])
    result["map_empty"] = sess.run(tf.map_fn(lambda t: t + 1.0, empty), {empty: []})
result["scalar"] = error_of(lambda: tf.map_fn(lambda t: t, tf.constant(1.0)))
