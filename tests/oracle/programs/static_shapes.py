# issue 3: what is known of shapes before anything runs
p = tf.placeholder(tf.float32, [None, 784])
q = tf.placeholder(tf.float32)
w = tf.zeros([784, 10])
b = tf.zeros([10])
out = tf.matmul(p, w) + b
shapes = {
    "p": p,
    "q": q,
    "out": out,
    "softmax": tf.nn.softmax(out),
    "sum_all": tf.reduce_sum(out),
    "sum_rows": tf.reduce_sum(out, 1),
    "sum_keep": tf.reduce_sum(out, [1], keepdims=True),
    "sum_unknown": tf.reduce_sum(q, 0),
    "argmax": tf.argmax(out, 1),
    "reshape": tf.reshape(p, [-1, 28, 28, 1]),
    "reshape_minus": tf.reshape(w, [-1]),
    "transpose": tf.transpose(p),
    "transpose_perm": tf.transpose(tf.zeros([2, 3, 4]), [2, 0, 1]),
    "expand": tf.expand_dims(p, -1),
    "squeeze": tf.squeeze(tf.zeros([1, 2, 1, 3])),
    "squeeze_some": tf.squeeze(tf.zeros([1, 2, 1, 3]), [2]),
    "stack": tf.stack([b, b, b]),
    "concat": tf.concat([p, p], 1),
    "concat_rows": tf.concat([p, tf.zeros([3, 784])], 0),
    "split": tf.split(w, 2, axis=1)[0],
    "unstack": tf.unstack(tf.zeros([3, 4]))[0],
    "slice": tf.slice(p, [0, 1], [-1, 2]),
    "strided": p[:, 3:7],
    "strided_new": p[tf.newaxis, 0, ..., ::2],
    "gather": tf.gather(w, tf.placeholder(tf.int32, [None, 5])),
    "tile": tf.tile(b, [3]),
    "one_hot": tf.one_hot(tf.placeholder(tf.int32, [None]), 10),
    "range": tf.range(3, 10, 2),
    "shape": tf.shape(p),
    "size": tf.size(p),
    "rank": tf.rank(p),
    "fill_dynamic": tf.fill(tf.shape(p), 0.0),
    "zeros_like": tf.zeros_like(p),
    "broadcast": p * tf.zeros([5, 1, 784]),
    "where": tf.where(p > 0),
    "where_same": tf.where(p > 0, p, p),
    "conv": tf.nn.conv2d(tf.zeros([1, 28, 28, 3]), tf.zeros([5, 5, 3, 8]), [1, 2, 2, 1], "SAME"),
    "conv_valid": tf.nn.conv2d(
        tf.placeholder(tf.float32, [None, None, 28, 3]),
        tf.zeros([5, 5, 3, 8]),
        [1, 1, 1, 1],
        "VALID",
    ),
    "pool": tf.nn.max_pool(tf.zeros([1, 7, 7, 3]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "boolean_mask": tf.boolean_mask(p, tf.placeholder(tf.bool, [None])),
    "pad": tf.pad(w, [[1, 1], [0, 2]]),
    "top_k": tf.nn.top_k(out, 3)[0],
    "random": tf.random_normal([2, 5]),
    "lookup": tf.nn.embedding_lookup(w, tf.placeholder(tf.int32, [7, 2])),
    "batch_matmul": tf.matmul(tf.zeros([5, 2, 3]), tf.zeros([5, 3, 4])),
    "einsum": tf.einsum("ij,jk->ik", p, w),
}
for key, tensor in shapes.items():
    result[key] = shape_of(tensor)
q.set_shape([None, 3])
result["set_shape"] = shape_of(q)
result["set_again"] = error_of(lambda: q.set_shape([4, 5]))
