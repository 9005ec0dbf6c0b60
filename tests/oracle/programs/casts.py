# issue 3: cast, saturate_cast, bitcast and the to_* functions
x = tf.constant([-1.7, 0.0, 2.5, 300.2], name="x")
out = {
    "int32": tf.cast(x, tf.int32),
    "uint8_of_small": tf.cast([1.7, 200.9], tf.uint8),
    "bool": tf.cast(x, tf.bool),
    "float64": tf.cast(x, "float64"),
    "half": tf.cast(x, tf.float16),
    "from_bool": tf.cast([True, False], tf.float32),
    "complex": tf.cast(x, tf.complex64),
    "saturate": tf.saturate_cast(x, tf.uint8),
    "to_int32": tf.to_int32(x),
    "to_int64": tf.to_int64(x),
    "to_float": tf.to_float([1, 2]),
    "to_double": tf.to_double([1, 2]),
    "bitcast": tf.bitcast(tf.constant(1.0), tf.int32),
    "real": tf.real(tf.constant([1 + 2j])),
    "imag": tf.imag(tf.constant([1 + 2j])),
    "conj": tf.conj(tf.constant([1 + 2j])),
    "build": tf.complex([1.0], [2.0]),
}
for key, value in out.items():
    result[key + "_name"] = value.name
with tf.Session() as sess:
    result["values"] = sess.run(out)
same = tf.cast(x, tf.float32)
result["same_is_same"] = same is x
result["cast_in_scope_name"] = tf.cast(x, tf.int64, name="mine").name
