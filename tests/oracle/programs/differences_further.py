# issue 16: what was left of variables, sparse tensors, sessions, shapes, text and checks
def value(build, feeds=None):
    with tf.Session() as sess:
        tensor = build()
        sess.run(tf.global_variables_initializer())
        return sess.run(tensor, feeds)


seen = {}


def remember(getter, *args, **kwargs):
    names = ("trainable", "synchronization", "aggregation")
    seen.update({n: str(kwargs.get(n)) for n in names})
    return getter(*args, **kwargs)


with tf.variable_scope("remembered", custom_getter=remember):
    tf.get_variable("x", [])
result["getter"] = seen
sparse = tf.SparseTensor([[0, 0], [1, 1]], [4.0, -2.0], [2, 2])
positive = tf.SparseTensor([[0, 0], [1, 1]], [4.0, 9.0], [2, 2])
for name in ("abs", "negative", "square", "sign", "tanh", "erf"):
    found = getattr(tf.math, name)(sparse)
    result[name] = value(lambda: tf.sparse_tensor_to_dense(found))
result["sqrt"] = value(lambda: tf.sparse_tensor_to_dense(tf.sqrt(positive)))
result["no_exp"] = error_of(lambda: tf.exp(sparse))
a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
with tf.Session() as sess:
    call = sess.make_callable(a + b, [a, b], accept_options=True)
    result["with_options"] = call(1.0, 2.0, options=tf.RunOptions(), run_metadata=tf.RunMetadata())
config = tf.ConfigProto(experimental=tf.ConfigProto.Experimental(collective_group_leader="x"))
config.session_inter_op_thread_pool.add(num_threads=1)
config.gpu_options.experimental.use_unified_memory = True
result["config"] = [
    config.experimental.collective_group_leader,
    config.session_inter_op_thread_pool[0].num_threads,
    tf.GPUOptions.Experimental().num_dev_to_dev_copy_streams,
    tf.RunOptions().experimental.use_run_handler_pool,
]
unknown = tf.placeholder(tf.float32)
result["batch_to_space"] = shape_of(tf.batch_to_space(unknown, [[0, 0], [0, 0]], block_size=2))
result["space_to_batch"] = shape_of(tf.space_to_batch(unknown, [[0, 0], [0, 0]], block_size=2))
result["remainder"] = int(5 % tf.Dimension(3))
result["sizes"] = value(lambda: tf.constant([10, tf.Dimension(20)], dtype=tf.int32))
result["print_braces"] = value(lambda: tf.print({"{}": tf.constant(1)}))
result["print_stream"] = error_of(lambda: tf.print("x", output_stream="unknown"))
result["einsum"] = error_of(lambda: tf.einsum("a->aa", tf.ones([2])))
result["csv"] = error_of(lambda: tf.decode_csv(["1"], record_defaults=np.zeros(1)))
result["unknown_op"] = error_of(lambda: tf.NotDifferentiable("NobodysOp"))
result["axes"] = error_of(lambda: tf.reduce_sum(tf.ones([2, 2]), [[0], [1]]))
x = tf.placeholder(tf.float32, [2])
result["same"] = tf.assert_equal(x, x).type
result["half_a_rank"] = error_of(lambda: tf.assert_rank(x, 0.5))
