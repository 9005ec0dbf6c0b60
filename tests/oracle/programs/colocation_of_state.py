# issue 16: where ops on variables, initializers, slots and gradients stand, node by node


def nodes(*types):
    """Name -> device and groups, of the nodes of these types."""
    found = {}
    for op in tf.get_default_graph().get_operations():
        if op.type in types and "ExponentialMovingAverage/" not in op.name:
            found[op.name] = [op.device, [g.decode() for g in op.colocation_groups()]]
    return found


STATE = ("VariableV2", "Assign", "AssignAdd", "AssignSub", "ScatterUpdate", "StridedSliceAssign")
STATE += ("CountUpTo", "IsVariableInitialized", "RefSwitch", "RestoreV2", "SaveV2", "Gather")
APPLY = tuple(
    name + rule
    for name in ("Apply", "SparseApply", "ResourceApply")
    for rule in ("Adam", "Adagrad", "Momentum", "Ftrl", "CenteredRMSProp", "GradientDescent")
) + ("ScatterSub", "ScatterAdd", "NoOp")


def initializers():
    return {n: p for n, p in nodes("Const", "RandomUniform", "Sub").items() if "/Init" in n}


# Between graphs: variables on the parameter servers, the rest on the worker.
cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": ["c:3", "d:4"]})
setter = tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:1")
with tf.device(setter):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [3, 4], initializer=tf.random_normal_initializer())
    b = tf.Variable(tf.zeros([4]), name="b")
    late = tf.Variable(lambda: tf.zeros([2]), name="late")
    w2 = tf.get_variable("w2", [4, 2])
    h = tf.nn.relu(tf.matmul(x, w) + b)
    loss = tf.reduce_sum(tf.square(tf.matmul(h, w2)))
    tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    v = tf.Variable(tf.zeros([5, 2]), name="v")
    v.assign_add(tf.ones([5, 2]))
    tf.scatter_update(v, [1], [[1.0, 2.0]])
    tf.assign(b, tf.zeros([4]))
    v[1:2].assign([[3.0, 4.0]])
    tf.count_up_to(tf.Variable(0, name="counter"), 5)
    tf.is_variable_initialized(v)
    tf.clip_by_global_norm([w, b], 1.0)
    tf.global_variables_initializer()
    tf.train.Saver()
result["between"] = nodes(*STATE, *APPLY, "L2Loss")
result["between initializers"] = initializers()
result["class"] = [g.decode() for g in w2.initial_value.op.get_attr("_class")]
result["own class"] = [g.decode() for g in w2.op.get_attr("_class")]
result["no class"] = error_of(lambda: b.op.get_attr("_class"))

# An explicit device gives way to that of the variable.
tf.reset_default_graph()
with tf.device("/job:ps/task:0"):
    v = tf.Variable(tf.zeros([5, 2]), name="v")
    u = tf.Variable(tf.zeros([5, 2]), name="u")
with tf.device("/job:worker/task:0"):
    added = v.assign_add(tf.ones([5, 2]), name="added")
    after = tf.identity(added, name="after")
with tf.device("/cpu:0"):
    n = tf.Variable(1.0, name="n")
    n.assign(2.0)
with tf.colocate_with(u):
    q = tf.get_variable("q", [2], initializer=tf.zeros_initializer)
    with tf.device("/gpu:1"):
        r = tf.get_variable("r", [2], initializer=tf.zeros_initializer)
        tf.zeros([3], name="inside")
    with tf.colocate_with(n):
        tf.zeros([3], name="both")
        tf.assign(v, u)
tf.cond(tf.constant(True), lambda: v.assign_add(tf.ones([5, 2])), lambda: v + 1.0)
with tf.device("/job:worker"):
    tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, s + tf.reduce_sum(u)),
        [tf.constant(0), tf.constant(0.0)],
    )
result["explicit"] = nodes(*STATE, "Switch", "Merge", "Enter", "Exit")
result["explicit constants"] = {k: p for k, p in nodes("Const").items() if "/" not in k}
result["nowhere"] = error_of(lambda: tf.colocate_with(None).__enter__())

# In one graph: towers on two devices, sums of gradients of each first.
tf.reset_default_graph()
with tf.device("/cpu:0"):
    w = tf.get_variable("w", [3, 2])
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
losses, pairs = [], []
for i in range(2):
    with tf.device(f"/gpu:{i}"), tf.name_scope(f"tower_{i}"):
        loss = tf.reduce_sum(tf.matmul(tf.ones([4, 3]), w)) + tf.nn.l2_loss(w)
        losses.append(loss)
        pairs += optimizer.compute_gradients(loss, [w], colocate_gradients_with_ops=True)
optimizer.apply_gradients([(pairs[0][0] + pairs[1][0], w)])
tf.train.ExponentialMovingAverage(0.9).apply([w])
total = tf.add_n(losses)
tf.train.AdagradOptimizer(0.1).minimize(total, colocate_gradients_with_ops=True)
result["towers"] = nodes(*STATE, *APPLY, "AddN", "L2LossGrad")
result["towers initializers"] = initializers()

# Partitioned variables and the slots of their parts.
tf.reset_default_graph()
with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        p = tf.get_variable("p", [4, 3], initializer=tf.ones_initializer())
        e = tf.get_variable("e", [10, 3])
    rows = tf.nn.embedding_lookup(e, tf.constant([1, 5]))
    loss = tf.reduce_sum(rows) + tf.reduce_sum(tf.convert_to_tensor(p))
    tf.train.AdagradOptimizer(0.1).minimize(loss)
    tf.train.FtrlOptimizer(0.1, name="F").minimize(loss)
    tf.train.AdamOptimizer(0.1).minimize(loss, colocate_gradients_with_ops=True)
    tf.train.RMSPropOptimizer(0.1, centered=True).minimize(loss)
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)
result["partitioned"] = nodes(*STATE, *APPLY, "GatherV2")
result["partitioned initializers"] = {n: p for n, p in initializers().items() if "/F/" not in n}
