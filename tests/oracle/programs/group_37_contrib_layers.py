# issue 16: contrib.layers: regularizers, shapes of scales; the oracle's contrib is ../old_names.py
"""Group 37: contrib.layers: regularizers and their scales, fully connected layers by them."""

layers = tf.contrib.layers


def run(fetches):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches)


weights = tf.constant([[1.0, -2.0], [3.0, 0.5]])
for name in ("l1_regularizer", "l2_regularizer"):
    regularizer = getattr(layers, name)
    for scale in (0.5, 1e-4, 1.0):
        result[f"{name} {scale}"] = run(regularizer(scale)(weights))
    result[f"{name} none"] = regularizer(0.0)(weights) is None
    for scale in (0, 1, -0.1):
        result[f"{name} refused {scale!r}"] = error_of(lambda: regularizer(scale))
x = tf.constant([[1.0, 2.0, 3.0]])
constant = tf.constant_initializer(0.1)
for name, activation in (("relu", tf.nn.relu), ("tanh", tf.tanh), ("linear", None)):
    y = layers.fully_connected(
        x,
        2,
        activation_fn=activation,
        weights_initializer=constant,
        weights_regularizer=layers.l2_regularizer(0.1),
        biases_initializer=tf.ones_initializer(),
        scope=f"fc_{name}",
    )
    result[f"connected {name}"] = [run(y), shape_of(y)]
result["names"] = [v.name for v in tf.global_variables()]
losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
result["losses"] = run(losses)
result["total"] = run(tf.losses.get_regularization_loss())
with tf.variable_scope("fc_relu", reuse=True):
    again = tf.get_variable("weights")
result["again"] = shape_of(again)
result["flat"] = shape_of(layers.flatten(tf.ones([2, 3, 4])))
result["flat_unknown"] = shape_of(layers.flatten(tf.placeholder(tf.float32, [None, 3, 4])))
for uniform in (True, False):
    initializer = layers.xavier_initializer(uniform, seed=1)
    made = run(tf.get_variable(f"x_{uniform}", [200, 300], initializer=initializer))
    result[f"xavier {uniform}"] = [made.dtype.name, bool(abs(made.std() - 0.0632) < 2e-3)]
