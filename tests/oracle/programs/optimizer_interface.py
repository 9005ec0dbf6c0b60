# issue 5: compute_gradients, apply_gradients, var_list, slots and errors
x = tf.Variable(1.0, name="x")
y = tf.Variable(2.0, name="y")
frozen = tf.Variable(3.0, name="frozen", trainable=False)
unused = tf.Variable(4.0, name="unused")
loss = x * x * y + frozen * x
optimizer = tf.train.GradientDescentOptimizer(0.1)
pairs = optimizer.compute_gradients(loss)
result["pairs"] = [(g is None, v.name) for g, v in pairs]
some = optimizer.compute_gradients(loss, var_list=[y])
result["some"] = [v.name for _, v in some]
clipped = [(tf.clip_by_value(g, -1.0, 1.0), v) for g, v in pairs if g is not None]
step = tf.Variable(0, name="step", trainable=False)
train = optimizer.apply_gradients(clipped, global_step=step, name="mine")
result["names"] = [train.name, optimizer.get_name()]
lr = tf.placeholder(tf.float32, [])
with_placeholder = tf.train.MomentumOptimizer(lr, 0.9)
fed = with_placeholder.minimize(loss, var_list=[x])
grad_loss = tf.train.GradientDescentOptimizer(1.0).compute_gradients(
    loss, [x], grad_loss=tf.constant(10.0)
)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["grad_loss"] = sess.run(grad_loss[0][0])
    sess.run(train)
    result["after"] = sess.run([x, y, frozen, step])
    sess.run(fed, {lr: 0.5})
    result["fed"] = sess.run([x, with_placeholder.get_slot(x, "momentum")])
result["slot_name"] = with_placeholder.get_slot(x, "momentum").name
adam = tf.train.AdamOptimizer()
adam_train = adam.minimize(loss)
result["adam_variables"] = [v.name for v in adam.variables()]
result["no_gradients"] = error_of(lambda: optimizer.minimize(tf.constant(1.0)))
result["none_pairs"] = error_of(lambda: optimizer.apply_gradients([(None, x)]))
result["empty"] = error_of(lambda: optimizer.apply_gradients([]))
result["not_variable"] = error_of(
    lambda: optimizer.apply_gradients([(tf.constant(1.0), tf.constant(1.0))])
)
result["int_loss"] = error_of(lambda: optimizer.compute_gradients(tf.constant(1)))
result["gates"] = [optimizer.GATE_NONE, optimizer.GATE_OP, optimizer.GATE_GRAPH]
