# issue 3: softmax regression with mini-batches, accuracy and argmax
# tolerance 1e-3
data = np.sin(np.outer(np.arange(60), np.arange(1, 6))).astype(np.float32)
classes = (np.arange(60) % 3).astype(np.int64)
data[np.arange(60), classes] += 1.0
onehot = np.eye(3, dtype=np.float32)[classes]
x = tf.placeholder(tf.float32, [None, 5])
y_ = tf.placeholder(tf.float32, [None, 3])
W = tf.Variable(tf.zeros([5, 3]))
b = tf.Variable(tf.zeros([3]))
y = tf.nn.softmax(tf.matmul(x, W) + b)
cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), reduction_indices=[1]))
train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for start in range(0, 60, 10):
        sess.run(train_step, {x: data[start : start + 10], y_: onehot[start : start + 10]})
    result["W"], result["b"] = sess.run([W, b])
    result["loss"], result["accuracy"] = sess.run([cross_entropy, accuracy], {x: data, y_: onehot})
    result["predictions"] = tf.argmax(y, 1).eval({x: data})
