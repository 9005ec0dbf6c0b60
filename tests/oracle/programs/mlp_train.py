# issue 3: a multi-layer perceptron written by hand, trained with each common optimizer
# tolerance 2e-3
data = np.sin(np.outer(np.arange(40), np.arange(1, 5))).astype(np.float32)
labels = (data.sum(1) > 0).astype(np.int32)


def weight(name, shape, seed):
    values = np.cos(np.arange(np.prod(shape)) * seed).reshape(shape).astype(np.float32) * 0.5
    return tf.Variable(values, name=name)


for maker in (
    lambda: tf.train.GradientDescentOptimizer(0.2),
    lambda: tf.train.AdamOptimizer(0.02),
    lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    lambda: tf.train.RMSPropOptimizer(0.01),
):
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.placeholder(tf.int32, [None], name="y")
    with tf.name_scope("hidden1"):
        h1 = tf.nn.relu(
            tf.matmul(x, weight("weights", [4, 8], 1.0)) + tf.Variable(tf.zeros([8]), name="biases")
        )
    with tf.name_scope("hidden2"):
        h2 = tf.nn.tanh(
            tf.matmul(h1, weight("weights", [8, 6], 2.0))
            + tf.Variable(tf.zeros([6]), name="biases")
        )
    with tf.name_scope("softmax_linear"):
        logits = tf.matmul(h2, weight("weights", [6, 2], 3.0)) + tf.Variable(
            tf.zeros([2]), name="biases"
        )
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits, name="xentropy"),
        name="xentropy_mean",
    )
    global_step = tf.Variable(0, name="global_step", trainable=False)
    optimizer = maker()
    train_op = optimizer.minimize(loss, global_step=global_step)
    correct = tf.reduce_sum(tf.cast(tf.nn.in_top_k(logits, y, 1), tf.int32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = [sess.run([train_op, loss], {x: data, y: labels})[1] for _ in range(15)]
        name = optimizer.get_name()
        result[name] = losses
        result[name + "_end"] = sess.run([global_step, correct], {x: data, y: labels})
        result[name + "_variables"] = [v.name for v in tf.global_variables()]
