# issue 3: linear regression by gradient descent, step by step
X_data = np.linspace(-1, 1, 20).astype(np.float32)
y_data = (2.0 * X_data + 0.7 + 0.1 * np.sin(7 * X_data)).astype(np.float32)
X = tf.placeholder(tf.float32, name="X")
Y = tf.placeholder(tf.float32, name="Y")
W = tf.Variable(0.0, name="weights")
b = tf.Variable(0.0, name="bias")
pred = tf.add(tf.multiply(X, W), b)
cost = tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * 20)
optimizer = tf.train.GradientDescentOptimizer(0.1).minimize(cost)
init = tf.initialize_all_variables()
with tf.Session() as sess:
    sess.run(init)
    costs = []
    for epoch in range(30):
        for x, y in zip(X_data, y_data):
            sess.run(optimizer, feed_dict={X: x, Y: y})
        if epoch % 10 == 0:
            costs.append(sess.run(cost, {X: X_data, Y: y_data}))
    result["costs"] = costs
    result["W"], result["b"] = sess.run([W, b])
result["names"] = [
    op.name for op in tf.get_default_graph().get_operations() if not op.name.startswith("gradients")
]
result["optimizer_op"] = [optimizer.name, optimizer.type]
