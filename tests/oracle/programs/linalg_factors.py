# issue 16: LU, square roots and logarithms of matrices, tridiagonal systems
# tolerance 1e-7
rng = np.random.RandomState(0)
session = tf.Session()


def report(key, value, *by):
    result[key] = session.run(value)
    result[f"{key}_shape"] = shape_of(value)
    for number, slope in enumerate(tf.gradients(value, list(by)) if by else ()):
        result[f"{key}_gradient{number}"] = session.run(tf.convert_to_tensor(slope))


a = tf.constant(rng.randn(2, 4, 4))
b = tf.constant(rng.randn(2, 4, 3))
weights = tf.constant(rng.randn(2, 4, 4))
factors = tf.linalg.lu(a)
one = tf.linalg.lu(a[0])
report("lu", factors.lu)
report("p", factors.p)
report("p_int64", tf.linalg.lu(a, tf.int64).p)
report("lu_large", tf.linalg.lu(tf.constant(rng.randn(70, 70))).lu)
report("reconstruct", tf.linalg.lu_reconstruct(*factors))
report("reconstruct_checked", tf.linalg.lu_reconstruct(*one, validate_args=True))
report("inverse", tf.linalg.lu_matrix_inverse(*factors))
report("solve", tf.linalg.lu_solve(*factors, b), b)
report("solve_one", tf.linalg.lu_solve(*one, b[0], validate_args=True), b)
report("solve_same_rhs", tf.linalg.lu_solve(*factors, b[0]), b)
report("solve_same_matrix", tf.linalg.lu_solve(*one, b), b)
c = tf.complex(a, weights)
report("lu_complex", tf.linalg.lu(c).lu)
positive = tf.matmul(a, a, transpose_b=True)
report("sqrtm", tf.linalg.sqrtm(positive) * weights, positive)
report("sqrtm_complex", tf.linalg.sqrtm(c))
report("sqrtm_jordan", tf.linalg.sqrtm(tf.constant([[2, 1.0], [0, 2]], tf.float64)))
report("logm", tf.linalg.logm(c))
report("logm_jordan", tf.linalg.logm(tf.constant([[2, 1.0], [0, 2]], tf.complex128)))

band = tf.constant(rng.randn(2, 3, 5))
columns = tf.constant(rng.randn(2, 5, 2))
vector = tf.constant(rng.randn(2, 5))
matrix = tf.constant(rng.randn(5, 5))
parts = (band[0, 0, :4], band[0, 1], band[0, 2, 1:])
report("tridiagonal_matmul", tf.linalg.tridiagonal_matmul(band, columns), band, columns)
report(
    "tridiagonal_matmul_matrix",
    tf.linalg.tridiagonal_matmul(matrix, columns[0], diagonals_format="matrix"),
    matrix,
)
report("tridiagonal_solve", tf.linalg.tridiagonal_solve(band, columns), band, columns)
report("tridiagonal_solve_vector", tf.linalg.tridiagonal_solve(band, vector), band, vector)
report(
    "tridiagonal_solve_transposed",
    tf.linalg.tridiagonal_solve(band, tf.matrix_transpose(columns), transpose_rhs=True),
    columns,
)
report(
    "tridiagonal_solve_matrix",
    tf.linalg.tridiagonal_solve(matrix, columns[0], diagonals_format="matrix"),
    matrix,
)
report(
    "tridiagonal_solve_parts",
    tf.linalg.tridiagonal_solve(parts, columns[0], diagonals_format="sequence"),
)
report(
    "tridiagonal_solve_plain", tf.linalg.tridiagonal_solve(band, columns, partial_pivoting=False)
)
report("tridiagonal_solve_singular", tf.linalg.tridiagonal_solve(tf.zeros([3, 2]), tf.ones([2, 1])))
report(
    "tridiagonal_solve_conjugate",
    tf.linalg.tridiagonal_solve(
        tf.complex(band, band / 2), tf.complex(columns, columns), conjugate_rhs=True
    ),
)
result["singular"] = error_of(lambda: session.run(tf.linalg.lu(tf.zeros([2, 2]))))
result["not_square"] = error_of(lambda: tf.linalg.lu(tf.zeros([2, 3])))
result["real_logarithm"] = error_of(lambda: tf.linalg.logm(tf.ones([2, 2])))
result["format"] = error_of(lambda: tf.linalg.tridiagonal_solve(tf.zeros([3, 2]), vector, "x"))
