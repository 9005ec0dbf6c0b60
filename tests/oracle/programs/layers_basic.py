# issue 5: tf.layers with fixed initial values
# tolerance 1e-4
def fixed(scale=1.0):
    return lambda shape, dtype=tf.float32, partition_info=None: tf.constant(
        np.cos(np.arange(np.prod(shape)) * scale).reshape(shape) * 0.5, tf.float32
    )


x = tf.constant(np.sin(np.arange(12)).reshape(3, 4), tf.float32)
image = tf.constant(np.sin(np.arange(2 * 6 * 6 * 3)).reshape(2, 6, 6, 3), tf.float32)
out = {
    "dense": tf.layers.dense(x, 5, kernel_initializer=fixed()),
    "dense_relu": tf.layers.dense(
        x, 5, activation=tf.nn.relu, use_bias=False, kernel_initializer=fixed(2.0), name="named"
    ),
    "conv2d": tf.layers.conv2d(image, 4, 3, kernel_initializer=fixed()),
    "conv2d_options": tf.layers.conv2d(
        inputs=image,
        filters=4,
        kernel_size=[3, 2],
        strides=(2, 1),
        padding="same",
        activation=tf.nn.tanh,
        kernel_initializer=fixed(),
    ),
    "conv2d_dilated": tf.layers.conv2d(image, 2, 2, dilation_rate=2, kernel_initializer=fixed()),
    "conv1d": tf.layers.conv1d(image[:, 0], 4, 2, kernel_initializer=fixed()),
    "conv3d": tf.layers.conv3d(image[tf.newaxis], 2, 2, kernel_initializer=fixed()),
    "transpose": tf.layers.conv2d_transpose(
        image, 2, 3, strides=2, padding="same", kernel_initializer=fixed()
    ),
    "separable": tf.layers.separable_conv2d(
        image, 4, 3, depthwise_initializer=fixed(), pointwise_initializer=fixed()
    ),
    "max_pool": tf.layers.max_pooling2d(image, 2, 2),
    "max_pool_same": tf.layers.max_pooling2d(
        inputs=image, pool_size=[3, 3], strides=2, padding="same"
    ),
    "avg_pool": tf.layers.average_pooling2d(image, 2, 2),
    "pool1d": tf.layers.max_pooling1d(image[:, 0], 2, 2),
    "flatten": tf.layers.flatten(image),
    "dropout_off": tf.layers.dropout(x, 0.5),
    "dropout_zero": tf.layers.dropout(x, rate=0.0, training=True),
    "norm_inference": tf.layers.batch_normalization(image, training=False),
    "norm_training": tf.layers.batch_normalization(x, training=True, momentum=0.9, epsilon=1e-2),
}
for name, tensor in out.items():
    result[name + "_shape"] = shape_of(tensor)
    result[name + "_name"] = tensor.name
result["variables"] = [(v.name, shape_of(v)) for v in tf.global_variables()]
result["trainable"] = [v.name for v in tf.trainable_variables()]
updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
result["updates"] = len(updates)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for name, tensor in out.items():
        result[name] = sess.run(tensor)
    sess.run(updates)
    moving = [v for v in tf.global_variables() if "moving" in v.name]
    result["moving"] = sess.run(moving)
dense = tf.layers.Dense(3, kernel_initializer=fixed(), name="shared")
a, b = dense(x), dense(x * 2.0)
result["object"] = [
    dense.kernel.name,
    dense.bias.name,
    len(dense.trainable_weights),
    dense.units,
    a.name,
    b.name,
]
with tf.variable_scope("scope"):
    c = tf.layers.dense(x, 2, name="d")
with tf.variable_scope("scope", reuse=True):
    d = tf.layers.dense(x, 2, name="d")
result["reused"] = [v.name for v in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="scope")]
result["again"] = error_of(lambda: tf.layers.dense(x, 2, name="named"))
result["regularized"] = [
    error_of(
        lambda: tf.layers.dense(x, 2, kernel_regularizer=lambda w: tf.reduce_sum(w), name="reg")
    ),
    len(tf.losses.get_regularization_losses()),
]
result["unknown_dim"] = error_of(lambda: tf.layers.dense(tf.placeholder(tf.float32), 2))
result["rank"] = error_of(lambda: tf.layers.conv2d(x, 2, 2))
