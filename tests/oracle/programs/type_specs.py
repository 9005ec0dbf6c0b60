# issue 16: specs of values, raw ops, gradients passed through, the scope of initializers
spec = tf.TensorSpec([None, 3], tf.float32, "x")
result["spec"] = [spec.shape.as_list(), spec.dtype.name, spec.name, repr(tf.TensorSpec([2, 3]))]
result["equal"] = [
    spec == tf.TensorSpec([None, 3], tf.float32, "x"),
    spec == tf.TensorSpec([None, 3], tf.float32),
    spec == tf.TensorSpec([2, 3], tf.float32, "x"),
    hash(spec) == hash(tf.TensorSpec([None, 3], tf.float32, "x")),
    tf.SparseTensorSpec([2, 3]) == tf.SparseTensorSpec([2, 3]),
    tf.SparseTensorSpec([2, 3]) == tf.SparseTensorSpec([2, 3], tf.int32),
    tf.IndexedSlicesSpec([2, 3]) == tf.IndexedSlicesSpec([2, 3]),
    tf.IndexedSlicesSpec([2, 3]) == tf.IndexedSlicesSpec([2, 4]),
    tf.TensorSpec(None) == tf.TensorSpec([]),
    tf.TensorSpec([2, 3]) == tf.SparseTensorSpec([2, 3]),
]
x = tf.placeholder(tf.float32, [5, 3], name="fed")
result["compatible"] = [
    spec.is_compatible_with(x),
    spec.is_compatible_with(tf.zeros([5, 4])),
    spec.is_compatible_with(tf.zeros([5, 3], tf.int32)),
    spec.is_compatible_with(tf.TensorSpec([7, 3])),
    tf.SparseTensorSpec([2, 3]).is_compatible_with(tf.SparseTensor([[0, 0]], [1.0], [2, 3])),
]
made = tf.TensorSpec.from_tensor(x)
result["from"] = [made.shape.as_list(), made.name, tf.TensorSpec.from_spec(made, "y").name]
with tf.Session() as sess:
    result["raw"] = sess.run(
        [
            tf.raw_ops.Add(x=1.0, y=2.0),
            tf.raw_ops.MatMul(a=[[1.0, 2.0]], b=[[3.0, 4.0]], transpose_b=True),
            tf.raw_ops.Pack(values=[1, 2], axis=0),
            tf.raw_ops.Cast(x=[1.7], DstT=tf.int32),
            tf.raw_ops.TopKV2(input=[1.0, 3.0, 2.0], k=2, sorted=True).indices,
        ]
    )
    result["raw_name"] = tf.raw_ops.Relu(features=[1.0], name="mine").name
    result["raw_errors"] = [
        error_of(lambda: tf.raw_ops.Add(1.0, 2.0)),
        error_of(lambda: tf.raw_ops.NoSuchOp()),
    ]
    v = tf.constant([1.2, 2.7])
    rounded = tf.grad_pass_through(tf.round)(v)
    result["pass_through"] = sess.run([rounded, tf.gradients(rounded * [2.0, 3.0], v)[0]])
with tf.control_dependencies([x]), tf.name_scope("outer"):
    with tf.init_scope():
        inside = tf.constant(1.0)
result["init_scope"] = [len(inside.op.control_inputs), inside.name]
