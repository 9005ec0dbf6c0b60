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
