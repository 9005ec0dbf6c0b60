# issue 3: activations and normalizations
x = tf.constant([[-3.0, -1.0, 0.0, 0.5, 7.0]])
out = {
    name: getattr(tf.nn, name)(x)
    for name in [
        "relu",
        "relu6",
        "elu",
        "selu",
        "crelu",
        "softplus",
        "softsign",
        "sigmoid",
        "tanh",
        "softmax",
        "log_softmax",
        "leaky_relu",
        "swish",
        "l2_loss",
    ]
}
out["leaky"] = tf.nn.leaky_relu(x, alpha=0.5)
out["softmax_axis"] = tf.nn.softmax(tf.reshape(tf.range(8.0), [2, 2, 2]), axis=1)
out["softmax_dim"] = tf.nn.softmax(tf.reshape(tf.range(8.0), [2, 2, 2]), dim=0)
out["softmax_big"] = tf.nn.softmax([1000.0, 1000.0, -1000.0])
out["l2_normalize"] = tf.nn.l2_normalize([[3.0, 4.0], [0.0, 0.0]], dim=1)
out["bias_add"] = tf.nn.bias_add(tf.zeros([2, 3]), [1.0, 2.0, 3.0])
out["bias_add_nchw"] = tf.nn.bias_add(tf.zeros([1, 2, 2, 2]), [1.0, 2.0], data_format="NCHW")
out["xw_plus_b"] = tf.nn.xw_plus_b([[1.0, 2.0]], [[3.0], [4.0]], [5.0])
out["relu_layer"] = tf.nn.relu_layer([[1.0, -2.0]], [[3.0], [4.0]], [1.0])
mean, variance = tf.nn.moments(tf.reshape(tf.range(12.0), [2, 2, 3]), [0, 1])
out["mean"], out["variance"] = mean, variance
out["moments_keep"] = tf.nn.moments(tf.reshape(tf.range(6.0), [2, 3]), axes=[1], keep_dims=True)
out["weighted"] = tf.nn.weighted_moments(
    tf.constant([1.0, 2.0, 3.0]), [0], tf.constant([1.0, 0.0, 1.0])
)
out["sufficient"] = tf.nn.sufficient_statistics(tf.constant([1.0, 2.0, 3.0]), [0])[:3]
out["batch_normalization"] = tf.nn.batch_normalization(x, 0.5, 2.0, 0.1, 3.0, 1e-3)
image = tf.constant(np.cos(np.arange(24)).reshape(2, 2, 2, 3), tf.float32)
y, m, v = tf.nn.fused_batch_norm(image, [1.0, 2.0, 3.0], [0.0, 1.0, 2.0], epsilon=1e-3)
out["fused"] = [y, m, v]
y2, _, _ = tf.nn.fused_batch_norm(
    image,
    [1.0, 2.0, 3.0],
    [0.0, 1.0, 2.0],
    mean=[0.1, 0.2, 0.3],
    variance=[1.0, 2.0, 3.0],
    is_training=False,
)
out["fused_inference"] = y2
out["fused_gradient"] = tf.gradients(y * y * image, image)[0]
out["global"] = tf.nn.batch_norm_with_global_normalization(
    image, tf.zeros([3]), tf.ones([3]), tf.zeros([3]), tf.ones([3]), 1e-3, True
)
out["normalize"] = tf.nn.l2_normalize(image, [1, 2])
out["erosion"] = tf.nn.erosion2d(image, tf.zeros([2, 2, 3]), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
out["pool"] = tf.nn.pool(image, [2, 2], "AVG", "VALID")
out["convolution"] = tf.nn.convolution(image, tf.ones([1, 1, 3, 2]), "SAME")
with tf.Session() as sess:
    for key, value in out.items():
        result[key] = sess.run(value)
        if isinstance(value, tf.Tensor):
            result[key + "_name"] = value.name
result["dropout_name"] = tf.nn.dropout(x, 0.5).name
