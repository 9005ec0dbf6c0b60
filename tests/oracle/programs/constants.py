# issue 3: constants and the tensors that fill themselves
out = {
    "scalar": tf.constant(3),
    "filled": tf.constant(7.0, shape=[2, 2]),
    "reshaped": tf.constant([1, 2, 3, 4, 5, 6], shape=[2, 3]),
    "typed": tf.constant([1, 2], dtype=tf.float64),
    "string": tf.constant(["a", "bc"]),
    "unicode": tf.constant("é"),
    "empty": tf.constant([], dtype=tf.int32),
    "zeros": tf.zeros([2, 3]),
    "zeros_int": tf.zeros([2], tf.int32),
    "zeros_string": tf.zeros([2], tf.string),
    "ones": tf.ones([2, 1], dtype=tf.float64),
    "zeros_like": tf.zeros_like([[1, 2], [3, 4]]),
    "ones_like": tf.ones_like([1.5], dtype=tf.int64),
    "fill": tf.fill([2, 3], 9),
    "range": tf.range(5),
    "range_step": tf.range(10, 3, -2),
    "range_float": tf.range(0.0, 1.0, 0.25),
    "linspace": tf.linspace(10.0, 13.0, 4),
    "lin_space": tf.lin_space(0.0, 1.0, 3),
    "eye": tf.eye(2, 3),
    "eye_batch": tf.eye(2, batch_shape=[2]),
    "diag": tf.diag([1, 2, 3]),
}
for key, value in out.items():
    result[key + "_name"] = value.name
with tf.Session() as sess:
    result.update(sess.run(out))
result["const_attr"] = (
    out["scalar"].op.get_attr("dtype").name
    if hasattr(out["scalar"].op.get_attr("dtype"), "name")
    else str(out["scalar"].op.get_attr("dtype"))
)
result["bad_shape"] = error_of(lambda: tf.constant([1, 2, 3], shape=[2, 2]))
result["verify"] = error_of(lambda: tf.constant([1, 2], shape=[3], verify_shape=True))
result["constant_value"] = tf.contrib.util.constant_value(out["scalar"])
result["none"] = error_of(lambda: tf.constant(None))
result["tensor_of_tensors"] = shape_of(tf.convert_to_tensor([tf.constant(1), 2, tf.constant(3)]))
result["truth"] = {
    kind.name: evaluated
    for kind, evaluated in zip(
        (tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.complex64),
        tf.Session().run(
            [
                tf.constant([True, False], kind)
                for kind in (tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.complex64)
            ]
        ),
    )
}
result["truth_scalar"] = tf.convert_to_tensor(True, tf.float32)
result["truth_preferred"] = tf.convert_to_tensor(True, preferred_dtype=tf.float32)
result["truth_added"] = tf.constant(2.0) + True
for key in ("truth_scalar", "truth_preferred", "truth_added"):
    result[key] = tf.Session().run(result[key])
result["number_for_bool"] = error_of(lambda: tf.constant(1, tf.bool))
result["float_for_int"] = error_of(lambda: tf.constant(1.0, tf.int32))
result["truth_for_text"] = error_of(lambda: tf.constant(True, tf.string))
