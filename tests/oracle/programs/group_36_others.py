# issue 16: what no other group has: arguments that were not checked, names, types
"""Group 36: arguments that are checked, types and names of what is left."""


def value(tensor, feeds=None):
    with tf.Session() as sess:
        return sess.run(tensor, feeds)


for equation in ("a->aa", "aa->a"):
    result[f"einsum {equation}"] = error_of(lambda: tf.einsum(equation, tf.eye(2)))
result["csv"] = error_of(lambda: tf.decode_csv(["1"], record_defaults=np.zeros(1)))
result["concat"] = error_of(lambda: tf.concat([], 0))
result["unknown_op"] = error_of(lambda: tf.NotDifferentiable("NobodysOp"))
result["axes"] = error_of(lambda: tf.reduce_sum(tf.ones([2, 2]), [[0], [1]]))
params = np.arange(12.0).reshape(2, 3, 2)
unknown = tf.placeholder(tf.int64)
for batch_dims, indices in ((0, [[1, 2]]), (1, [[[2]], [[0]]]), (1, [[2], [1]])):
    shape = np.shape(indices)
    found = tf.gather_nd(params, unknown, batch_dims=batch_dims)
    result[f"gather_nd {batch_dims} {shape}"] = error_of(lambda: value(found, {unknown: indices}))
    known = tf.gather_nd(params, tf.constant(indices), batch_dims=batch_dims)
    result[f"gather_nd known {batch_dims} {shape}"] = value(known)
    result[f"gather_nd shape {batch_dims} {shape}"] = shape_of(known)
half = tf.placeholder(tf.int64, [None, None, 1])
result["gather_nd half"] = value(
    tf.gather_nd(params, half, batch_dims=1), {half: [[[2], [1]], [[0], [0]]]}
)
result["gather_nd half shape"] = shape_of(tf.gather_nd(params, half, batch_dims=1))
x = tf.placeholder(tf.float32, [2])
for name in ("equal", "less_equal", "greater_equal"):
    result[f"assert_{name} same"] = getattr(tf, f"assert_{name}")(x, x).type
for name, args in (
    ("equal", (1, 1)),
    ("equal", ([1, 2], [1, 2])),
    ("less", (1, 2)),
    ("greater", (2.0, 1.0)),
    ("none_equal", (1, 2)),
    ("equal", (tf.constant(1), tf.constant(1))),
    ("near", (1.0, 1.0)),
):
    made = getattr(tf, f"assert_{name}")(*args)
    result[f"assert_{name} {len(result)}"] = made.type
result["assert_equal bad"] = error_of(lambda: tf.assert_equal(1, 2))
result["assert_equal fed"] = error_of(
    lambda: value(tf.assert_equal(x, [1.0, 2.0]), {x: [1.0, 3.0]})
)
result["assert_positive"] = tf.assert_positive(1).type
result["half_a_rank"] = error_of(lambda: tf.assert_rank(x, 0.5))
result["assert_rank"] = tf.assert_rank(x, 1).type
result["assert_type"] = tf.assert_type(x, tf.float32).type
for name, dtype in (("uint8", tf.uint8), ("uint16", tf.uint16)):
    result[f"one_hot {name}"] = value(tf.one_hot([0, 1], 2, on_value=-1, off_value=-2, dtype=dtype))
result["pad_value"] = value(tf.pad(tf.constant([1], tf.uint8), [[1, 2]], constant_values=-1))
image, kernel = tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1])
for name, pads in (
    ("batch", [[1, 0], [1, 1], [1, 1], [0, 0]]),
    ("depth", [[0, 0], [1, 1], [1, 1], [0, 1]]),
    ("negative", [[0, 0], [-1, 1], [1, 1], [0, 0]]),
):
    result[f"conv_{name}"] = error_of(lambda: tf.nn.conv2d(image, kernel, 1, padding=pads))
    depthwise = lambda: tf.nn.depthwise_conv2d(image, kernel, [1, 1, 1, 1], padding=pads)
    result[f"depthwise_{name}"] = error_of(depthwise)
