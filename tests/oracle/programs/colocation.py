# issue 16: devices and colocation groups of nodes, variables' initializers and sums of gradients
def placed(x):
    op = getattr(x, "op", x)
    return [op.device, [g.decode() for g in sorted(op.colocation_groups())]]


cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": ["c:3", "d:4"]})
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    v = tf.Variable(1.0, name="v")
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
result["variables"] = [placed(x) for x in (v, v.initializer, v.value(), v.initial_value)]
result["shared"] = [placed(x) for x in (w.initializer, w.value())]
with tf.device("/cpu:0"):
    a = tf.constant(1.0, name="a")
with tf.device("/gpu:0"):
    b = tf.constant(1.0, name="b")
with tf.colocate_with(a):
    with tf.colocate_with(b):
        result["nested"] = placed(tf.constant(2.0, name="c"))
    result["outer"] = placed(tf.constant(2.0, name="d"))
    with tf.colocate_with(b, ignore_existing=True):
        result["alone"] = placed(tf.constant(2.0, name="e"))
    with tf.colocate_with(None, ignore_existing=True):
        result["nowhere"] = placed(tf.constant(2.0, name="f"))
    with tf.device("/cpu:1"):
        result["device"] = placed(tf.constant(2.0, name="g"))
with tf.colocate_with(tf.get_default_graph().get_tensor_by_name("c:0")):
    result["of_nested"] = placed(tf.constant(2.0, name="h"))
x = tf.placeholder(tf.float32, [2, 2])
(total,) = tf.gradients(tf.matmul(x, x, name="product"), x, colocate_gradients_with_ops=True)
result["sum"] = placed(total)
