# issue 5: every optimizer, step by step, dense
# tolerance 2e-4
makers = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.5),
    "adagrad_da": lambda: tf.train.AdagradDAOptimizer(
        0.5, tf.train.get_or_create_global_step(), l1_regularization_strength=0.01
    ),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0, rho=0.9),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.05, decay=0.8, momentum=0.5),
    "rmsprop_centered": lambda: tf.train.RMSPropOptimizer(0.05, centered=True),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "adam_options": lambda: tf.train.AdamOptimizer(0.1, beta1=0.5, beta2=0.9, epsilon=0.1),
    "ftrl": lambda: tf.train.FtrlOptimizer(
        0.5, l1_regularization_strength=0.05, l2_regularization_strength=0.1
    ),
    "ftrl_shrinkage": lambda: tf.train.FtrlOptimizer(
        0.5, learning_rate_power=-0.7, l2_shrinkage_regularization_strength=0.1
    ),
    "proximal_sgd": lambda: tf.train.ProximalGradientDescentOptimizer(
        0.1, l1_regularization_strength=0.1, l2_regularization_strength=0.1
    ),
    "proximal_adagrad": lambda: tf.train.ProximalAdagradOptimizer(
        0.5, l1_regularization_strength=0.05
    ),
}
for name, maker in makers.items():
    tf.reset_default_graph()
    x = tf.Variable([1.0, -2.0, 0.5], name="x")
    y = tf.Variable([[3.0]], name="y")
    loss = (
        tf.reduce_sum(x * x * [1.0, 2.0, 3.0]) + tf.reduce_sum(tf.square(y - 1.0)) + x[0] * y[0, 0]
    )
    optimizer = maker()
    train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    result[name + "_slots"] = optimizer.get_slot_names()
    result[name + "_variables"] = [v.name for v in tf.global_variables()]
    result[name + "_op"] = [train.name, train.type]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        steps = []
        for _ in range(5):
            sess.run(train)
            steps.append(sess.run([x, y]))
        result[name] = steps
        slots = [optimizer.get_slot(x, s) for s in optimizer.get_slot_names()]
        result[name + "_slot_values"] = [sess.run(s) for s in slots]
