# issue 16: tf.layers
"""Group 24: tf.layers."""

dense = tf.layers.Dense(4)
for shape in ((), (3,), None, (None, 3), [2, 3, 5], (3, None)):
    result[f"dense_{shape}"] = error_of(lambda: dense.compute_output_shape(tf.TensorShape(shape)))
result["dense_ok"] = shape_of(dense.compute_output_shape(tf.TensorShape([None, 3])))
result["dense_ok2"] = shape_of(dense.compute_output_shape(tf.TensorShape([None, 4, 3])))
reg = lambda t: tf.reduce_sum(t) * 1e-3
layer = tf.layers.Dense(2, activity_regularizer=reg, kernel_regularizer=reg, name="den")
result["activity"] = layer.activity_regularizer is reg
x = tf.ones([3, 5])
y = layer(x)
result["losses"] = len(layer.losses)
result["for_x"] = len(layer.get_losses_for(x))
result["for_none"] = len(layer.get_losses_for(None))
result["for_y"] = len(layer.get_losses_for(y))
bn = tf.layers.BatchNormalization()
z = bn(x, training=True)
result["updates"] = [len(bn.updates), len(bn.get_updates_for(x)), len(bn.get_updates_for(None))]
y2 = layer(tf.ones([7, 5]))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    with sess.as_default():
        result["weights"] = [list(w.shape) for w in layer.get_weights()]
        layer.set_weights([np.ones([5, 2]), np.zeros(2)])
        result["set"] = sess.run(y)
        result["set_bad"] = error_of(lambda: layer.set_weights([np.ones([5, 2])]))
sep = tf.layers.SeparableConv2D(
    2, 3, depthwise_constraint=tf.abs, pointwise_constraint=tf.abs, bias_constraint=tf.abs
)
result["sep"] = [sep.depthwise_constraint is tf.abs, sep.pointwise_constraint is tf.abs]
for kind, kw, value in (
    ("dtype", dict(dtype="float32"), tf.constant([1])),
    ("maxdim", dict(max_ndim=1), tf.constant([[1.0]])),
    ("mindim", dict(min_ndim=2), tf.constant([1.0])),
    ("shape", dict(shape=(None, 3)), tf.ones([3, 2])),
    ("ndim", dict(ndim=2), tf.ones([3])),
    ("axes", dict(axes={-1: 2}), tf.ones([3, 3])),
    ("shape_ok", dict(shape=(None, 3)), tf.ones([2, 3])),
    ("ok", dict(dtype="float32", max_ndim=2), tf.ones([2])),
):

    class Custom(tf.layers.Layer):
        def __init__(self):
            super().__init__(name="c")
            self.input_spec = tf.layers.InputSpec(**kw)

        def call(self, inputs):
            return inputs

    result["spec_" + kind] = error_of(lambda: Custom().apply(value))
own = tf.layers.Layer(name="my_layer")
v = own.add_variable("my_var", [2, 2], initializer=tf.zeros_initializer())
result["own"] = [
    v.name,
    len(own.variables),
    len(own.trainable_variables),
    len(own.non_trainable_variables),
]
own.add_variable("my_var_2", [2, 2], initializer=tf.zeros_initializer(), trainable=False)
result["own2"] = [
    len(own.variables),
    len(own.trainable_variables),
    len(own.non_trainable_variables),
]
result["own_name"] = own.name
own.add_variable(
    "reg_var",
    [2, 2],
    initializer=tf.zeros_initializer(),
    regularizer=lambda w: tf.reduce_sum(w) * 1e-3,
)
result["own_losses"] = len(own.losses)
cell = tf.nn.rnn_cell.BasicRNNCell(3)
cell.build((None, 2))
result["cell"] = [w.name for w in cell.weights]
cell = tf.nn.rnn_cell.LSTMCell(3, name="lstm_x")
cell.build(tf.TensorShape((None, 2)))
result["cell2"] = [w.name for w in cell.weights]
built = tf.layers.Dense(3, name="bu")
built.build((None, 2))
result["built"] = [w.name for w in built.weights]
built(tf.ones([1, 2]))
result["built2"] = [w.name for w in built.weights]
result["dtypes"] = [
    str(tf.layers.Dense(3).dtype),
]
d = tf.layers.Dense(3)
d(tf.ones([1, 2], tf.float64))
result["dtypes2"] = d.dtype == "float64"
f = tf.layers.Flatten()
f(tf.ones([1, 2], tf.int32))
result["dtypes3"] = f.dtype == "int32"


class Plain(tf.layers.Layer):
    def call(self, inputs):
        return inputs


