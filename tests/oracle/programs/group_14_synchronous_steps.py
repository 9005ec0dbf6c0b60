# issue 16: SyncReplicasOptimizer and accumulators with int32 steps
"""Group 14: SyncReplicasOptimizer with an int32 global step, and accumulators' local steps."""


def synchronous(dtype, kind=None, workers=1, start=0):
    """A synchronous training of three steps, with the global step of this dtype."""
    with tf.Graph().as_default():
        w = tf.Variable(4.0, name="w")
        table = tf.Variable(tf.ones([3, 2]), name="table")
        loss = w * w + tf.reduce_sum(tf.gather(table, [0, 2]))
        step = tf.Variable(tf.constant(start, dtype), trainable=False, name="step")
        inner = tf.train.GradientDescentOptimizer(0.1)
        if kind == "momentum":
            inner = tf.train.MomentumOptimizer(0.1, 0.9)
        if kind == "averages":
            averages = tf.train.ExponentialMovingAverage(0.5)
            opt = tf.train.SyncReplicasOptimizer(
                inner, 1, workers, variable_averages=averages, variables_to_average=[w]
            )
        else:
            opt = tf.train.SyncReplicasOptimizer(inner, 1, total_num_replicas=workers)
        train = opt.minimize(loss, global_step=step)
        with tf.Session() as s:
            s.run(tf.global_variables_initializer())
            s.run(opt.chief_init_op)
            opt.get_chief_queue_runner().create_threads(s, daemon=True, start=True)
            s.run(opt.get_init_tokens_op(num_tokens=0))
            for _ in range(3):
                s.run(train)
            found = s.run([w, table, step])
        return found


for dtype in (tf.int32, tf.int64):
    for kind in (None, "momentum", "averages"):
        result[f"{dtype.name} {kind}"] = synchronous(dtype, kind)
    result[f"{dtype.name} started"] = synchronous(dtype, start=5)


def accumulated(dtype, local, fed=False):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2])
    step = tf.placeholder_with_default(tf.constant(local, dtype), []) if fed else None
    apply = accumulator.apply_grad([1.0, 2.0], local_step=local if step is None else step)
    given = tf.constant(3, dtype) if dtype else 3
    with tf.Session() as sess:
        sess.run(accumulator.set_global_step(given))
        sess.run(apply)
        return sess.run(accumulator.num_accumulated())


for dtype in (tf.int32, tf.int64):
    for local in (2, 3):
        result[f"accumulated {dtype.name} {local}"] = accumulated(dtype, local)
        result[f"accumulated {dtype.name} {local} fed"] = error_of(
            lambda: accumulated(dtype, local, True)
        )
dense = tf.ConditionalAccumulator(tf.float32, shape=[2])
rows = tf.SparseConditionalAccumulator(tf.float32, shape=[4, 1])
for kind in (tf.int32, tf.int64, tf.float32):
    number = tf.constant(0, kind)
    result[f"local {kind.name}"] = error_of(lambda: dense.apply_grad([1.0, 2.0], number))
    result[f"global {kind.name}"] = error_of(lambda: dense.set_global_step(number))
    result[f"rows global {kind.name}"] = error_of(lambda: rows.set_global_step(number))
    result[f"rows local {kind.name}"] = error_of(
        lambda: rows.apply_grad([0], [[1.0]], [4, 1], local_step=number)
    )
    result[f"taken {kind.name}"] = error_of(lambda: dense.take_grad(number))
variable = tf.Variable(1, name="ref_step")
result["local ref"] = error_of(lambda: dense.apply_grad([1.0, 2.0], variable))
result["global ref"] = error_of(lambda: dense.set_global_step(variable))
result["shape"] = error_of(lambda: dense.apply_grad([1.0, 2.0, 3.0]))
result["dtype"] = error_of(lambda: dense.apply_grad(tf.constant([1, 2])))
with tf.Session() as sess:
    sess.run(variable.initializer)
    sess.run(dense.apply_grad([1.0, 2.0], tf.cast(variable, tf.int64)))
    result["one"] = sess.run(dense.take_grad(1))
    result["none"] = error_of(lambda: sess.run(dense.take_grad(0)))
    placeholder = tf.placeholder(tf.float32)
    fed = dense.apply_grad(placeholder)
    result["fed shape"] = error_of(lambda: sess.run(fed, {placeholder: [1.0, 2.0, 3.0]}))
