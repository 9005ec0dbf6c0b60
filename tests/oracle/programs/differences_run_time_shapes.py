# issue 16: ranks and sizes known only at run time; sparse values as labels; variables in custom_gradient
a, b = (tf.placeholder(tf.float64) for _ in range(2))
axes = tf.placeholder(tf.int32)
A, B = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(4, 3)
tall = np.arange(6.0).reshape(3, 2) + np.eye(3, 2)
labels = tf.SparseTensorValue(
    np.array([[0, 0], [1, 0], [1, 1]], np.int64),
    np.array([1, 0, 2], np.int64),
    np.array([2, 2], np.int64),
)
scores = tf.constant([[0.1, 0.5, 0.4], [0.3, 0.1, 0.6]])
ranked = {
    name: getattr(tf.metrics, name)(labels, scores, 2)[1]
    for name in ("recall_at_k", "precision_at_k", "average_precision_at_k")
}
largest = tf.norm(a, ord=2, axis=[0, 1])
with tf.Session() as sess:
    sess.run(tf.local_variables_initializer())
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
    for name, update in ranked.items():
        result[name] = sess.run(update)
    result["sparse_value"] = sess.run([tf.shape(labels), tf.size(labels), tf.rank(labels)])


@tf.custom_gradient
def scaled(x):
    v = tf.get_variable("v", initializer=3.0, use_resource=True)

    def grad(dy, variables=None):
        return dy * 7.0, [dy * 5.0 for _ in variables]

    return x * x * v, grad


@tf.custom_gradient
def careless(x):
    return x * tf.get_variable("w", initializer=3.0, use_resource=True), lambda dy: dy


x = tf.constant(2.0)
y = scaled(x)
grads = tf.gradients(y, [x, *tf.global_variables()])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["custom_gradient"] = sess.run([y, *grads])
result["careless"] = error_of(lambda: careless(x))
