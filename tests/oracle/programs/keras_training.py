# issue 5: tf.keras: recurrent layers over masked steps, and the steps of its optimizers
keras = tf.keras
for kind in ("LSTM", "GRU", "SimpleRNN"):
    for backwards in (False, True):
        options = {"go_backwards": backwards, "return_sequences": True}
        if kind != "SimpleRNN":
            options["recurrent_activation"] = "hard_sigmoid"
        if kind == "GRU":
            options["reset_after"] = False
        entry = keras.Input((5, 3))
        layer = getattr(keras.layers, kind)(4, **options)
        model = keras.Model(entry, layer(keras.layers.Masking()(entry)))
        random = np.random.RandomState(1)
        model.set_weights([random.randn(*w.shape.as_list()) * 0.5 for w in model.weights])
        x = random.randn(2, 5, 3).astype("float32")
        x[0, 3:] = 0
        x[1, 1] = 0
        result[f"{kind}_{backwards}"] = model.predict(x)
schedules = keras.optimizers.schedules
for name, optimizer in {
    "momentum_decay": keras.optimizers.SGD(0.1, momentum=0.9, decay=0.3),
    "clipnorm": keras.optimizers.SGD(0.1, clipnorm=0.2),
    "clipvalue": keras.optimizers.SGD(lr=0.1, clipvalue=0.05),
    "centered": keras.optimizers.RMSprop(0.01, centered=True),
    "rms_momentum": keras.optimizers.RMSprop(0.01, momentum=0.8),
    "rms_both": keras.optimizers.RMSprop(0.01, momentum=0.8, centered=True),
    "amsgrad": keras.optimizers.Adam(0.01, amsgrad=True),
    "adamax": keras.optimizers.Adamax(0.02),
    "nadam": keras.optimizers.Nadam(0.02),
    "adagrad": keras.optimizers.Adagrad(0.1),
    "adadelta": keras.optimizers.Adadelta(0.5),
    "ftrl": keras.optimizers.Ftrl(0.1, l1_regularization_strength=0.01),
    "exponential": keras.optimizers.SGD(schedules.ExponentialDecay(0.2, 5, 0.5)),
    "inverse": keras.optimizers.SGD(schedules.InverseTimeDecay(0.2, 5, 0.5, staircase=True)),
    "polynomial": keras.optimizers.SGD(schedules.PolynomialDecay(0.2, 10, 0.01, power=2.0)),
    "piecewise": keras.optimizers.SGD(schedules.PiecewiseConstantDecay([4, 9], [0.3, 0.1, 0.01])),
    "rmsprop": keras.optimizers.RMSprop(0.01),
    "adam": keras.optimizers.Adam(0.01),
    "nesterov": keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
}.items():
    model = keras.Sequential([keras.layers.Dense(3, activation="softmax", input_dim=4)])
    random = np.random.RandomState(2)
    model.set_weights([random.randn(*w.shape.as_list()) for w in model.weights])
    model.compile(optimizer, "categorical_crossentropy", ["accuracy"])
    x = random.randn(10, 4).astype("float32")
    y = np.eye(3)[random.randint(0, 3, 10)]
    history = model.fit(x, y, batch_size=4, epochs=5, shuffle=False, verbose=0)
    told = [[float(v) for v in history.history[key]] for key in ("loss", "acc")]
    result[name] = [*told, model.get_weights()[0]]
    result[name + "_names"] = model.metrics_names
