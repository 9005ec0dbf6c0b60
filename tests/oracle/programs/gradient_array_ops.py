# issue 3: gradients of ops that move elements about
x = tf.constant(np.arange(12.0).reshape(3, 4) / 3.0, tf.float32)
w = tf.constant(np.cos(np.arange(100.0)), tf.float32)


def weighted(t):
    t = tf.reshape(t, [-1])
    return tf.reduce_sum(t * t * w[: tf.size(t)])


functions = {
    "reshape": lambda t: tf.reshape(t, [2, 6]),
    "transpose": lambda t: tf.transpose(t),
    "perm": lambda t: tf.transpose(tf.reshape(t, [3, 2, 2]), [1, 2, 0]),
    "concat": lambda t: tf.concat([t, 2.0 * t], 1),
    "stack": lambda t: tf.stack([t, t * 3.0], axis=1),
    "split": lambda t: tf.split(t, [1, 3], 1)[1],
    "unstack": lambda t: tf.unstack(t, axis=1)[2],
    "tile": lambda t: tf.tile(t, [2, 1]),
    "pad": lambda t: tf.pad(t, [[1, 0], [2, 1]]),
    "pad_reflect": lambda t: tf.pad(t, [[1, 1], [2, 1]], "REFLECT"),
    "pad_symmetric": lambda t: tf.pad(t, [[1, 1], [2, 1]], "SYMMETRIC"),
    "reverse": lambda t: tf.reverse(t, [1]),
    "slice": lambda t: tf.slice(t, [1, 1], [2, 2]),
    "gather": lambda t: tf.gather(t, [2, 0, 2]),
    "gather_axis": lambda t: tf.gather(t, [2, 0, 2], axis=1),
    "gather_nd": lambda t: tf.gather_nd(t, [[0, 1], [2, 3], [0, 1]]),
    "boolean_mask": lambda t: tf.boolean_mask(t, [True, False, True]),
    "where": lambda t: tf.where(t > 1.0, t * 2.0, t * t),
    "expand": lambda t: tf.expand_dims(t, 1),
    "squeeze": lambda t: tf.squeeze(tf.expand_dims(t, 0)),
    "diag_part": lambda t: tf.diag_part(tf.matmul(t, t, transpose_b=True)),
    "matrix_diag": lambda t: tf.matrix_diag(t),
    "band": lambda t: tf.matrix_band_part(t, 1, 0),
    "segment_sum": lambda t: tf.segment_sum(t, [0, 0, 1]),
    "segment_mean": lambda t: tf.segment_mean(t, [0, 0, 1]),
    "segment_max": lambda t: tf.segment_max(t, [0, 0, 1]),
    "unsorted": lambda t: tf.unsorted_segment_sum(t, [1, 0, 1], 2),
    "top_k": lambda t: tf.nn.top_k(t, 2)[0],
    "dynamic_partition": lambda t: tf.dynamic_partition(t, [0, 1, 0], 2)[0],
    "dynamic_stitch": lambda t: tf.dynamic_stitch([[0, 2], [1]], [t[:2], t[2:]]),
    "reverse_sequence": lambda t: tf.reverse_sequence(t, [2, 4, 1], seq_axis=1),
    "roll": lambda t: tf.roll(t, 1, 1),
    "space_to_batch": lambda t: tf.space_to_batch(
        tf.reshape(t[:, :], [1, 3, 4, 1]), [[0, 1], [0, 0]], block_size=2
    ),
    "depth_to_space": lambda t: tf.depth_to_space(tf.reshape(t, [1, 1, 3, 4]), 2),
    "clip": lambda t: tf.clip_by_value(t, 0.5, 2.5),
    "clip_norm": lambda t: tf.clip_by_norm(t, 1.5),
    "cast": lambda t: tf.cast(tf.cast(t, tf.float64), tf.float32),
    "broadcast": lambda t: tf.broadcast_to(t, [2, 3, 4]),
    "scatter_nd": lambda t: tf.scatter_nd([[1], [0], [1]], t, [2, 4]),
    "cumsum": lambda t: tf.cumsum(t, axis=1),
    "l2_normalize": lambda t: tf.nn.l2_normalize(t + 1.0, 1),
    "moments": lambda t: tf.nn.moments(t, [0])[1],
    "norm": lambda t: tf.norm(t + 1.0, axis=1),
    "tensordot": lambda t: tf.tensordot(t, t, [[1], [1]]),
    "einsum": lambda t: tf.einsum("ij,kj->ik", t, t),
    "sparse_matmul": lambda t: tf.sparse_tensor_dense_matmul(
        tf.SparseTensor([[0, 1], [1, 2]], [1.0, 2.0], [2, 3]), t
    ),
}
with tf.Session() as sess:
    for name, function in functions.items():
        y = function(x)
        result[name] = sess.run([y, tf.gradients(weighted(y), x)[0]])
        result[name + "_shape"] = shape_of(y)