sides = [[0, 0], [1, 0], [0, 2], [0, 0]]
result["conv"] = value(tf.nn.conv2d(image, kernel, 1, padding=sides))
crops = lambda: tf.batch_to_space(tf.ones([4, 1, 1, 1]), [[3, 0], [0, 0]], 2)
result["crops"] = error_of(crops)
result["where"] = value(tf.where_v2([True, False], 1, [2, 3]))
result["where type"] = tf.where_v2(True, 1, 2).dtype.name
result["complex norm"] = value(tf.norm(tf.constant([3.0 + 4j, 0.0])))
result["histogram"] = tf.histogram_fixed_width_bins([0.5], [0.0, 1.0], 4).dtype.name
result["two devices"] = error_of(lambda: tf.DeviceSpec.from_string("/cpu:0/gpu:1"))
result["device"] = tf.DeviceSpec.from_string("/job:a/cpu:1").to_string()
for addresses in (["host"], ["host:1"], {1: "other"}, ["a", "b:2"]):
    spec = tf.train.ClusterSpec({"job": addresses})
    result[f"cluster {addresses}"] = [spec.as_dict(), spec.jobs, spec.num_tasks("job")]
    result[f"cluster def {addresses}"] = [
        [k, v] for k, v in sorted(spec.as_cluster_def().job[0].tasks.items())
    ]
result["cluster number"] = error_of(lambda: tf.train.ClusterSpec({"job": [3]}))
writer = tf.python_io.TFRecordWriter(f"{tmp_dir}/records")
writer.close()
result["written late"] = error_of(lambda: writer.write(b"a"))
for second in (
    tf.FIFOQueue(3, tf.int32, shared_name="q"),
    tf.FIFOQueue(2, tf.int64, shared_name="q"),
):
    first = tf.FIFOQueue(2, tf.int32, shared_name="q")

    def both():
        with tf.Session() as sess:
            sess.run(first.size())
            sess.run(second.size())

    result[f"shared {second.dtypes[0].name}"] = error_of(both)
graph_def = tf.GraphDef()
node = graph_def.node.add()
node.name, node.op = "p", "NoOp"
graph_def.versions.min_consumer = 10**6
result["min_consumer"] = error_of(lambda: tf.import_graph_def(graph_def))
z = tf.constant([1.0, 2.0])
again = tf.recompute_grad(lambda a, b: tf.sin(a) * b * b)(z, z + 1.0)
result["recomputed"] = value([again, *tf.gradients(again, z)])

with tf.Graph().as_default() as graph:
    found = []
    for name in ("/", "//", "a//b/c", "", "foo5//"):
        with tf.name_scope("outer/"), tf.name_scope(name) as scope:
            found.append(scope)
    result["scopes_of_slashes"] = found
    one = tf.constant(1, name="one")
    result["not_names"] = [
        error_of(lambda: graph.as_graph_element("one:0:1")),
        error_of(lambda: tf.name_scope("a", [one]).__enter__()),
        error_of(lambda: tf.register_tensor_conversion_function(3, lambda: 0)),
        error_of(lambda: tf.train.Coordinator().request_stop("no")),
    ]
    placed = graph.create_op(
        "Placeholder",
        [],
        [tf.float32],
        attrs={
            "dtype": tf.AttrValue(type=tf.float32.as_datatype_enum),
            "shape": tf.AttrValue(shape=tf.TensorShape([2]).as_proto()),
        },
    )
    result["created"] = [placed.outputs[0].dtype.name, shape_of(placed.outputs[0])]
    placed._set_attr("_mark", tf.AttrValue(s=b"x"))
    result["mark"] = placed.get_attr("_mark").decode()
    result["array_index"] = shape_of(tf.ones([2, 3])[np.array(0)])
