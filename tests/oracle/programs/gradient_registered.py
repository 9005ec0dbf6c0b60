# issue 3: RegisterGradient, gradient_override_map and custom_gradient
@tf.RegisterGradient("OracleDoubled")
def doubled(op, grad):
    return grad * 2.0


x = tf.constant([1.0, -2.0])
graph = tf.get_default_graph()
with graph.gradient_override_map({"Identity": "OracleDoubled"}):
    y = tf.identity(x, name="doubled")
z = tf.identity(x)


@tf.custom_gradient
def clipped(t):
    def grad(dy):
        return tf.clip_by_value(dy, -1.0, 1.0)

    return t * 10.0, grad


with graph.gradient_override_map({"Sign": "OracleDoubled"}):
    sign = tf.sign(x)
no_gradient = tf.NotDifferentiable
with tf.Session() as sess:
    result["overridden"] = sess.run(tf.gradients(y, x))
    result["usual"] = sess.run(tf.gradients(z, x))
    result["custom"] = sess.run(tf.gradients(clipped(x) * 5.0, x))
    result["sign"] = sess.run(tf.gradients(sign, x))
with graph.gradient_override_map({"Identity": "NoSuchGradient"}):
    lost = tf.identity(x)
result["missing"] = error_of(lambda: tf.gradients(lost, x))


def register_again():
    tf.RegisterGradient("OracleDoubled")(doubled)


result["twice"] = error_of(register_again)
