# issue 16: what TensorFlow 1.15's own tests of ops ask for, and once found different here
session = tf.Session()
section = tf.CriticalSection(shared_name="lock")
result["inside itself"] = error_of(
    lambda: section.execute(lambda: section.execute(lambda: tf.constant(1.0) + 1))
)
other, v = tf.CriticalSection(), tf.get_variable("v", initializer=0.0, use_resource=True)
section.execute(lambda: v + 1)
result["two sections"] = error_of(lambda: other.execute(lambda: v + 1))
result["two that read"] = error_of(
    lambda: other.execute(lambda: v + 1, exclusive_resource_access=False)
)
captured = section.execute(lambda: tf.identity(1.0))
result["captured"] = session.run(section.execute(lambda: captured + 1.0))
result["collection"] = len(tf.get_collection("critical_sections"))

la = tf.linalg
result["identity"] = [
    error_of(lambda: la.LinearOperatorIdentity([2])),
    error_of(lambda: la.LinearOperatorIdentity(-2)),
    error_of(lambda: la.LinearOperatorIdentity(2, batch_shape=2)),
    error_of(lambda: la.LinearOperatorIdentity(2, batch_shape=[2.0])),
    error_of(lambda: la.LinearOperatorIdentity(2, batch_shape=[-2])),
    error_of(lambda: la.LinearOperatorIdentity(2, is_non_singular=None)),
]
rows, batch, x = tf.placeholder(tf.int32), tf.placeholder(tf.int32), tf.placeholder(tf.float32)
dense = la.LinearOperatorIdentity(rows, batch_shape=batch, assert_proper_shapes=True).to_dense()
result["identity, fed"] = session.run(dense, {rows: 2, batch: [2]})
for name, given in (
    ("rows", ([2], [1])),
    ("sign", (-2, [1])),
    ("batch", (2, 2)),
    ("signs", (2, [-2])),
):
    result["identity, " + name] = error_of(
        lambda: session.run(dense, {rows: given[0], batch: given[1]})
    )
product = la.LinearOperatorIdentity(rows, batch_shape=batch).matmul(x)
result["identity, batch"] = session.run(
    product, {rows: 3, batch: [2, 1], x: np.arange(12.0).reshape(1, 1, 3, 4)}
)
result["devices"] = [
    tf.DeviceSpec.from_string(text).to_string()
    for text in ("/gpu:1", "/device:Mine:2", "/device:cpu:0")
]

# Values: of Switches by themselves, of axes that are named twice, of nothing.
constant = tf.constant([[1.0, 2.0], [3.0, 4.0]])
pred = tf.placeholder(tf.bool)
x, y = tf.constant(2.0), tf.constant(True)
on_false, on_true = (tf.raw_ops if hasattr(tf, "raw_ops") else tf).Switch(data=x, pred=pred)
gradients = [tf.gradients(3 * on_true, x)[0], tf.gradients(on_false, x)[0]]
result["switch"] = [session.run(gradients, {pred: value}) for value in (True, False)]
result["empty maxima"] = [
    session.run(reduce(tf.zeros(shape), axis))
    for reduce in (tf.reduce_max, tf.reduce_min)
    for shape in ([0, 2], [2, 0])
    for axis in (-1, 0, -2)
]
result["empty exponentials"] = [
    list(session.run(tf.linalg.expm(tf.zeros(s))).shape) for s in ([0, 2, 2], [2, 0, 0])
]
axes = tf.placeholder(tf.int32)
product = tf.tensordot(tf.placeholder_with_default(constant, None), constant, axes)
result["axes"] = [
    session.run(product, {axes: given}) for given in ([[1], [0]], [[0], [1]], [[0, 1], [1, 0]])
]
for given in (1, [1], [0, 1], [[1]], [[0], [7]]):
    result["axes " + str(given)] = error_of(lambda: session.run(product, {axes: given}))
result["protos"] = [
    [list(getattr(p, f)) for f in ("int_val", "int64_val", "float_val", "bool_val", "scomplex_val")]
    + [len(p.tensor_content)]
    for p in map(
        tf.make_tensor_proto,
        (
            10,
            np.int64(3),
            1.5,
            True,
            [True, False],
            [1, 2],
            [1.0, 2.0],
            np.complex64(1 + 2j),
            np.zeros([0, 2]),
        ),
    )
]
