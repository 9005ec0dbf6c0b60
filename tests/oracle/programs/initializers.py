# issue 3: initializers whose values are fixed, and the spread of the random ones
fixed = {
    "zeros": tf.zeros_initializer(),
    "ones": tf.ones_initializer(),
    "constant": tf.constant_initializer(2.5),
    "constant_list": tf.constant_initializer([1.0, 2.0, 3.0, 4.0]),
    "identity": tf.initializers.identity(gain=2.0),
}
for key, initializer in fixed.items():
    tf.get_variable(key, [2, 2], initializer=initializer)
spread = {
    "normal": (tf.random_normal_initializer(mean=3.0, stddev=0.5, seed=1), 3.0, 0.5),
    "uniform": (tf.random_uniform_initializer(-1.0, 1.0, seed=1), 0.0, 0.5774),
    "truncated": (tf.truncated_normal_initializer(stddev=1.0, seed=1), 0.0, 0.88),
    "glorot_uniform": (tf.glorot_uniform_initializer(seed=1), 0.0, np.sqrt(2.0 / 300)),
    "glorot_normal": (tf.glorot_normal_initializer(seed=1), 0.0, np.sqrt(2.0 / 300)),
    "variance": (tf.variance_scaling_initializer(scale=2.0, seed=1), 0.0, np.sqrt(2.0 / 100)),
    "unit": (tf.uniform_unit_scaling_initializer(seed=1), 0.0, 1.0 / np.sqrt(100)),
    "he": (tf.initializers.he_normal(seed=1), 0.0, np.sqrt(2.0 / 100)),
}
for key, (initializer, _, _) in spread.items():
    tf.get_variable(key, [100, 200], initializer=initializer)
tf.get_variable("orthogonal", [20, 20], initializer=tf.orthogonal_initializer(seed=1))
tf.get_variable("default", [100, 200])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    values = {v.op.name: sess.run(v) for v in tf.global_variables()}
for key in fixed:
    result[key] = values[key]
for key, (_, mean, stddev) in spread.items():
    result[key] = [
        bool(abs(values[key].mean() - mean) < 0.03),
        bool(abs(values[key].std() / stddev - 1) < 0.05),
    ]
result["truncated_within"] = bool(np.abs(values["truncated"]).max() <= 2.0)
result["orthogonal"] = bool(
    np.allclose(values["orthogonal"] @ values["orthogonal"].T, np.eye(20), atol=1e-4)
)
result["default"] = bool(abs(values["default"].std() - np.sqrt(2.0 / 300)) < 0.003)
result["direct_call"] = shape_of(tf.truncated_normal_initializer(stddev=0.1)([3, 4]))
