# issue 3: gradients through conditionals
p = tf.placeholder(tf.bool, [])
x = tf.constant([1.0, 2.0])
w = tf.constant(3.0)
y = tf.cond(p, lambda: x * x * w, lambda: x + 1.0)
gx, gw = tf.gradients(y, [x, w])
second = tf.gradients(gx, x)[0]
nested = tf.cond(p, lambda: tf.cond(w > 2.0, lambda: x * 5.0, lambda: x), lambda: tf.exp(x))
gn = tf.gradients(nested, x)[0]
outside = tf.gradients(tf.cond(p, lambda: w * 2.0, lambda: w * w) * x, [w, x])
unused = tf.gradients(tf.cond(p, lambda: x, lambda: tf.zeros([2])), x)[0]
v = tf.Variable(2.0)
loss = tf.cond(p, lambda: v * v, lambda: v * 3.0)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
table = tf.Variable(tf.ones([3, 2]))
rows = tf.cond(p, lambda: tf.gather(table, [0, 0]), lambda: tf.gather(table, [1, 2]))
grad_rows = tf.convert_to_tensor(tf.gradients(rows * 2.0, table)[0])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for value in (True, False):
        feed = {p: value}
        result[f"first_{value}"] = sess.run([gx, gw], feed)
        result[f"nested_{value}"] = sess.run(gn, feed)
        result[f"outside_{value}"] = sess.run(outside, feed)
        result[f"unused_{value}"] = sess.run(unused, feed)
        sess.run(train, feed)
        result[f"trained_{value}"] = sess.run(v)
        result[f"rows_{value}"] = sess.run(grad_rows, feed)
    result["second"] = sess.run(second, {p: True})
