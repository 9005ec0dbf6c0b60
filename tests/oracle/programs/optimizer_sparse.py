# issue 5: optimizers on gathered rows touch those rows only, as TensorFlow's do
# tolerance 2e-4
makers = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.5),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.05, momentum=0.5),
    "rmsprop_centered": lambda: tf.train.RMSPropOptimizer(0.05, centered=True),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.05),
    "proximal_sgd": lambda: tf.train.ProximalGradientDescentOptimizer(
        0.1, l1_regularization_strength=0.1
    ),
    "proximal_adagrad": lambda: tf.train.ProximalAdagradOptimizer(
        0.5, l1_regularization_strength=0.05
    ),
}
for name, maker in makers.items():
    tf.reset_default_graph()
    table = tf.Variable(np.arange(8.0).reshape(4, 2) / 4, dtype=tf.float32, name="table")
    ids = tf.placeholder(tf.int32, [None])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids)) * 3.0)
    train = maker().minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        steps = []
        for feed in ([0, 2], [2, 2, 1], [0], [2]):
            sess.run(train, {ids: feed})
            steps.append(sess.run(table))
        result[name] = steps
