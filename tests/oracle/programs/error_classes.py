# issue 3: error classes, their ancestry and their fields
names = [
    "OpError",
    "InvalidArgumentError",
    "FailedPreconditionError",
    "OutOfRangeError",
    "AbortedError",
    "UnavailableError",
    "CancelledError",
    "DeadlineExceededError",
    "NotFoundError",
    "AlreadyExistsError",
    "UnimplementedError",
    "InternalError",
    "DataLossError",
    "ResourceExhaustedError",
    "PermissionDeniedError",
    "UnauthenticatedError",
    "UnknownError",
]
for name in names:
    cls = getattr(tf.errors, name)
    result[name] = [issubclass(cls, tf.errors.OpError), issubclass(cls, Exception)]
codes = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
]
result["codes"] = [getattr(tf.errors, name) for name in codes]
x = tf.placeholder(tf.float32, [None], name="x")
y = tf.reshape(x, [2, 2], name="y")
with tf.Session() as sess:
    try:
        sess.run(y, {x: [1.0, 2.0, 3.0]})
    except tf.errors.InvalidArgumentError as error:
        result["op"] = [error.op.name, error.error_code, error.node_def.name]
        result["message_is_text"] = "y" in str(error) and isinstance(error.message, str)
made = tf.errors.OutOfRangeError(None, None, "the end")
result["made"] = [made.message, made.error_code, made.op is None]
with tf.Session() as sess:
    matrices = tf.matmul(
        tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b"), name="product"
    )
    result["matmul"] = error_of(
        lambda: sess.run(matrices, {"a:0": np.ones((2, 3)), "b:0": np.ones((2, 3))})
    )
    result["read"] = error_of(lambda: sess.run(tf.read_file(tmp_dir + "/nothing")))
    result["decode"] = error_of(lambda: sess.run(tf.string_to_number("abc")))
    result["scatter"] = error_of(lambda: sess.run(tf.scatter_nd([[7]], [1], [3])))
    result["concat"] = error_of(
        lambda: sess.run(
            tf.concat(
                [
                    tf.placeholder_with_default([[1.0]], None),
                    tf.placeholder_with_default([1.0, 2.0], None),
                ],
                0,
            )
        )
    )
    result["image"] = error_of(lambda: sess.run(tf.image.decode_png(b"not a picture")))
    result["slice"] = error_of(lambda: sess.run(tf.slice(x, [5], [1]), {x: [1.0]}))
    result["one_hot"] = error_of(lambda: tf.one_hot([1], -3))
old = getattr(tf.errors, "raise_exception_on_not_ok_status", None)
with old() if old else tf.Graph().as_default():
    pass
try:
    with tf.Session() as sess:
        sess.run(tf.Variable(1.0))
except tf.errors.FailedPreconditionError as error:
    result["uninitialized"] = type(error).__name__
