# issue 3: spellings of before 1.0
a = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="a")
b = tf.constant([[5.0, 6.0], [7.0, 8.0]], name="b")
out = {
    "mul": tf.mul(a, b),
    "sub": tf.sub(a, b),
    "neg": tf.neg(a),
    "pack": tf.pack([a, b]),
    "unpack": tf.unpack(a),
    "batch_matmul": tf.batch_matmul(a, b),
    "inv": tf.inv(a),
    "select": tf.select(a > 2.0, a, b),
    "listdiff": tf.listdiff([1, 2, 3], [2]),
    "div": tf.div(a, b),
    "reduction_indices": tf.reduce_sum(a, reduction_indices=1, keep_dims=True),
    "arg_max": tf.arg_max(a, 1),
    "argmax_dimension": tf.argmax(a, dimension=0),
    "expand_dim": tf.expand_dims(a, dim=1),
    "split": tf.split(a, 2, 1),
    "squeeze": tf.squeeze(tf.expand_dims(a, 0), squeeze_dims=[0]),
    "concat": tf.concat([a, b], 1),
    "concat_keywords": tf.concat(values=[a, b], axis=0),
    "reverse": tf.reverse(a, [0]),
    "to_float": tf.to_float([1]),
    "inverse": tf.batch_matrix_inverse(a),
    "softmax_dim": tf.nn.softmax(a, dim=0),
    "l2_dim": tf.nn.l2_normalize(a, dim=1),
    "dropout": tf.nn.dropout(a, keep_prob=1.0),
    "count": tf.count_nonzero(a, keep_dims=True),
    "moments": tf.nn.moments(a, [0], keep_dims=True),
}
init = tf.initialize_all_variables()
with tf.Session() as sess:
    sess.run(init)
    sess.run(tf.initialize_local_variables())
    for key, value in out.items():
        result[key] = sess.run(value)
result["names"] = [out[k].name for k in ("mul", "sub", "neg", "div", "to_float")]
