# issue 16: custom_gradient with variables
"""Group 12: @tf.custom_gradient with variables."""


@tf.custom_gradient
def scaled(x):
    v = tf.get_variable("v", initializer=3.0, use_resource=True)

    def grad(dy, variables=None):
        return dy * 7.0, [dy * 5.0 for _ in variables]

    return x * x * v, grad


@tf.custom_gradient
def careless(x):
    return x * tf.get_variable("w", initializer=3.0, use_resource=True), lambda dy: dy


x = tf.constant(2.0)
y = scaled(x)
grads = tf.gradients(y, [x, *tf.global_variables()])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    result["custom_gradient"] = sess.run([y, *grads])
result["careless"] = error_of(lambda: careless(x))


@tf.custom_gradient
def with_reference(x):
    u = tf.get_variable("u", initializer=3.0, use_resource=False)

    def grad(dy, variables=None):
        return dy, [dy for _ in variables]

    return x * u, grad


result["reference"] = error_of(lambda: with_reference(x))


@tf.custom_gradient
def two(x, y):
    def grad(dx, dy):
        return dx * 2.0, dy * 3.0

    return (x + y, x * y), grad


@tf.custom_gradient
def clipped(x):
    return tf.identity(x), lambda dy: tf.clip_by_value(dy, -0.5, 0.5)


@tf.custom_gradient
def wrong_number(x):
    v = tf.get_variable("n", initializer=3.0, use_resource=True)
    return x * v, lambda dy, variables=None: (dy, [])


first, second = two(x, tf.constant(5.0))
with tf.Session() as sess:
    result["two"] = sess.run([first, second, *tf.gradients([first, second], [x])])
    result["clipped"] = sess.run(tf.gradients(clipped(x) * 4.0, x))
result["wrong_number"] = error_of(lambda: tf.gradients(wrong_number(x), x))
