# issue 16: shapes of crops, explicit padding, unsigned fill values, sessions' targets, recompute_grad
def value(tensor):
    with tf.Session() as sess:
        return sess.run(tensor)


unknown = tf.placeholder(tf.float32)
result["crop"] = shape_of(tf.image.crop_to_bounding_box(unknown, 0, 0, 2, 3))
result["pad"] = shape_of(tf.image.pad_to_bounding_box(unknown, 0, 0, 2, 3))
result["crop_or_pad"] = shape_of(tf.image.resize_image_with_crop_or_pad(unknown, 2, 3))
result["with_pad"] = shape_of(tf.image.resize_image_with_pad(unknown, 2, 3))
result["central"] = error_of(lambda: tf.image.central_crop(unknown, 0.5))
text = tf.placeholder(tf.string)
result["jpeg"] = shape_of(tf.image.decode_and_crop_jpeg(text, [0, 0, 2, 3], channels=3))
result["one_hot"] = [
    value(tf.one_hot([0, 1], 2, on_value=-1, off_value=-2, dtype=dtype))
    for dtype in (tf.uint8, tf.uint16)
]
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
for target in ("INVALID_TARGET", "INVALID://x:1", "local"):
    result[f"target_{target}"] = error_of(lambda: tf.Session(target))
x, z = tf.constant([1.0, 2.0]), tf.constant([3.0, 1.0])
y = tf.recompute_grad(lambda a, b: tf.sin(a) * b * b)(x, z)
result["recomputed"] = value([y, *tf.gradients(y, [x, z])])
kinds = [op.type for op in tf.get_default_graph().get_operations()]
result["computed_twice"] = kinds.count("Sin")
