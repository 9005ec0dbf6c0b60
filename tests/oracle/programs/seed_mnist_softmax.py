# issue 3: the workshop's softmax model, on fixed pictures
# tolerance 1e-3
rows = 20
pictures = (np.sin(np.arange(rows * 784)).reshape(rows, 28, 28, 1) * 0.5 + 0.5).astype(np.float32)
digits = np.eye(10, dtype=np.float32)[np.arange(rows) % 10]
X = tf.placeholder(tf.float32, [None, 28, 28, 1])
W = tf.Variable(tf.zeros([784, 10]))
b = tf.Variable(tf.zeros([10]))
init = tf.initialize_all_variables()
Y = tf.nn.softmax(tf.matmul(tf.reshape(X, [-1, 784]), W) + b)
Y_ = tf.placeholder(tf.float32, [None, 10])
cross_entropy = -tf.reduce_sum(Y_ * tf.log(Y))
is_correct = tf.equal(tf.argmax(Y, 1), tf.argmax(Y_, 1))
accuracy = tf.reduce_mean(tf.cast(is_correct, tf.float32))
optimizer = tf.train.GradientDescentOptimizer(0.003)
train_step = optimizer.minimize(cross_entropy)
sess = tf.Session()
sess.run(init)
seen = []
for i in range(10):
    train_data = {X: pictures, Y_: digits}
    sess.run(train_step, feed_dict=train_data)
    seen.append(sess.run([accuracy, cross_entropy], feed_dict=train_data))
result["seen"] = seen
result["b"] = sess.run(b)
ops = [op for op in tf.get_default_graph().get_operations() if "gradients/" not in op.name]
result["names"] = [op.name for op in ops]
result["types"] = [op.type for op in ops]
