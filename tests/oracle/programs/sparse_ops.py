# issue 3: sparse tensors
sp = tf.SparseTensor(indices=[[0, 1], [1, 0], [2, 3]], values=[1.0, 2.0, 3.0], dense_shape=[3, 4])
other = tf.SparseTensor([[0, 1], [1, 2]], [10.0, 20.0], [3, 4])
dense = tf.constant(np.arange(12.0).reshape(4, 3), tf.float32)
out = {
    "sparse": sp,
    "to_dense": tf.sparse_tensor_to_dense(sp),
    "to_dense_default": tf.sparse_tensor_to_dense(sp, default_value=-1.0),
    "sparse_to_dense": tf.sparse_to_dense([[0, 1], [2, 0]], [3, 2], [5, 6]),
    "sparse_to_dense_flat": tf.sparse_to_dense([0, 2], [4], 1.0, 9.0),
    "matmul": tf.sparse_tensor_dense_matmul(sp, dense),
    "matmul_adjoint": tf.sparse_tensor_dense_matmul(sp, tf.ones([3, 2]), adjoint_a=True),
    "add": tf.sparse_add(sp, other),
    "add_dense": tf.sparse_add(sp, tf.ones([3, 4])),
    "reorder": tf.sparse_reorder(tf.SparseTensor([[1, 0], [0, 0]], [1, 2], [2, 2])),
    "reshape": tf.sparse_reshape(sp, [2, 6]),
    "reduce_sum": tf.sparse_reduce_sum(sp, 1),
    "reduce_sum_all": tf.sparse_reduce_sum(sp),
    "reduce_max": tf.sparse_reduce_max(sp, 0),
    "concat": tf.sparse_concat(1, [sp, other]),
    "split": tf.sparse_split(sp_input=sp, num_split=2, axis=1),
    "slice": tf.sparse_slice(sp, [0, 0], [2, 2]),
    "transpose": tf.sparse_transpose(sp),
    "retain": tf.sparse_retain(sp, [True, False, True]),
    "reset_shape": tf.sparse_reset_shape(sp),
    "fill_empty": tf.sparse_fill_empty_rows(tf.SparseTensor([[0, 0]], [5], [2, 2]), 0),
    "softmax": tf.sparse_softmax(sp),
    "maximum": tf.sparse_maximum(sp, other),
    "minimum": tf.sparse_minimum(sp, other),
    "mul": sp * tf.ones([3, 4]) * 2.0,
    "indicator": tf.sparse_to_indicator(
        tf.SparseTensor([[0, 0], [1, 0]], tf.constant([1, 2], tf.int64), [2, 1]), 4
    ),
    "merge": tf.sparse_merge(
        tf.SparseTensor([[0, 0], [1, 0]], tf.constant([1, 2], tf.int64), [2, 1]),
        tf.SparseTensor([[0, 0], [1, 0]], [0.5, 0.6], [2, 1]),
        4,
    ),
    "from_dense": tf.sparse.from_dense(dense),
    "matmul_old": tf.sparse_matmul([[0.0, 1.0]], [[2.0], [3.0]]),
    "embedding": tf.sparse_tensor_to_dense(tf.sparse_placeholder(tf.float32, name="fed")),
    "eye": tf.sparse_tensor_to_dense(tf.sparse.eye(3)),
    "expand": tf.sparse.expand_dims(sp, 0),
    "mask": tf.sparse_mask(tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 3])), [0]),
}
with tf.Session() as sess:
    for key, value in out.items():
        feed = (
            {"fed/values:0": [7.0], "fed/indices:0": [[1]], "fed/shape:0": [3]}
            if key == "embedding"
            else None
        )
        result[key] = sess.run(value, feed)
    placeholder = tf.sparse_placeholder(tf.float32, [2, 2], name="p")
    result["fed_tuple"] = sess.run(
        tf.sparse_reduce_sum(placeholder), {placeholder: ([[0, 0]], [4.0], [2, 2])}
    )
    result["fed_value"] = sess.run(
        tf.sparse_reduce_sum(placeholder),
        {placeholder: tf.SparseTensorValue([[0, 0], [1, 1]], [4.0, 5.0], [2, 2])},
    )
    result["gradient"] = sess.run(
        tf.gradients(tf.sparse_tensor_dense_matmul(sp, dense) ** 2, [sp.values, dense])
    )
    result["gradient_dense"] = sess.run(tf.gradients(tf.sparse_tensor_to_dense(sp) ** 2, sp.values))
    result["out_of_order"] = error_of(
        lambda: sess.run(
            tf.sparse_tensor_to_dense(tf.SparseTensor([[1, 0], [0, 0]], [1, 2], [2, 2]))
        )
    )
    result["repeated"] = error_of(
        lambda: sess.run(tf.sparse_to_dense([[0, 0], [0, 0]], [1, 1], [1, 2]))
    )
result["fields"] = [
    sp.dtype.name,
    shape_of(sp.indices),
    shape_of(sp),
    sp.indices.name,
    sp.values.name,
    sp.dense_shape.name,
]
result["str"] = str(sp)
