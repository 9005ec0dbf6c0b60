# issue 5: the commonly used part of tf.contrib
# tolerance 1e-4
x = tf.constant(np.sin(np.arange(12)).reshape(3, 4), tf.float32)
L = tf.contrib.layers
h = L.fully_connected(x, 5, weights_initializer=tf.constant_initializer(0.2), scope="h")
y = L.fully_connected(
    h,
    2,
    activation_fn=None,
    weights_initializer=tf.constant_initializer(0.3),
    weights_regularizer=L.l2_regularizer(0.1),
    scope="y",
)
with tf.variable_scope("named"):
    z = L.fully_connected(h, 2, tf.nn.tanh)
flat = L.flatten(tf.reshape(x, [3, 2, 2]))
w = tf.get_variable("w", [100, 200], initializer=L.xavier_initializer(seed=1))
normal = tf.get_variable(
    "normal", [100, 200], initializer=L.xavier_initializer(uniform=False, seed=1)
)
r = tf.get_variable(
    "r", [2], initializer=tf.constant_initializer([1.0, -2.0]), regularizer=L.l1_regularizer(0.5)
)
result["variables"] = [(v.name, shape_of(v)) for v in tf.global_variables()]
losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["values"] = sess.run([h, y, flat])
    result["losses"] = sess.run(losses)
    spread = sess.run([w, normal])
    result["spread"] = [bool(abs(v.std() / np.sqrt(2.0 / 300) - 1) < 0.05) for v in spread]
    result["regularizer"] = sess.run(L.l2_regularizer(2.0)(tf.constant([3.0, 4.0])))
result["shapes"] = [shape_of(t) for t in (h, y, z, flat)]
