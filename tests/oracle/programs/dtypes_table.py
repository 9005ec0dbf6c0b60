# issue 3: the dtypes and what converts to what
names = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "bool",
    "string",
    "complex64",
    "complex128",
    "bfloat16",
]
for name in names:
    d = getattr(tf, name)
    result[name] = [
        str(d),
        d.name,
        None if name == "string" else d.size,
        d.is_floating,
        d.is_integer,
        d.is_complex,
        d.is_bool,
        d.is_unsigned,
        d.as_datatype_enum,
    ]
    result[name + "_numpy"] = np.dtype(d.as_numpy_dtype).name if name != "bfloat16" else "bfloat16"
result["limits"] = [
    tf.int32.max,
    tf.int32.min,
    float(tf.float32.max),
    tf.uint8.max,
    bool(tf.float32.limits[0] < 0),
]
result["as_dtype"] = [
    tf.as_dtype(x).name
    for x in ("float32", np.float64, np.int32, float, bool, tf.int8, np.dtype("uint8"), 1)
]
result["bad"] = error_of(lambda: tf.as_dtype("no such type"))
result["repr"] = repr(tf.float32)
result["equal"] = [tf.float32 == np.float32, tf.float32 == "float32", tf.float32 == tf.float64]
v = tf.Variable(1.0)
result["ref"] = [
    v.dtype.name,
    v.dtype.base_dtype.name,
    v.value().dtype.name,
    tf.float32._is_ref_dtype,
    v.dtype._is_ref_dtype,
]
defaults = {
    "int": 1,
    "float": 1.0,
    "bool": True,
    "str": "a",
    "bytes": b"a",
    "complex": 1j,
    "np64": np.float64(1),
    "list": [1, 2.5],
    "np_int": np.arange(3),
    "np_list": [np.float32(1), 2.0],
}
for key, value in defaults.items():
    result["convert_" + key] = tf.convert_to_tensor(value).dtype.name
result["to_dtype"] = tf.convert_to_tensor([1, 2], dtype=tf.float32).dtype.name
result["bad_convert"] = error_of(lambda: tf.convert_to_tensor([1.5, 2.0], dtype=tf.int32))
result["ragged"] = error_of(lambda: tf.constant([[1, 2], [3]]))
result["mixed_add"] = error_of(lambda: tf.add(tf.constant(1), tf.constant(1.0)))
result["mixed_operator"] = error_of(lambda: tf.constant(1) + tf.constant(1.0))
result["float_to_int"] = error_of(lambda: tf.constant(1) + 1.5)
result["int_to_float"] = (tf.constant(1.5) + 1).dtype.name
result["preferred"] = tf.convert_to_tensor(1, preferred_dtype=tf.float64).dtype.name
