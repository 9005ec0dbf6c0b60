# issue 5: tf.keras as course code uses it
# tolerance 1e-3
tf.set_random_seed(0)
K = tf.keras
X = np.sin(np.arange(24)).reshape(6, 4).astype(np.float32)
y = (np.arange(6) % 3).astype(np.int32)
ones = K.initializers.Constant(0.1)
model = K.Sequential(
    [
        K.layers.Dense(5, activation="relu", input_shape=(4,), kernel_initializer=ones),
        K.layers.Dropout(0.0),
        K.layers.Dense(3, activation="softmax", kernel_initializer=K.initializers.Constant(0.2)),
    ]
)
model.compile(
    optimizer=K.optimizers.SGD(0.5), loss="sparse_categorical_crossentropy", metrics=["accuracy"]
)
history = model.fit(X, y, batch_size=6, epochs=3, verbose=0, shuffle=False)
result["losses"] = [float(v) for v in history.history["loss"]]
result["keys"] = sorted(history.history)
result["evaluate"] = [float(v) for v in model.evaluate(X, y, verbose=0)]
result["predict"] = model.predict(X)
result["names"] = model.metrics_names
result["count"] = model.count_params()
result["layers"] = [type(layer).__name__ for layer in model.layers]
result["output_shape"] = list(model.output_shape)
result["weights"] = [w.shape for w in model.get_weights()]
inputs = K.Input(shape=(4,))
h = K.layers.Dense(3, kernel_initializer=ones)(inputs)
h2 = K.layers.Activation("tanh")(h)
out = K.layers.Dense(1, kernel_initializer=ones)(K.layers.concatenate([h, h2]))
functional = K.Model(inputs=inputs, outputs=out)
functional.compile(optimizer="sgd", loss="mse")
result["batch_loss"] = float(functional.train_on_batch(X, X.sum(1, keepdims=True)))
result["functional"] = functional.predict(X[:2])
conv = K.models.Sequential()
conv.add(K.layers.Conv2D(2, (3, 3), input_shape=(6, 6, 1), kernel_initializer=ones, padding="same"))
conv.add(K.layers.MaxPooling2D(2))
conv.add(K.layers.Flatten())
conv.add(K.layers.Reshape((9, 2)))
conv.add(K.layers.Lambda(lambda t: t * 2.0))
conv.add(K.layers.GlobalAveragePooling1D())
result["conv"] = conv.predict(np.arange(36.0).reshape(1, 6, 6, 1).astype(np.float32))
result["conv_shapes"] = [list(layer.output_shape) for layer in conv.layers]
result["categorical"] = K.utils.to_categorical([0, 2, 1])
weights = model.get_weights()
weights[1] = weights[1] + 1.0
model.set_weights(weights)
result["set"] = model.get_weights()[1]
seen = []


class Watch(K.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        seen.append((epoch, sorted(logs)))


model.fit(
    X,
    y,
    epochs=2,
    verbose=0,
    validation_data=(X, y),
    callbacks=[Watch(), K.callbacks.EarlyStopping(patience=3)],
)
result["callbacks"] = seen
embedding = K.Sequential(
    [
        K.layers.Embedding(
            5, 2, input_length=3, embeddings_initializer=K.initializers.Constant(0.3)
        ),
        K.layers.LSTM(2, kernel_initializer=ones, recurrent_initializer=ones),
    ]
)
result["lstm"] = embedding.predict(np.array([[0, 1, 2], [3, 4, 0]]))
result["bad_fit"] = error_of(lambda: model.fit(X[:, :2], y, verbose=0))
result["not_compiled"] = error_of(
    lambda: conv.fit(np.zeros((1, 6, 6, 1)), np.zeros((1, 2)), verbose=0)
)
K.backend.clear_session()
