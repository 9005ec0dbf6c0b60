# issue 16: ranks and sizes known only at run time
"""Group 20: ranks and sizes known only at run time."""

a, b = (tf.placeholder(tf.float64) for _ in range(2))
axes = tf.placeholder(tf.int32)
A, B = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(4, 3)
tall = np.arange(6.0).reshape(3, 2) + np.eye(3, 2)
largest = tf.norm(a, ord=2, axis=[0, 1])
with tf.Session() as sess:
    given = {a: A, b: B}
    result["dot_number"] = sess.run(tf.tensordot(a, b, 1), given)
    result["dot_none"] = sess.run(tf.tensordot(a, b, 0), {a: [1.0, 2.0], b: [3.0]})
    result["dot_lists"] = sess.run(tf.tensordot(a, b, [[1, 2], [1, 0]]), given)
    result["dot_negative"] = sess.run(tf.tensordot(a, b, [[-1], [0]]), given)
    result["dot_pair"] = sess.run(tf.tensordot(a, b, [2, 0]), given)
    fed = {**given, axes: [[1, 2], [1, 0]]}
    result["dot_fed"] = sess.run(tf.tensordot(a, b, axes), fed)
    result["dot_fed_axes"] = sess.run(
        tf.tensordot(tf.constant(A), tf.constant(B), axes), {axes: [[2], [0]]}
    )
    result["dot_gradient"] = sess.run(tf.gradients(tf.tensordot(a, b, 1), [a, b]), given)
    result["norm"] = sess.run(largest, {a: B})
    result["norm_batch"] = sess.run(largest, {a: A})
    result["norm_keeps"] = sess.run(tf.norm(a, ord=2, axis=[-2, -1], keepdims=True), {a: A})
    result["inverse"] = sess.run(tf.linalg.pinv(a), {a: tall})
    result["rank"] = sess.run(tf.linalg.matrix_rank(a), {a: tall})
    for fast in (True, False):
        solution = tf.matrix_solve_ls(a, b, fast=fast)
        result[f"tall_{fast}"] = sess.run(solution, {a: tall, b: np.ones([3, 1])})
        result[f"wide_{fast}"] = sess.run(solution, {a: tall.T, b: np.ones([2, 1])})
    regular = tf.matrix_solve_ls(a, b, l2_regularizer=0.5)
    result["regular"] = sess.run(regular, {a: tall, b: np.ones([3, 1])})
    result["dot_error"] = error_of(lambda: sess.run(tf.tensordot(a, b, 1), {a: A, b: A}))
    result["norm_vector"] = sess.run(tf.norm(a), {a: A})
    result["norm_axis"] = sess.run(tf.norm(a, ord=1, axis=1), {a: A})
    result["norm_fro"] = sess.run(tf.norm(a, ord="fro", axis=[-2, -1]), {a: A})
    singular = tf.svd(a, compute_uv=False)
    result["svd"] = sess.run(singular, {a: tall})
    result["rank_batch"] = sess.run(tf.linalg.matrix_rank(a), {a: A})
half_known = tf.placeholder(tf.float64, [None, 3, None])
result["dot_shape"] = shape_of(tf.tensordot(half_known, tf.constant(B), 1))
result["dot_shapes"] = [
    shape_of(tf.tensordot(half_known, tf.placeholder(tf.float64, [3, 5]), [[1], [0]])),
    shape_of(tf.tensordot(a, b, 1)),
    shape_of(tf.norm(half_known, axis=1)),
    shape_of(tf.linalg.pinv(half_known)),
    shape_of(tf.matrix_solve_ls(half_known, half_known)),
]
