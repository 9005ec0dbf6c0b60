# issue 16: partitioned variables
"""Group 22: partitioned variables."""

two = tf.fixed_size_partitioner(2)
with tf.variable_scope("a", partitioner=two):
    s = tf.get_variable("scalar", [])
    result["scalar"] = [s.name, shape_of(s)]
    v = tf.get_variable("v", [5, 3], initializer=tf.ones_initializer())
    result["parts"] = [p.name for p in v]
result["tensor_name"] = v.as_tensor().name
result["tensor_name2"] = tf.convert_to_tensor(v).name
with tf.variable_scope("a", reuse=True):
    again = tf.get_variable("v")
    result["again"] = again is v
    result["again_parts"] = [p.name for p in again]
    result["again_shape"] = tf.get_variable("v", [5, 3]) is v
    result["bad_shape"] = error_of(lambda: tf.get_variable("v", [4, 3]))
    result["bad_dtype"] = error_of(lambda: tf.get_variable("v", [5, 3], tf.int32))


def other():
    with tf.variable_scope("a", reuse=True, partitioner=tf.fixed_size_partitioner(3)):
        return tf.get_variable("v", [5, 3])


result["other"] = error_of(other)


def plain():
    with tf.variable_scope("a"):
        return tf.get_variable("v", [5, 3])


result["plain"] = error_of(plain)


def auto():
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        return tf.get_variable("v", [5, 3])


result["auto"] = error_of(auto)
tf.get_variable("w", [4])


def cut():
    with tf.variable_scope("", reuse=True, partitioner=two):
        return tf.get_variable("w", [4])


result["cut"] = error_of(cut)


def missing():
    with tf.variable_scope("", reuse=True, partitioner=two):
        return tf.get_variable("none", [4])


result["missing"] = error_of(missing)
result["not_callable"] = error_of(lambda: tf.get_variable("nc", [4], partitioner=3))
result["no_list"] = error_of(lambda: tf.get_variable("nl", [4], partitioner=lambda shape, dtype: 2))
result["zero"] = error_of(lambda: tf.get_variable("z", [4], partitioner=lambda shape, dtype: [0]))
result["rank"] = error_of(
    lambda: tf.get_variable("rk", [4], partitioner=lambda shape, dtype: [1, 2])
)
result["two_axes"] = error_of(
    lambda: tf.get_variable("ta", [4, 4], partitioner=lambda shape, dtype: [2, 2])
)
result["unknown"] = error_of(lambda: tf.get_variable("un", [None, 4], partitioner=two))
one = tf.get_variable(
    "one", [4], partitioner=tf.fixed_size_partitioner(1), initializer=tf.ones_initializer()
)
result["one"] = [p.name for p in one]
result["one_tensor"] = one.as_tensor().name
init = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
cv = tf.get_variable("cv", initializer=init, partitioner=two)
result["cv"] = [shape_of(p) for p in cv]
nv = (
    tf.get_variable("nv", [3], initializer=np.array([1.0, 2.0, 3.0], np.float32), partitioner=two)
    if False
    else None
)
vl = tf.create_partitioned_variables([4, 2], [1, 2], tf.ones_initializer(), name="cp")
result["cp"] = [p.name for p in vl]
vl2 = tf.create_partitioned_variables([4, 2], [1, 1], tf.ones_initializer())
result["cp2"] = [p.name for p in vl2]
result["cp_bad"] = error_of(
    lambda: tf.create_partitioned_variables([4, 2], [2, 2], tf.ones_initializer())
)
result["cp_bad2"] = error_of(
    lambda: tf.create_partitioned_variables([4, 2], [2], tf.ones_initializer())
)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["v"] = sess.run([v.as_tensor(), cv.as_tensor(), one.as_tensor()] + list(vl))
result["slice_info"] = [p._get_save_slice_info().spec for p in v]
reg = tf.get_variable("reg", [4], partitioner=two, regularizer=lambda w: tf.reduce_sum(w))
result["losses"] = [t.name for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]
result["globals"] = [x.name for x in tf.global_variables()]

