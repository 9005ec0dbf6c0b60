# issue 16: tf.linalg.LinearOperator and its kin: products, solutions, determinants, hints
# tolerance 1e-6
rng = np.random.RandomState(0)
session = tf.Session()
la = tf.linalg


def array(*shape):
    return tf.constant(rng.randn(*shape))


def positive(*shape):
    square = rng.randn(*shape)
    return tf.constant(square @ np.swapaxes(square, -1, -2) + np.eye(shape[-1]))


full = la.LinearOperatorFullMatrix(array(2, 3, 3))
spd = la.LinearOperatorFullMatrix(positive(3, 3), is_self_adjoint=True, is_positive_definite=True)
wide = la.LinearOperatorFullMatrix(array(2, 3))
tril = la.LinearOperatorLowerTriangular(array(2, 3, 3), is_non_singular=True)
diag = la.LinearOperatorDiag(array(3), is_non_singular=True)
pdiag = la.LinearOperatorDiag(tf.exp(array(3)), is_positive_definite=True)
small = la.LinearOperatorDiag(tf.exp(array(2)), is_positive_definite=True)
cdiag = la.LinearOperatorDiag(tf.complex(array(3), array(3)))
identity = la.LinearOperatorIdentity(3, dtype=tf.float64)
stack = la.LinearOperatorIdentity(3, batch_shape=[2], dtype=tf.float64)
scaled = la.LinearOperatorScaledIdentity(3, tf.constant(2.5, tf.float64), is_positive_definite=True)
spectrum = tf.complex(array(3), array(3))
operators = {
    "full": full,
    "spd": spd,
    "tril": tril,
    "diag": diag,
    "pdiag": pdiag,
    "cdiag": cdiag,
    "identity": identity,
    "stack": stack,
    "scaled": scaled,
    "composition": la.LinearOperatorComposition([full, tril, diag]),
    "block_diag": la.LinearOperatorBlockDiag([full, diag, spd]),
    "block_spd": la.LinearOperatorBlockDiag([spd, pdiag]),
    "kronecker": la.LinearOperatorKronecker([full, small]),
    "kronecker_spd": la.LinearOperatorKronecker([spd, small]),
    "low_rank": la.LinearOperatorLowRankUpdate(
        pdiag, array(3, 2), tf.exp(array(2)), is_diag_update_positive=True
    ),
    "low_rank_v": la.LinearOperatorLowRankUpdate(full, array(3, 2), array(2), array(3, 2)),
    "low_rank_one": la.LinearOperatorLowRankUpdate(scaled, array(2, 3, 1)),
    "circulant": la.LinearOperatorCirculant(spectrum, tf.complex128),
    "circulant_real": la.LinearOperatorCirculant(tf.exp(array(2, 4)), tf.complex128),
    "circulant_2d": la.LinearOperatorCirculant2D(
        tf.complex(array(2, 3), array(2, 3)), tf.complex128
    ),
    "circulant_3d": la.LinearOperatorCirculant3D(tf.exp(array(2, 1, 2)), tf.complex128),
    "toeplitz": la.LinearOperatorToeplitz(array(4), array(4)),
    "householder": la.LinearOperatorHouseholder(array(2, 3)),
    "adjoint": full.adjoint(),
    "inverse": tril.inverse(),
}
values = {}
for name, op in operators.items():
    size = op.shape[-1].value
    x = tf.cast(array(2, size, 2), op.dtype)
    v = tf.cast(array(size), op.dtype)
    result[f"{name}_about"] = [
        op.shape.as_list(),
        op.batch_shape.as_list(),
        op.dtype.name,
        op.is_square,
        op.is_non_singular,
        op.is_self_adjoint,
        op.is_positive_definite,
        op.tensor_rank,
    ]
    result[f"{name}_static"] = shape_of(op.matmul(x))
    result[f"{name}_classes"] = [type(op.adjoint()).__name__, type(op.inverse()).__name__]
    values[f"{name}_shapes"] = [op.shape_tensor(), op.batch_shape_tensor()]
    values[f"{name}_dense"] = op.to_dense()
    values[f"{name}_matmul"] = [op.matmul(x), op.matmul(x, adjoint=True)]
    flipped = tf.linalg.adjoint(x)
    values[f"{name}_adjoint_arg"] = op.matmul(flipped, adjoint_arg=True, adjoint=True)
    values[f"{name}_vectors"] = [op.matvec(v), op.solvevec(v)]
    values[f"{name}_solve"] = [op.solve(x), op.solve(x, adjoint=True)]
    values[f"{name}_det"] = [op.determinant(), op.log_abs_determinant()]
    values[f"{name}_diag"] = [op.diag_part(), op.trace()]
    values[f"{name}_add"] = op.add_to_tensor(tf.ones([2, size, size], op.dtype))
    views = [op.adjoint().to_dense(), op.inverse().to_dense()]
    # TensorFlow's views of circulants are of the default dtype, whatever the operator's.
    narrow = name.startswith("circulant")
    values[f"{name}_views"] = [tf.cast(v, tf.complex64) if narrow else v for v in views]
    values[f"{name}_cond"] = tf.cast(op.cond(), tf.float64)
    if op.is_self_adjoint and op.is_positive_definite:
        values[f"{name}_cholesky"] = op.cholesky().to_dense()
        result[f"{name}_cholesky_class"] = type(op.cholesky()).__name__
    else:
        result[f"{name}_not_cholesky"] = error_of(op.cholesky)
    if op.is_self_adjoint:
        values[f"{name}_eigvals"] = tf.sort(tf.cast(op.eigvals(), tf.float64))
