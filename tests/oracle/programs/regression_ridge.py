# issue 3: ridge regression in closed form and by gradient, as in the course slides
# tolerance 1e-3
rows = np.cos(np.outer(np.arange(1, 31), [0.3, 1.1, 2.3])).astype(np.float32)
target = (rows @ np.array([1.0, -2.0, 0.5]) + 0.1 * np.sin(np.arange(30))).astype(np.float32)[
    :, None
]
X = tf.constant(rows, name="X")
y = tf.constant(target, name="y")
penalty = tf.constant(1.0, name="penalty")
Xt = tf.transpose(X, name="Xt")
I = tf.Variable(tf.eye(3), name="identity", trainable=False)
beta = tf.matmul(
    tf.matmul(tf.matrix_inverse(tf.matmul(Xt, X) + tf.scalar_mul(penalty, I)), Xt), y, name="beta"
)
w = tf.Variable(tf.zeros([3, 1]), name="w")
loss = tf.reduce_sum(tf.square(tf.matmul(X, w) - y)) + penalty * tf.reduce_sum(tf.square(w))
gradient = tf.gradients(loss, [w])[0]
step = tf.assign(w, w - 0.01 * gradient)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["closed"] = sess.run(beta)
    for _ in range(200):
        sess.run(step)
    result["descended"] = sess.run(w)
    result["loss"] = sess.run(loss)
result["beta_name"] = beta.name
