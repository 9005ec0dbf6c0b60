# issue 3: axes given every way, kept dimensions, unknown shapes
x = tf.constant(np.arange(24.0).reshape(2, 3, 4), tf.float32)
p = tf.placeholder(tf.float32, [None, 3, None])
axes = {
    "none": None,
    "zero": 0,
    "list": [0, 2],
    "tuple": (1,),
    "negative": -1,
    "numpy": np.array([0, 1]),
    "tensor": tf.constant([1, 2]),
    "empty": [],
}
functions = ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"]
with tf.Session() as sess:
    for name, axis in axes.items():
        for function in functions:
            y = getattr(tf, function)(x / 10.0, axis)
            result[f"{function}_{name}"] = sess.run(y)
            result[f"{function}_{name}_static"] = [
                shape_of(y),
                shape_of(getattr(tf, function)(p, axis, keepdims=True)),
            ]
    fed = tf.placeholder(tf.int32, [None])
    dynamic = tf.reduce_sum(x, fed)
    result["dynamic"] = [sess.run(dynamic, {fed: [1]}), shape_of(dynamic)]
    result["bool"] = sess.run(
        [tf.reduce_all([[True, False]], 0), tf.reduce_any([[True, False]], [0, 1])]
    )
    result["int"] = sess.run(
        [tf.reduce_mean(tf.constant([1, 2, 2])), tf.reduce_sum(tf.constant([200, 100], tf.uint8))]
    )
    result["argmax"] = [sess.run(tf.argmax(x, axis)) for axis in (0, 1, -1)]
    result["repeated"] = error_of(lambda: sess.run(tf.reduce_sum(x, [1, 1])))
    result["out_of_range"] = error_of(
        lambda: sess.run(tf.reduce_sum(x, tf.placeholder_with_default([7], [1])))
    )
result["both_spellings"] = error_of(lambda: tf.reduce_sum(x, axis=0, reduction_indices=0))
result["names"] = [
    tf.reduce_sum(x).name,
    tf.reduce_mean(x, 1).name,
    tf.reduce_mean(x, 1).op.inputs[1].name,
]
