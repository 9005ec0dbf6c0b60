# issue 5: slim's Inception v3 beside the one of keras.applications, with the same weights
# tolerance 2e-3
slim = tf.contrib.slim
images = tf.constant(
    np.sin(np.arange(2 * 107 * 107 * 3) * 0.37).reshape(2, 107, 107, 3), tf.float32
)
with slim.arg_scope(slim.nets.inception_v3.inception_v3_arg_scope()):
    with slim.arg_scope([slim.batch_norm], is_training=False):
        net, _ = slim.nets.inception_v3.inception_v3_base(images)
variables = tf.global_variables()
result["shapes"] = [shape_of(v) for v in variables]
result["parameters"] = sum(int(np.prod(shape_of(v))) for v in variables)
result["output"] = shape_of(net)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i, variable in enumerate(variables):
        shape = shape_of(variable)
        numbers = np.random.RandomState(i).standard_normal(shape)
        if len(shape) == 4:  # of He's variance, so that the signal neither dies nor explodes
            numbers *= np.sqrt(2.0 / np.prod(shape[:3]))
        elif i % 4 == 3:
            numbers = 1 + 0.1 * np.abs(numbers)
        else:
            numbers *= 0.1
        variable.load(numbers.astype("float32"), sess)
    values = sess.run(net)
result["mean"] = values.mean(axis=(1, 2))[:, ::16]
result["picture"] = values[0, :, :, 5]
