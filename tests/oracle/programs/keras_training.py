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
for name, optimizer in {
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
    result[name] = [history.history["loss"], history.history["acc"], model.get_weights()[0]]
    result[name + "_names"] = model.metrics_names
