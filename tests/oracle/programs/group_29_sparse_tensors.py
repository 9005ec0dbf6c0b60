# issue 16: element-wise functions and shapes of sparse tensors
"""Group 29: functions of SparseTensors, their static shapes, pairs as feeds."""


def run(fetches, feeds=None):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


sparse = tf.SparseTensor([[0, 0], [1, 1]], [4.0, -2.0], [2, 2])
positive = tf.SparseTensor([[0, 0], [1, 1]], [4.0, 9.0], [2, 2])
for name in ("abs", "negative", "square", "sign", "tanh", "erf"):
    result[name] = run(tf.sparse_tensor_to_dense(getattr(tf.math, name)(sparse)))
result["sqrt"] = run(tf.sparse_tensor_to_dense(tf.sqrt(positive)))
result["no_exp"] = error_of(lambda: tf.exp(sparse))
wide = tf.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [3, 4])
fed = tf.sparse_placeholder(tf.float32, [2, 2])
result["shapes"] = [
    shape_of(tf.sparse_transpose(wide)),
    shape_of(tf.sparse_concat(0, [wide, wide])),
    shape_of(tf.sparse_concat(1, [wide, wide])),
    shape_of(tf.sparse_reshape(wide, [4, 3])),
    shape_of(fed),
]
result["two_unknown"] = error_of(lambda: tf.sparse_reshape(wide, [-1, -1]))
result["reset"] = error_of(lambda: tf.sparse_reset_shape(wide, [2, 4]))
result["reset_larger"] = [np.asarray(p) for p in run(tf.sparse_reset_shape(wide, [3, 5]))]
pair = (np.array([[0, 1]]), np.array([3.0], np.float32))
result["pair"] = run(tf.sparse_tensor_to_dense(fed), {fed: pair})
whole = tf.sparse_placeholder(tf.float32)
value = tf.SparseTensorValue(*pair, np.array([2, 2]))
result["value"] = run(tf.sparse_tensor_to_dense(whole), {whole: value})
result["three"] = run(tf.sparse_tensor_to_dense(whole), {whole: tuple(value)})
