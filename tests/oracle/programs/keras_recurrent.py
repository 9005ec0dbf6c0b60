# issue 5: tf.keras: states that last, cuDNN's layouts, convolutional LSTM, initial and final states
keras = tf.keras
layers = keras.layers
random = np.random.RandomState(0)


def fixed(model, seed=1, scale=0.4):
    random = np.random.RandomState(seed)
    model.set_weights([random.randn(*w.shape.as_list()) * scale for w in model.weights])
    return model


x = random.randn(2, 5, 3).astype("float32")
for kind in ("LSTM", "GRU", "SimpleRNN"):
    layer = getattr(layers, kind)(4, stateful=True, return_sequences=True)
    model = fixed(keras.Sequential([keras.Input(batch_shape=(2, 5, 3)), layer, layers.Dense(1)]))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    seen = [model.predict(x), model.predict(x)]
    model.reset_states()
    seen += [model.predict(x), model.train_on_batch(x, np.ones((2, 5, 1))), model.predict(x)]
    layer.reset_states([np.ones((2, 4))] * (2 if kind == "LSTM" else 1))
    seen.append(model.predict(x))
    result["stateful_" + kind] = seen
result["not_stateful"] = error_of(lambda: layers.LSTM(2).reset_states())
result["no_batch_size"] = error_of(
    lambda: keras.Sequential([layers.LSTM(2, stateful=True, input_shape=(5, 3))])
)
result["part_of_a_batch"] = error_of(lambda: model.predict(np.zeros((3, 5, 3))))

entry = keras.Input((5, 3))
for bias in (True, False):
    gru = layers.GRU(4, reset_after=True, use_bias=bias, return_sequences=True)
    model = fixed(keras.Model(entry, gru(layers.Masking()(entry))))
    result[f"reset_after_{bias}"] = [model.predict(x), [w.shape for w in model.get_weights()]]
outputs = layers.LSTM(3, return_sequences=True, return_state=True)(entry)
model = fixed(keras.Model(entry, outputs))
result["states"] = model.predict(x)
start = [keras.Input((3,)), keras.Input((3,))]
outputs = layers.LSTM(3)(entry, initial_state=start)
model = fixed(keras.Model([entry, *start], outputs))
result["initial_state"] = model.predict([x, np.ones((2, 3)), -np.ones((2, 3))])
for mode in ("concat", "sum", "mul", "ave", None):
    both = layers.Bidirectional(layers.GRU(2, return_sequences=True), merge_mode=mode)
    model = fixed(keras.Model(entry, both(entry)))
    result[f"bidirectional_{mode}"] = model.predict(x)
both = layers.Bidirectional(layers.LSTM(2, return_state=True))
model = fixed(keras.Model(entry, both(entry)))
result["bidirectional_states"] = model.predict(x)

pictures = random.randn(2, 4, 6, 5, 2).astype("float32")
for name, settings in {
    "plain": {},
    "same": {"padding": "same", "return_sequences": True, "activation": "relu"},
    "strides": {"strides": 2, "padding": "same", "use_bias": False},
    "dilated": {"dilation_rate": (2, 1), "return_sequences": True, "go_backwards": True},
    "states": {"return_state": True, "recurrent_activation": "sigmoid"},
}.items():
    entry = keras.Input((4, 6, 5, 2))
    model = keras.Model(entry, layers.ConvLSTM2D(3, (3, 2), **settings)(entry))
    result["conv_" + name] = fixed(model).predict(pictures)
    result["conv_" + name + "_shape"] = [tuple(w.shape.as_list()) for w in model.weights]
layer = layers.ConvLSTM2D(2, 3, stateful=True)
model = fixed(keras.Sequential([keras.Input(batch_shape=(2, 4, 6, 5, 2)), layer]))
result["conv_stateful"] = [model.predict(pictures), model.predict(pictures)]