p = Plain()
p(tf.constant([1]))
result["dtypes4"] = p.dtype == "int32"
im = tf.ones([1, 4, 4, 3])
result["pool_none"] = error_of(lambda: tf.layers.max_pooling2d(im, 2, strides=None))
result["pool_format"] = error_of(lambda: tf.layers.max_pooling2d(im, 2, 2, data_format="invalid"))
result["avg_format"] = error_of(
    lambda: tf.layers.average_pooling2d(im, 2, 2, data_format="invalid")
)
result["pool_size"] = error_of(lambda: tf.layers.max_pooling2d(im, (1, 2, 3), strides=2))
result["pool_strides"] = error_of(lambda: tf.layers.max_pooling2d(im, 2, strides=(1, 2, 3)))
result["pool1"] = error_of(
    lambda: tf.layers.max_pooling1d(tf.ones([1, 4, 3]), 2, 2, data_format="invalid")
)
result["pool3"] = error_of(
    lambda: tf.layers.max_pooling3d(tf.ones([1, 4, 4, 4, 3]), 2, 2, data_format="invalid")
)
result["conv_format"] = error_of(lambda: tf.layers.conv2d(im, 2, 2, data_format="invalid"))
result["pool_padding"] = error_of(lambda: tf.layers.max_pooling2d(im, 2, 2, padding="invalid"))
cells = tf.nn.rnn_cell
w = cells.DropoutWrapper(cells.BasicRNNCell(3), input_keep_prob=0.5)
result["conf"] = sorted(w.get_config().keys())
w = cells.ResidualWrapper(cells.BasicRNNCell(3))
result["conf_res"] = sorted(w.get_config().keys())
w = cells.DeviceWrapper(cells.BasicRNNCell(3), "/cpu:0")
result["conf_dev"] = sorted(w.get_config().keys())
for c in (cells.BasicRNNCell(3), cells.GRUCell(3), cells.LSTMCell(3), cells.BasicLSTMCell(3)):
    result["conf_" + type(c).__name__] = sorted(c.get_config().keys())
result["dense_config"] = error_of(lambda: tf.layers.Dense(3).get_config())

# shapes of outputs, activations and initializers by name, sharing
for name, layer, shape in (
    ("conv2d", tf.layers.Conv2D(4, 3), (None, 8, 8, 3)),
    ("conv1d", tf.layers.Conv1D(4, 3, strides=2, padding="same"), (None, 9, 3)),
    ("conv3d", tf.layers.Conv3D(4, 3), (2, 8, 8, 8, 1)),
    ("transposed", tf.layers.Conv2DTranspose(4, 3, strides=2), (None, 8, 8, 3)),
    ("separable", tf.layers.SeparableConv2D(4, 3), (None, 8, 8, 3)),
    ("max2", tf.layers.MaxPooling2D(2, 2), (None, 8, 9, 3)),
    ("average1", tf.layers.AveragePooling1D(2, 2, padding="same"), (None, 9, 3)),
    ("max3", tf.layers.MaxPooling3D(2, 2), (1, 8, 8, 9, 1)),
    ("flat", tf.layers.Flatten(), (None, 8, 9)),
    ("normalized", tf.layers.BatchNormalization(), (None, 8, 9)),
    ("dropped", tf.layers.Dropout(), (None, 8)),
    ("first", tf.layers.Conv2D(4, 3, data_format="channels_first"), (None, 3, 8, 8)),
):
    result[f"shape_{name}"] = shape_of(layer.compute_output_shape(tf.TensorShape(shape)))
x = tf.constant([[1.0, -2.0, 0.5]])
for name in ("relu", "tanh", "softmax", "elu", "selu", "softplus", "hard_sigmoid", "linear"):
    y = tf.layers.dense(x, 2, name, kernel_initializer="ones", bias_initializer="zeros")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        result[f"by_name_{name}"] = sess.run(y)
result["no_activation"] = error_of(lambda: tf.layers.dense(x, 2, "rleu"))
result["no_initializer"] = error_of(lambda: tf.layers.dense(x, 2, kernel_initializer="xavier"))
with tf.variable_scope("shared"):
    tf.layers.Dense(2, name="d")(x)
    tf.layers.Dense(2, name="d", _reuse=True)(x)
with tf.variable_scope("auto", reuse=tf.AUTO_REUSE):
    for _ in range(2):
        tf.layers.dense(x, 2, name="same")
result["shared"] = [v.name for v in tf.global_variables() if v.name[:4] in ("shar", "auto")]
tf.layers.dense(x, 2, name="once")
result["twice"] = error_of(lambda: tf.layers.dense(x, 2, name="once"))
result["other_shape"] = error_of(lambda: tf.layers.dense(x, 3, name="once", reuse=True))
result["missing"] = error_of(lambda: tf.layers.dense(x, 3, name="never", reuse=True))
fixed = tf.layers.Dense(2, use_bias=False, trainable=False)
fixed(x)
result["fixed"] = [len(fixed.trainable_variables), len(fixed.variables), fixed.bias]
result["parameters"] = fixed.count_params()
result["unbuilt"] = error_of(lambda: tf.layers.Dense(2).count_params())
