# issue 3: make_tensor_proto, make_ndarray, TensorShapeProto, parse_tensor
values = {
    "float": np.array([[1.5, 2.0]], np.float32),
    "int": np.arange(3),
    "string": np.array([b"a", b"bc"], object),
    "bool": np.array([True, False]),
    "scalar": np.float64(2.5),
    "half": np.array([1.0, 2.0], np.float16),
    "complex": np.array([1 + 2j], np.complex64),
    "uint8": np.array([200], np.uint8),
}
for key, value in values.items():
    proto = tf.make_tensor_proto(value)
    result[key] = [tf.make_ndarray(proto), proto.dtype]
result["shaped"] = tf.make_ndarray(tf.make_tensor_proto(7.0, shape=[2, 2]))
proto = tf.make_tensor_proto([1, 2, 3], dtype=tf.int32)
with tf.Session() as sess:
    result["parsed"] = sess.run(tf.parse_tensor(proto.SerializeToString(), tf.int32))
    serialized = sess.run(tf.serialize_tensor(tf.constant([1.0, 2.0])))
    result["there_and_back"] = sess.run(tf.parse_tensor(serialized, tf.float32))
    result["wrong_type"] = error_of(lambda: sess.run(tf.parse_tensor(serialized, tf.int32)))
result["shape_proto"] = [d.size for d in tf.TensorShape([2, None]).as_proto().dim]
result["as_str"] = [
    tf.compat.as_str(b"abc"),
    tf.compat.as_bytes("abc"),
    tf.compat.as_text(b"x"),
    tf.compat.as_str_any(3),
]
result["bad_shape"] = error_of(lambda: tf.make_tensor_proto([1, 2, 3], shape=[2]))
