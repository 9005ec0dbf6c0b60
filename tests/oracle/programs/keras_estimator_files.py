# issue 51: what model_to_estimator writes before and while it trains
import os

keras = tf.keras


def model_with(optimizer):
    keras.backend.clear_session()
    layers = [keras.layers.Dense(4, "relu", input_shape=(3,)), keras.layers.Dense(1, name="out")]
    model = keras.Sequential(layers)
    model.compile(optimizer, "mse")
    return model


def data():
    batch = ({"dense_input": np.ones((8, 3), "float32")}, np.ones((8, 1), "float32"))
    return tf.data.Dataset.from_tensors(batch).repeat()


OPTIMIZERS = {
    "keras": lambda: keras.optimizers.Adam(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "train": lambda: tf.train.AdamOptimizer(0.1),
}
for name, make in OPTIMIZERS.items():
    folder = os.path.join(tmp_dir, name)
    model = model_with(make())
    before = model.get_weights()
    estimator = keras.estimator.model_to_estimator(
        model, model_dir=folder, checkpoint_format="saver"
    )
    first = tf.train.latest_checkpoint(os.path.join(folder, "keras"))
    result[name + ": first"] = os.path.relpath(first, folder)
    result[name + ": first variables"] = [
        [key, list(shape)] for key, shape in tf.train.list_variables(first)
    ]
    reader = tf.train.load_checkpoint(first)
    kept = [reader.get_tensor(key) for key in ("dense/kernel", "dense/bias", "out/kernel")]
    result[name + ": same"] = [bool(np.array_equal(a, b)) for a, b in zip(before, kept)]
    estimator.train(data, steps=3)
    result[name + ": variables"] = [
        [key, list(shape)] for key, shape in tf.train.list_variables(folder)
    ]
    result[name + ": step"] = int(estimator.get_variable_value("global_step"))
