# issue 16: masks as indices
"""Group 5: x[mask] is boolean_mask."""

x = tf.constant([[1, 5], [7, 2]])
v = tf.Variable([1.0, 3.0])
with tf.Session() as sess:
    sess.run(v.initializer)
    result["mask_tensor"] = sess.run(x[x > 2])
    result["mask_rows"] = sess.run(x[np.array([True, False])])
    result["mask_array"] = sess.run(x[np.array([[True, False], [False, True]])])
    result["mask_variable"] = sess.run(v[v > 2.0])
    result["mask_shape"] = shape_of(x[x > 2])
    result["mask_gradient"] = sess.run(tf.gradients(v[v > 2.0], v)[0])
result["mask_too_long"] = error_of(lambda: x[np.array([True, False, True])])
result["mask_scalar"] = error_of(lambda: x[tf.constant(True)])
unknown = tf.placeholder(tf.float32, [None, 2])
mask = tf.placeholder(tf.bool, [None])
with tf.Session() as sess:
    fed = {unknown: [[1.0, 2.0], [3.0, 4.0]], mask: [False, True]}
    result["mask_fed"] = sess.run(unknown[mask], fed)
    result["mask_fed_all"] = sess.run(unknown[unknown > 1.5], fed)
    result["mask_none"] = sess.run(unknown[unknown > 9.0], fed)
    result["mask_list"] = error_of(lambda: sess.run(x[[True, False]]))
result["mask_fed_shape"] = [shape_of(unknown[mask]), shape_of(unknown[unknown > 1.5])]
result["mask_no_rank"] = error_of(lambda: x[tf.placeholder(tf.bool)])
result["mask_by_number"] = error_of(lambda: x[np.array([1, 0])])
result["mask_in_tuple"] = error_of(lambda: x[tf.constant([True, False]), 0])
