# issue 16: optimizers that are given a function for the loss
"""Group 33: Optimizer.minimize of a function."""

v = tf.get_variable("v", initializer=3.0, use_resource=True)
opt = tf.train.GradientDescentOptimizer(0.1)
step = opt.minimize(lambda: v * v, var_list=[v])
gv = opt.compute_gradients(lambda: v * 2.0, [v])
step2 = tf.train.AdamOptimizer(0.1).minimize(lambda: v * v)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(step)
    result["v"] = sess.run(v)
    result["g"] = sess.run([g for g, _ in gv])
    sess.run(step2)
    result["v2"] = sess.run(v)
