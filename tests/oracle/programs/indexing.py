# issue 3: slicing a tensor with brackets
x = tf.constant(np.arange(24).reshape(2, 3, 4))
n = tf.placeholder(tf.int32, [])
out = {
    "first": x[0],
    "last": x[-1],
    "pair": x[1, 2],
    "one": x[1, 2, 3],
    "range": x[:, 1:],
    "step": x[..., ::2],
    "back": x[::-1, :, ::-1],
    "ellipsis": x[..., 0],
    "new": x[:, tf.newaxis],
    "mixed": x[0, ..., tf.newaxis, 1:3],
    "empty": x[0:0],
    "tensor": x[n],
    "tensor_range": x[:, n:],
    "negative": x[:, -2:, -3:-1],
}
for key, value in out.items():
    result[key + "_shape"] = shape_of(value)
    result[key + "_name"] = value.op.name.split("/")[0]
with tf.Session() as sess:
    result.update(sess.run(out, {n: 1}))
y = tf.constant(np.arange(6.0).reshape(2, 3))
grad = tf.gradients(tf.reduce_sum(y[:, 1:] * 3.0) + y[0, 0] ** 2, y)[0]
with tf.Session() as sess:
    result["gradient"] = sess.run(grad)
    result["slice"] = sess.run(tf.slice(x, [0, 1, 2], [1, 2, -1]))
    result["strided_slice"] = sess.run(tf.strided_slice(x, [1, -1, 0], [2, -3, 3], [1, -1, 1]))
    result["strided_masks"] = sess.run(
        tf.strided_slice(x, [0, 0, 0], [1, 1, 1], begin_mask=1, end_mask=6, shrink_axis_mask=1)
    )
result["too_many"] = error_of(lambda: x[0, 0, 0, 0])
result["out_of_range"] = error_of(lambda: x[5])
result["float_index"] = error_of(lambda: x[1.5])
result["string_index"] = error_of(lambda: x["a"])
v = tf.Variable([1.0, 2.0, 3.0])
with tf.Session() as sess:
    sess.run(v.initializer)
    result["variable"] = sess.run(v[1:])
    result["slice_assign"] = sess.run(v[0:2].assign([8.0, 9.0]))
