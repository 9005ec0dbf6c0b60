# issue 3: second derivatives and hessians
x = tf.constant([0.5, -1.5, 2.0])
functions = {
    "cube": lambda t: t * t * t,
    "pow": lambda t: tf.pow(t, 3.0),
    "exp": tf.exp,
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "softplus": tf.nn.softplus,
    "sin": tf.sin,
    "log": lambda t: tf.log(t * t + 1.0),
    "sqrt": lambda t: tf.sqrt(t * t + 1.0),
    "softmax": lambda t: tf.nn.softmax(t) * t,
    "log_softmax": lambda t: tf.nn.log_softmax(t) * t,
    "norm": lambda t: t / tf.reduce_sum(t * t),
    "elu": tf.nn.elu,
    "maximum": lambda t: tf.maximum(t, 0.0) * t * t,
    "matmul": lambda t: tf.matmul(tf.reshape(t, [3, 1]) ** 2, tf.reshape(t, [1, 3])),
    "gather": lambda t: tf.gather(t * t, [0, 0, 2]) * t,
}
with tf.Session() as sess:
    for name, function in functions.items():
        first = tf.gradients(function(x), x)[0]
        second = tf.gradients(first, x)[0]
        result[name] = sess.run([first, second])
    hessian = tf.hessians(tf.reduce_sum(x * x * x) + x[0] * x[1], x)
    result["hessian"] = sess.run(hessian)
    third = tf.gradients(tf.gradients(tf.gradients(x**4, x)[0], x)[0], x)[0]
    result["third"] = sess.run(third)
    logits = tf.constant([[1.0, 2.0, 0.5]])
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0.0, 1.0, 0.0]], logits=logits)
    first = tf.gradients(loss, logits)[0]
    result["cross_entropy"] = sess.run([first, tf.gradients(first * [1.0, 2.0, 3.0], logits)[0]])
    penalty = tf.reduce_sum(tf.square(tf.gradients(tf.reduce_sum(tf.tanh(x) * x), x)[0]))
    result["penalty"] = sess.run(tf.gradients(penalty, x)[0])
