# issue 3: linear algebra and its gradients
# tolerance 1e-4
m = tf.constant([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]], tf.float64)
b = tf.constant([[1.0], [2.0], [3.0]], tf.float64)
functions = {
    "inverse": tf.matrix_inverse,
    "determinant": tf.matrix_determinant,
    "cholesky": tf.cholesky,
    "solve": lambda t: tf.matrix_solve(t, b),
    "triangular": lambda t: tf.matrix_triangular_solve(tf.matrix_band_part(t, -1, 0), b),
    "solve_ls": lambda t: tf.matrix_solve_ls(t, b),
    "cholesky_solve": lambda t: tf.cholesky_solve(tf.cholesky(t), b),
    "trace": tf.trace,
    "matmul": lambda t: tf.matmul(t, t, transpose_a=True),
    "matmul_b": lambda t: tf.matmul(t, b, adjoint_a=True),
    "eigenvalues": lambda t: tf.self_adjoint_eigvals(t),
    "singular": lambda t: tf.svd(t, compute_uv=False),
    "logdet": lambda t: tf.linalg.logdet(t),
    "transpose": tf.matrix_transpose,
    "diag_part": tf.matrix_diag_part,
    "set_diag": lambda t: tf.matrix_set_diag(t, t[0] * t[1]),
    "cross": lambda t: tf.cross(t, t[::-1]),
    "kron": lambda t: tf.einsum("ij,kl->ikjl", t, t),
    "norm": lambda t: tf.norm(t),
}
with tf.Session() as sess:
    for name, function in functions.items():
        y = function(m)
        result[name] = sess.run([y, tf.gradients(y * y, m)[0]])
        result[name + "_op"] = y.op.type.rstrip("V2")
    values, vectors = tf.self_adjoint_eig(m)
    result["eig_rebuilt"] = sess.run(tf.matmul(vectors * values, vectors, transpose_b=True))
    s, u, v = tf.svd(m)
    result["svd_rebuilt"] = sess.run(tf.matmul(u * s, v, transpose_b=True))
    q, r = tf.qr(m)
    result["qr_rebuilt"] = sess.run(tf.matmul(q, r))
    result["singular_matrix"] = error_of(
        lambda: sess.run(tf.matrix_inverse([[1.0, 1.0], [1.0, 1.0]]))
    )
    result["not_positive"] = error_of(lambda: sess.run(tf.cholesky([[-1.0, 0.0], [0.0, 1.0]])))
    result["batch"] = sess.run(tf.matrix_inverse([[[2.0]], [[4.0]]]))
result["not_square"] = error_of(lambda: tf.matrix_inverse([[1.0, 2.0]]))
result["inner"] = error_of(lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3])))
result["rank"] = error_of(lambda: tf.matmul(tf.zeros([3]), tf.zeros([3, 2])))
