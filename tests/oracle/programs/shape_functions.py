# issue 3: shapes as tensors, dynamic reshapes and what stays known
p = tf.placeholder(tf.float32, [None, 6], name="p")
n = tf.shape(p)[0]
shapes = {
    "dynamic_batch": tf.reshape(p, [n, 2, 3]),
    "stacked": tf.reshape(p, tf.stack([n * 2, 3])),
    "concat": tf.reshape(p, tf.concat([tf.shape(p)[:1], [3, 2]], 0)),
    "zeros": tf.zeros([n, 4]),
    "fill": tf.fill(tf.stack([n, 2]), 1.0),
    "tile": tf.tile(p, [1, 2]),
    "tile_dynamic": tf.tile(tf.zeros([1, 3]), [n, 1]),
    "minus_one": tf.reshape(p, [-1, 3]),
    "ones_like": tf.ones_like(p),
    "random": tf.random_uniform([n, 5]),
    "range": tf.range(n),
    "transpose": tf.transpose(tf.reshape(p, [-1, 2, 3]), [2, 0, 1]),
    "pad": tf.pad(p, [[0, 0], [1, 1]]),
    "slice": p[:2],
    "slice_n": p[: n - 1],
    "expand": p[:, None, :],
    "broadcast": p + tf.zeros([1, 6]),
    "matmul": tf.matmul(p, tf.zeros([6, 2])),
    "matmul_t": tf.matmul(p, p, transpose_a=True),
    "gather": tf.gather(p, [0, 1, 1]),
    "concat_axis": tf.concat([p, p], 0),
    "split": tf.split(p, [2, 4], 1)[1],
    "one_hot": tf.one_hot(tf.range(n), 3),
    "where": tf.where(p[:, 0] > 0),
    "set": tf.cond(n > 2, lambda: p, lambda: p * 2.0),
    "unique": tf.unique(tf.reshape(p, [-1]))[0],
    "conv": tf.nn.conv2d(
        tf.reshape(p, [-1, 2, 3, 1]), tf.zeros([2, 2, 1, 4]), [1, 1, 1, 1], "SAME"
    ),
}
for name, tensor in shapes.items():
    result[name] = shape_of(tensor)
with tf.Session() as sess:
    result["run"] = {k: list(v.shape) for k, v in sess.run(shapes, {p: np.ones((3, 6))}).items()}
    result["dynamic_shape"] = sess.run(tf.shape(shapes["transpose"]), {p: np.ones((3, 6))})
result["static_size"] = tf.zeros([2, 3]).get_shape().num_elements()
result["constant_fold"] = shape_of(tf.zeros(tf.shape(tf.zeros([4, 5]))))
result["product"] = shape_of(tf.zeros([tf.reduce_prod([2, 3])]))
