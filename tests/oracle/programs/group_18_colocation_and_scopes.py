# issue 16: devices and colocation of initializers, and scopes that are left in the wrong order
"""Group 18: colocation and devices, and scopes that are left in the wrong order."""


def placed(op):
    return [op.device, sorted(g.decode() for g in op.colocation_groups())]


cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": ["c:3"]})
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    u = tf.get_variable("u", [2], initializer=tf.zeros_initializer())
    w = tf.Variable(tf.zeros([2]), name="w")
    product = u * w
for name, op in (("u", u.op), ("u init", u.initializer), ("w", w.op), ("w init", w.initializer)):
    result[name] = placed(op)
result["product"] = placed(product.op)
result["assign"] = placed(u.assign([1.0, 2.0]).op)
result["add"] = placed(tf.assign_add(w, [1.0, 2.0]).op)
with tf.colocate_with(u.op), tf.colocate_with(w.op):
    result["nested"] = placed(tf.constant(1.0).op)
with tf.colocate_with(u.op), tf.colocate_with(w.op, ignore_existing=True):
    result["existing"] = placed(tf.constant(1.0).op)
with tf.device("/cpu:0"):
    a = tf.Variable([[1.0, 2.0]], name="a")
    b = tf.matmul(a, a, transpose_b=True, name="b")
loss = tf.reduce_sum(b * b + tf.reduce_sum(a))
tf.gradients(loss, a, colocate_gradients_with_ops=True, name="g")
result["gradients"] = {
    op.name: placed(op)
    for op in tf.get_default_graph().get_operations()
    if op.name.startswith("g/") and op.type in ("AddN", "MatMul")
}
chosen = tf.cond(tf.constant(True), lambda: tf.identity(a), lambda: a * 2.0)
result["switch"] = sorted(
    op.device
    for op in tf.get_default_graph().get_operations()
    if op.type in ("Switch", "RefSwitch")
)
graph = tf.Graph()


def crossed(first, second):
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)


with graph.as_default():
    result["devices"] = error_of(lambda: crossed(tf.device("/cpu:0"), tf.device("/cpu:1")))
with tf.Graph().as_default():
    result["scopes"] = error_of(lambda: crossed(tf.variable_scope("a"), tf.variable_scope("b")))
one, two = tf.Session(), tf.Session()
result["sessions"] = error_of(lambda: crossed(one.as_default(), two.as_default()))


def twice():
    with tf.Session() as sess:
        with sess:
            pass


result["session twice"] = error_of(twice)

with tf.Graph().as_default(), tf.variable_scope("aa"):
    inner = tf.variable_scope("bb")
    inner.__enter__()
    with tf.variable_scope("cc"):
        result["left_early"] = error_of(lambda: inner.__exit__(None, None, None))
    result["left_in_turn"] = error_of(lambda: inner.__exit__(None, None, None))
    result["scope_after"] = tf.get_variable_scope().name
result["name_scope_flag"] = error_of(
    lambda: tf.variable_scope("s", auxiliary_name_scope="invalid").__enter__()
)


def with_getter():
    with tf.Graph().as_default(), tf.variable_scope("s", custom_getter=3):
        tf.get_variable("v", [1])


result["no_getter"] = error_of(with_getter)
