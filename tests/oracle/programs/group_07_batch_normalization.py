# issue 16: tf.layers.batch_normalization: fused or not, float16, several axes, renorm, virtual batches
"""Group 7: tf.layers.batch_normalization: fused or not, float16, several axes, renorm."""


def normalized(shape, steps=3, dtype="float32", fed=False, training=True, **options):
    """Outputs of several steps, what the variables are afterwards, and the gradient by x."""
    with tf.Graph().as_default():
        x = tf.constant(np.random.RandomState(0).randn(*shape).astype(dtype))
        flag = tf.placeholder_with_default(training, []) if fed else training
        y = tf.layers.batch_normalization(x, training=flag, name="bn", **options)
        grad = tf.gradients(tf.reduce_sum(tf.cast(y, tf.float32) ** 3), x)[0]
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            tolerance = 2 if dtype == "float16" else 3
            outputs = [
                np.round(sess.run([y, updates])[0].astype(np.float64), tolerance)
                for _ in range(steps)
            ]
            values = {v.name: np.round(sess.run(v), 4) for v in tf.global_variables()}
            variables = [(v.name, v.shape.as_list(), v.trainable) for v in tf.global_variables()]
            out = {"outputs": outputs[-1], "values": values, "variables": variables}
            if dtype == "float32":
                out["gradient"] = np.round(sess.run(grad), 2)
            out.update(dtype=y.dtype.name, shape=shape_of(y))
            return out


result["default"] = normalized((4, 3, 3, 2))
result["not_fused"] = normalized((4, 3, 3, 2), fused=False)
result["matrix"] = normalized((6, 3))
result["half"] = normalized((6, 3), dtype="float16")
result["half_images"] = normalized((4, 3, 3, 2), dtype="float16")
result["half_fed"] = normalized((4, 3, 3, 2), dtype="float16", fed=True)
result["double"] = normalized((4, 3, 3, 2), dtype="float64")
result["two_axes"] = normalized((4, 3, 3, 2), axis=[1, 2])
result["axes_apart"] = normalized((4, 3, 3, 2), axis=[1, 3])
result["renorm"] = normalized((6, 3), renorm=True)
result["renorm_images"] = normalized((4, 3, 3, 2), renorm=True)
result["renorm_fed"] = normalized((6, 3), renorm=True, fed=True)
result["renorm_not_training"] = normalized((6, 3), renorm=True, training=False)
result["renorm_clipped"] = normalized(
    (6, 3), renorm=True, renorm_clipping={"rmax": 1.5, "rmin": 0.5, "dmax": 0.2}
)
result["virtual"] = normalized((6, 3, 2), virtual_batch_size=2)
result["virtual_images"] = normalized((6, 3, 3, 2), virtual_batch_size=3)


def adjustment(shape):
    return tf.ones([1, 3]) * 2.0, tf.ones([1, 3]) * 0.5


result["adjustment"] = normalized((6, 3), adjustment=adjustment)
result["adjustment_fed"] = normalized((6, 3), adjustment=adjustment, fed=True, training=False)
result["bad_axis"] = error_of(lambda: normalized((6, 3), axis=5))
result["axis_twice"] = error_of(lambda: normalized((6, 3), axis=[1, 1]))
half = tf.nn.batch_normalization(
    tf.constant([[1.0, 2.0]], tf.float16),
    tf.constant([0.0, 1.0]),
    tf.constant([1.0, 2.0]),
    tf.constant([0.1, 0.2]),
    tf.constant([1.0, 1.0]),
    1e-3,
)
with tf.Session() as sess:
    result["statistics_of_half"] = sess.run(half)

result["fused_unknown_batch"] = []
with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [None, 2, 2, 3])
    y = tf.layers.batch_normalization(x, training=True, momentum=0.5, epsilon=0.1, name="a")
    z = tf.layers.batch_normalization(x, training=False, scale=False, name="b")
    c = tf.layers.batch_normalization(x, center=False, training=True, fused=False, name="c")
    same = tf.layers.batch_normalization(x, training=True, momentum=0.5, name="a", reuse=True)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    fed = np.random.RandomState(3).randn(5, 2, 2, 3)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for run in range(2):
            found = sess.run([y, z, c, *updates], {x: fed})[:3]
            result[f"fed {run}"] = [np.round(v, 3) for v in found]
        result["moved"] = {v.name: np.round(sess.run(v), 4) for v in tf.global_variables()}
    result["names"] = [[v.name, v.trainable] for v in tf.global_variables()]
    result["updates"] = len(updates)
    result["shapes"] = [shape_of(y), shape_of(c)]
result["first_channels"] = normalized((4, 2, 3, 3), axis=1, fused=False)
result["vector"] = error_of(lambda: normalized((3,)))
result["last_axis"] = normalized((3, 2, 2), axis=-1, momentum=0.9)
result["half_renorm"] = error_of(lambda: normalized((6, 3), dtype="float16", renorm=True))
result["fused_renorm"] = error_of(lambda: normalized((4, 3, 3, 2), fused=True, renorm=True))
result["fused_matrix"] = error_of(lambda: normalized((4, 3), fused=True))
result["virtual_odd"] = error_of(lambda: normalized((5, 3), virtual_batch_size=2))
result["virtual_renorm"] = error_of(lambda: normalized((6, 3), virtual_batch_size=2, renorm=True))
result["bad_clipping"] = error_of(
    lambda: normalized((6, 3), renorm=True, renorm_clipping={"nothing": 1.0})
)
result["adjusted_fused"] = error_of(
    lambda: normalized((4, 3, 3, 2), fused=True, adjustment=adjustment)
)
result["unknown_axis"] = error_of(
    lambda: tf.layers.batch_normalization(tf.placeholder(tf.float32, [None, None]), training=True)
)
result["unknown_rank"] = error_of(
    lambda: tf.layers.batch_normalization(tf.placeholder(tf.float32), training=True)
)
moments = tf.nn.moments(tf.constant([[1.0, 2.0], [5.0, 4.0]], tf.float16), [0])
with tf.Session() as sess:
    result["moments_of_half"] = sess.run(moments)
