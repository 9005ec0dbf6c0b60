# issue 3: a recurrent network unrolled by hand and with scan, trained
# tolerance 1e-3
inputs = np.sin(np.arange(2 * 5 * 3)).reshape(2, 5, 3).astype(np.float32)
x = tf.placeholder(tf.float32, [None, 5, 3])
Wx = tf.Variable(np.cos(np.arange(12)).reshape(3, 4).astype(np.float32))
Wh = tf.Variable(np.sin(np.arange(16)).reshape(4, 4).astype(np.float32) * 0.5)
b = tf.Variable(tf.zeros([1, 4]))
h = tf.zeros([tf.shape(x)[0], 4])
outputs = []
for step in tf.unstack(x, axis=1):
    h = tf.tanh(tf.matmul(step, Wx) + tf.matmul(h, Wh) + b)
    outputs.append(h)
unrolled = tf.stack(outputs, axis=1)
time_major = tf.transpose(x, [1, 0, 2])
scanned = tf.scan(
    lambda h, s: tf.tanh(tf.matmul(s, Wx) + tf.matmul(h, Wh) + b),
    time_major,
    initializer=tf.zeros([tf.shape(x)[0], 4]),
)
loss = tf.reduce_mean(tf.square(unrolled[:, -1] - 0.5))
loss_scan = tf.reduce_mean(tf.square(scanned[-1] - 0.5))
grads = tf.gradients(loss, [Wx, Wh, b])
grads_scan = tf.gradients(loss_scan, [Wx, Wh, b])
clipped, norm = tf.clip_by_global_norm(grads, 0.1)
train = tf.train.GradientDescentOptimizer(0.5).apply_gradients(zip(clipped, [Wx, Wh, b]))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: inputs}
    result["unrolled"] = sess.run(unrolled, feed)
    result["scanned"] = sess.run(scanned, feed)
    result["gradients"] = sess.run(grads, feed)
    result["gradients_scan"] = sess.run(grads_scan, feed)
    result["norm"] = sess.run(norm, feed)
    for _ in range(5):
        sess.run(train, feed)
    result["Wh"] = sess.run(Wh)
result["shape"] = [shape_of(unrolled), shape_of(scanned)]
