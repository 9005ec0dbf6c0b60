# issue 5: initial spread and names of the layers course code uses by default
x = tf.placeholder(tf.float32, [None, 300], name="x")
hidden = tf.layers.dense(x, 200, activation=tf.nn.elu, name="hidden1")
logits = tf.layers.dense(hidden, 10, name="outputs")
with tf.name_scope("loss"):
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.placeholder(tf.int64, [None], name="y"), logits=logits
        ),
        name="loss",
    )
with tf.name_scope("train"):
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
result["variables"] = [(v.name, shape_of(v)) for v in tf.trainable_variables()]
result["loss"] = loss.name
result["train"] = train.name
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    kernel, bias = sess.run(tf.trainable_variables()[:2])
    limit = np.sqrt(6.0 / 500)
    result["kernel"] = [
        bool(np.abs(kernel).max() <= limit),
        bool(abs(kernel.std() / (limit / np.sqrt(3)) - 1) < 0.03),
        float(np.abs(bias).max()),
    ]
    graph = tf.get_default_graph()
    result["fetch"] = list(sess.run("outputs/BiasAdd:0", {"x:0": np.zeros((2, 300))}).shape)
result["hidden_op"] = [hidden.name, logits.name]