result.update(session.run(values))
for name, left, right in (
    ("diags", diag, pdiag),
    ("trils", tril, tril),
    ("identity", identity, full),
    ("by_identity", full, identity),
    ("both", full, spd),
    ("aat", full, full.adjoint()),
    ("scaled", scaled, scaled),
):
    product = left.matmul(right)
    result[f"product_{name}"] = session.run(product.to_dense())
    result[f"product_{name}_about"] = [type(product).__name__, product.is_non_singular]
zeros = la.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False)
result["zeros"] = session.run([zeros.to_dense(), zeros.matmul(tf.ones([3, 1]))])
result["zeros_solve"] = error_of(lambda: zeros.solve(tf.ones([2, 1])))
result["wide"] = session.run([wide.matmul(tf.ones([3, 1], tf.float64)), wide.diag_part()])
result["wide_solve"] = error_of(lambda: wide.solve(tf.ones([2, 1], tf.float64)))
result["wide_det"] = error_of(wide.determinant)
result["wide_inverse"] = error_of(wide.inverse)
result["wrong_size"] = error_of(lambda: full.matmul(tf.ones([2, 1], tf.float64)))
result["wrong_dtype"] = error_of(lambda: full.matmul(tf.ones([3, 1])))
result["wrong_hint"] = error_of(
    lambda: la.LinearOperatorFullMatrix(array(2, 2), is_square=False).is_square
)
result["no_solution"] = error_of(
    lambda: la.LinearOperatorFullMatrix(array(2, 2), is_non_singular=False).solve(array(2, 1))
)
result["contradiction"] = error_of(
    lambda: la.LinearOperatorDiag(array(2), is_non_singular=False, is_positive_definite=True)
)
result["real_diag"] = error_of(lambda: la.LinearOperatorDiag(array(2), is_self_adjoint=False))
result["no_eigvals"] = error_of(full.eigvals)
result["singular"] = error_of(
    lambda: session.run(la.LinearOperatorDiag([1.0, 0.0]).assert_non_singular())
)
result["not_positive"] = error_of(
    lambda: session.run(la.LinearOperatorDiag([1.0, -1.0]).assert_positive_definite())
)
result["not_self_adjoint"] = error_of(lambda: session.run(full.assert_self_adjoint()))
result["asserts"] = [
    session.run([op.assert_non_singular(), op.assert_self_adjoint()]) for op in (spd, pdiag, scaled)
]
rows = tf.placeholder(tf.float64, [None, None])
unknown = la.LinearOperatorFullMatrix(rows)
feed = {rows: [[2.0, 0.0], [1.0, 4.0]]}
result["unknown"] = session.run(
    [
        unknown.shape_tensor(),
        unknown.solvevec(tf.constant([2.0, 5.0], tf.float64)),
        unknown.determinant(),
    ],
    feed,
)
block = la.LinearOperatorBlockDiag([unknown, diag])
result["unknown_block"] = session.run(
    [block.to_dense(), block.matvec(tf.ones([5], tf.float64))], feed
)
kron = la.LinearOperatorKronecker([unknown, diag])
result["unknown_kronecker"] = session.run([kron.to_dense(), kron.trace()], feed)
slope = tf.gradients(spd.log_abs_determinant(), spd.matrix)[0]
result["gradient"] = session.run(tf.linalg.diag_part(slope))
