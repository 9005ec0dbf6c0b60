# issue 5: tf.keras.layers.RNN: cells, stacks of cells, cells of one's own, masks, constants
# tolerance 1e-5
keras = tf.keras
layers = keras.layers
random = np.random.RandomState(0)
x = random.randn(2, 5, 3).astype("float32")
x[0, 3:] = 0
x[1, :1] = 0


def fixed(model, seed=1, scale=0.4):
    random = np.random.RandomState(seed)
    model.set_weights([random.randn(*w.shape.as_list()) * scale for w in model.weights])
    return model


def shapes(model):
    return [tuple(w.shape.as_list()) for w in model.weights]


class Leaky(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight("kernel", shape=(3, self.units), initializer="ones")
        self.built = True

    def call(self, inputs, states, constants=None):
        output = 0.5 * states[0] + tf.matmul(inputs, self.kernel)
        if constants is not None:
            output = output + constants[0]
        return output, [output]


kinds = {
    "simple": lambda: layers.SimpleRNNCell(4),
    "lstm": lambda: layers.LSTMCell(4),
    "lstm_plain": lambda: layers.LSTMCell(4, use_bias=False, recurrent_activation="sigmoid"),
    "gru": lambda: layers.GRUCell(4),
    "gru_after": lambda: layers.GRUCell(4, reset_after=True),
    "stacked": lambda: [layers.LSTMCell(4), layers.GRUCell(2), layers.SimpleRNNCell(5)],
    "own": lambda: Leaky(4),
    "old": lambda: tf.nn.rnn_cell.BasicLSTMCell(4),
}
for name, make in kinds.items():
    for settings in (
        {},
        {"return_sequences": True, "return_state": True},
        {"go_backwards": True},
    ):
        entry = keras.Input((5, 3))
        model = keras.Model(entry, layers.RNN(make(), **settings)(entry))
        key = f"{name}_{'_'.join(settings)}"
        result[key + "_shapes"] = shapes(model)
        result[key] = fixed(model).predict(x)
    if name == "old":
        continue
    entry = keras.Input((5, 3))
    masked = layers.Masking()(entry)
    model = keras.Model(entry, layers.RNN(make(), return_sequences=True)(masked))
    result[name + "_masked"] = fixed(model).predict(x)
    # a sum: 2.15 divides the mean of a masked loss by other steps than TensorFlow 1.15
    model.compile(keras.optimizers.SGD(0.01), keras.losses.MeanSquaredError(reduction="sum"))
    loss = [
        model.train_on_batch(
            x,
            np.ones(
                (2, 5, shapes(model)[-1][-1] if name == "own" else 4 if name != "stacked" else 5)
            ),
        )
        for _ in range(3)
    ]
    result[name + "_losses"] = loss
    result[name + "_trained"] = model.predict(x)

entry, start, constant = keras.Input((5, 3)), keras.Input((4,)), keras.Input((4,))
outputs = layers.RNN(Leaky(4))(entry, initial_state=start, constants=constant)
model = fixed(keras.Model([entry, start, constant], outputs))
result["constants"] = model.predict([x, np.ones((2, 4)), np.full((2, 4), 0.25)])
entry = keras.Input(batch_shape=(2, 5, 3))
layer = layers.RNN(layers.LSTMCell(4), stateful=True)
model = fixed(keras.Model(entry, layer(entry)))
result["stateful"] = [model.predict(x), model.predict(x)]
model.reset_states()
result["reset"] = model.predict(x)
both = layers.Bidirectional(layers.RNN(layers.GRUCell(2), return_sequences=True))
entry = keras.Input((5, 3))
model = fixed(keras.Model(entry, both(entry)))
result["bidirectional"] = model.predict(x)
entry = keras.Input((5, 3))
major = layers.RNN(layers.GRUCell(4), time_major=True, return_sequences=True)
by_hand = tf.Session()
steps = major(tf.constant(x.transpose(1, 0, 2)))
result["time_major_shape"] = shape_of(steps)
cell = layers.LSTMCell(4)
output, states = cell(tf.constant(x[:, 0]), [tf.zeros([2, 4]), tf.ones([2, 4])])
result["cell_by_hand"] = [shape_of(output), [shape_of(s) for s in states], cell.state_size]
result["stack_sizes"] = [
    layers.StackedRNNCells([layers.LSTMCell(3), layers.GRUCell(2)]).output_size
]
result["config"] = sorted(layers.RNN(layers.GRUCell(2)).get_config()["cell"])
model = fixed(
    keras.Sequential([layers.RNN([layers.GRUCell(2), layers.LSTMCell(3)], input_shape=(5, 3))])
)
again = keras.Sequential.from_config(model.get_config())
again.set_weights(model.get_weights())
result["from_config"] = again.predict(x)
result["errors"] = [
    error_of(lambda: layers.RNN(3)),
    error_of(lambda: layers.RNN(layers.Dense(3))),
]