# what is made of parts: lookups, gradients, slots, checkpoints, layers, recurrent networks
stored = tf.get_variable(
    "stored", [7, 3], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(3)
)
ids = tf.placeholder(tf.int64, [None, 2])
result["looked_up"] = [
    shape_of(tf.nn.embedding_lookup(stored, ids, partition_strategy=strategy))
    for strategy in ("mod", "div")
]
result["as_operand"] = [
    shape_of(t) for t in (tf.matmul(stored, tf.ones([3, 2])), tf.identity(stored)[1:3])
]
result["as_float64"] = error_of(lambda: tf.convert_to_tensor(stored, tf.float64))
found = tf.nn.embedding_lookup(stored, [0, 6, 3])
result["part_gradients"] = [
    type(g).__name__ for g in tf.gradients(tf.reduce_sum(found), list(stored))
]
momentum = tf.train.MomentumOptimizer(0.1, 0.9)
step = momentum.minimize(tf.reduce_sum(tf.convert_to_tensor(stored) ** 2))
result["slots"] = [momentum.get_slot(part, "momentum").name for part in stored]
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(step)
    result["stepped"] = sess.run(tf.convert_to_tensor(stored))
    path = saver.save(sess, f"{tmp_dir}/model")
result["listed"] = [
    [name, shape] for name, shape in sorted(tf.train.list_variables(path)) if "stored" in name
]
for parts in (None, 2, 5):
    partitioner = parts and tf.fixed_size_partitioner(parts)
    with tf.Graph().as_default(), tf.Session() as sess:
        other = tf.get_variable("stored", [7, 3], partitioner=partitioner)
        tf.train.Saver().restore(sess, path)
        result[f"restored_{parts}"] = sess.run(tf.convert_to_tensor(other))
for name, partitioner in (
    ("smallest", tf.min_max_variable_partitioner(max_partitions=3, min_slice_size=16)),
    ("bytes", tf.variable_axis_size_partitioner(64)),
    ("shards", tf.variable_axis_size_partitioner(64, axis=1, max_shards=2)),
    ("axis", tf.fixed_size_partitioner(3, axis=1)),
):
    cut_by = tf.get_variable(name, [10, 6], partitioner=partitioner)
    result[f"cut_{name}"] = [[p.name, shape_of(p)] for p in cut_by]
with tf.variable_scope("outer", partitioner=two):
    with tf.variable_scope("inner"):
        result["inherited"] = [p.name for p in tf.get_variable("x", [4])]
    with tf.variable_scope("one", partitioner=lambda shape, dtype: [1] * len(shape)):
        result["one_part"] = [p.name for p in tf.get_variable("z", [4])]
    tf.layers.dense(tf.ones([2, 4]), 6, name="dense")
    tf.layers.conv2d(tf.ones([1, 4, 4, 4]), 6, 3, name="conv")
    cell = tf.nn.rnn_cell.LSTMCell(2, name="lstm")
    tf.nn.dynamic_rnn(cell, tf.ones([1, 2, 2]), dtype=tf.float32)
    tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(2, name="gru"), [tf.ones([1, 2])] * 2, dtype=tf.float32)
    result["of_texts"] = [
        p.name
        for p in tf.get_variable("text", [4], tf.string, initializer=tf.constant_initializer("a"))
    ]

    def by_offset(shape, dtype, partition_info=None):
        return tf.fill(shape, float(partition_info.var_offset[0]))

    offsets = tf.get_variable("offsets", [5], initializer=by_offset)
result["in_layers"] = [v.name for v in tf.trainable_variables("outer/")]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["offsets"] = sess.run(list(offsets))
result["assigned"] = [shape_of(t) for t in stored.assign(tf.zeros([7, 3]))]
