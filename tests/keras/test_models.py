"""Models learn, are saved, and refuse what does not fit."""

from __future__ import annotations

import functools
import hashlib
import http.server
import tarfile
import threading
from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras import hdf5_format

keras = tf.keras
layers = keras.layers
K = keras.backend

XOR_X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], "float32")
XOR_Y = np.array([0, 1, 1, 0])


@pytest.fixture(autouse=True)
def _fresh():
    K.clear_session()
    tf.set_random_seed(0)
    np.random.seed(0)
    yield
    K.clear_session()


def xor_model():
    model = keras.Sequential(
        [
            layers.Dense(8, activation="tanh", input_shape=(2,)),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", ["accuracy"])
    return model


def test_xor_is_learnt_and_named_as_in_tensorflow():
    model = xor_model()
    history = model.fit(XOR_X, XOR_Y, epochs=300, batch_size=4, verbose=0)
    assert history.history["loss"][0] > 0.4
    assert history.history["loss"][-1] < 0.1
    assert history.history["acc"][-1] == 1.0
    assert history.history["accuracy"] == history.history["acc"]
    assert [w.name for w in model.weights] == [
        "dense/kernel:0",
        "dense/bias:0",
        "dense_1/kernel:0",
        "dense_1/bias:0",
    ]
    loss, accuracy = model.evaluate(XOR_X, XOR_Y, verbose=0)
    assert accuracy == 1.0
    p = model.predict(XOR_X).ravel()
    expected = -np.mean(np.log(np.where(XOR_Y == 1, p, 1 - p)))
    np.testing.assert_allclose(loss, expected, rtol=1e-3)
    assert model.predict_classes(XOR_X).ravel().tolist() == XOR_Y.tolist()


@pytest.mark.parametrize(
    "optimizer",
    ["sgd", "rmsprop", "adam", "adamax", "nadam", "ftrl", "adagrad", "momentum", "schedule", "tf"],
)
def test_every_optimizer_lowers_a_linear_loss(optimizer):
    if optimizer == "momentum":
        optimizer = keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True, clipnorm=5.0)
    elif optimizer == "schedule":
        schedule = keras.optimizers.schedules.ExponentialDecay(0.05, 10, 0.9)
        optimizer = keras.optimizers.Adam(schedule, amsgrad=True)
    elif optimizer in ("ftrl", "adagrad"):
        optimizer = keras.optimizers.get({"class_name": optimizer, "config": {"lr": 0.1}})
    elif optimizer == "tf":
        optimizer = tf.train.GradientDescentOptimizer(0.1)
    x = np.random.randn(64, 3).astype("float32")
    y = x @ [[1.0], [-2.0], [0.5]] + 3
    model = keras.Sequential([layers.Dense(1, input_dim=3)])
    model.compile(optimizer, "mse", metrics=["mae"])
    losses = model.fit(x, y, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < 0.98 * losses[0]


def test_sgd_makes_the_step_of_its_formula():
    model = keras.Sequential([layers.Dense(1, use_bias=False, input_dim=1)])
    model.compile(keras.optimizers.SGD(lr=0.1), "mse")
    model.set_weights([np.array([[2.0]])])
    # d/dw (w x - y)^2 = 2 x (w x - y) = 2 * 3 * (6 - 5) = 6
    model.train_on_batch(np.array([[3.0]]), np.array([[5.0]]))
    np.testing.assert_allclose(model.get_weights()[0], [[1.4]], rtol=1e-6)


def test_a_convolutional_network_tells_stripes():
    x = np.zeros([120, 8, 8, 1], "float32")
    y = np.arange(120) % 2
    for i in range(120):
        at = np.random.randint(8)
        if y[i]:
            x[i, at, :] = 1
        else:
            x[i, :, at] = 1
    model = keras.Sequential(
        [
            layers.Conv2D(4, 3, activation="relu", padding="same", input_shape=(8, 8, 1)),
            layers.BatchNormalization(momentum=0.8),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.2),
            layers.Dense(2, activation="softmax", kernel_regularizer="l2"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy", ["accuracy"])
    moving = model.get_layer("batch_normalization").get_weights()[2]
    history = model.fit(x, y, epochs=12, validation_split=0.25, verbose=0).history
    assert sorted(history) == ["acc", "loss", "val_acc", "val_loss"]
    assert history["val_acc"][-1] > 0.9
    assert not np.array_equal(model.get_layer("batch_normalization").get_weights()[2], moving)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN", "Bidirectional"])
def test_recurrent_layers_learn_which_comes_first(kind):
    x = np.random.randint(1, 4, [200, 5])
    y = (x[:, 0] == 1).astype("float32")
    recurrent = layers.Bidirectional(layers.LSTM(8)) if kind == "Bidirectional" else None
    recurrent = recurrent or getattr(layers, kind)(12)
    model = keras.Sequential(
        [layers.Embedding(4, 6, mask_zero=True), recurrent, layers.Dense(1, activation="sigmoid")]
    )
    model.compile(keras.optimizers.Adam(0.03), "binary_crossentropy", ["acc"])
    history = model.fit(x, y, epochs=12, verbose=0).history
    assert history["acc"][-1] > 0.9
    padded = np.concatenate([np.zeros([200, 3], int), x], 1)
    np.testing.assert_allclose(model.predict(padded), model.predict(x), atol=1e-5)


def test_functional_model_with_two_inputs_and_a_shared_layer():
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    shared = layers.Dense(4, activation="relu")
    merged = layers.concatenate([shared(a), shared(b)])
    model = keras.Model([a, b], layers.Dense(1)(merged))
    model.compile("adam", "mse")
    assert len(model.weights) == 4
    x = {"a": np.random.randn(10, 3), "b": np.random.randn(10, 3)}
    model.fit(x, np.zeros(10), verbose=0)
    predicted = model.predict([x["a"], x["b"]])
    clone = keras.models.model_from_json(model.to_json())
    clone.set_weights(model.get_weights())
    np.testing.assert_allclose(clone.predict([x["a"], x["b"]]), predicted, rtol=1e-5)


def test_a_subclass_of_model_learns():
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = layers.Dense(8, activation="tanh")
            self.last = layers.Dense(1, activation="sigmoid")

        def call(self, inputs):
            return self.last(self.hidden(inputs))

    model = Net()
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy")
    losses = model.fit(XOR_X, XOR_Y, epochs=200, verbose=0).history["loss"]
    assert losses[-1] < 0.3 < losses[0]


def test_a_dataset_is_fitted():
    dataset = tf.data.Dataset.from_tensor_slices((XOR_X, XOR_Y)).batch(2)
    model = xor_model()
    history = model.fit(dataset, epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2
    model.fit(dataset.repeat(), epochs=1, steps_per_epoch=5, verbose=0)
    np.testing.assert_allclose(
        model.evaluate(dataset), model.evaluate(XOR_X, XOR_Y), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("name", ["model.safetensors", "model.h5"])
@pytest.mark.filterwarnings("ignore:.*safetensors")
def test_a_saved_model_predicts_and_trains_on_as_before(tmp_path, name, monkeypatch):
    monkeypatch.setattr(hdf5_format, "is_available", lambda: False)  # as without h5py
    model = xor_model()
    model.fit(XOR_X, XOR_Y, epochs=3, batch_size=4, verbose=0)
    model.save(tmp_path / name)
    loaded = keras.models.load_model(tmp_path / name)
    np.testing.assert_array_equal(loaded.predict(XOR_X), model.predict(XOR_X))
    for one in (model, loaded):
        one.fit(XOR_X, XOR_Y, epochs=3, batch_size=4, shuffle=False, verbose=0)
    np.testing.assert_allclose(loaded.predict(XOR_X), model.predict(XOR_X), rtol=1e-5)


def test_weights_are_loaded_into_a_model_of_the_same_shape_only(tmp_path):
    model = xor_model()
    path = tmp_path / "weights"
    model.save_weights(path)
    other = xor_model()
    other.load_weights(path)
    np.testing.assert_array_equal(other.predict(XOR_X), model.predict(XOR_X))
    wrong = keras.Sequential([layers.Dense(3, input_dim=2), layers.Dense(1)])
    with pytest.raises(ValueError, match="do not fit"):
        wrong.load_weights(path)


def test_bad_input_is_explained():
    model = xor_model()
    with pytest.raises(ValueError, match=r"expected dense_input to have shape \(2,\)"):
        model.fit(np.zeros([4, 3]), XOR_Y, verbose=0)
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(XOR_X, XOR_Y[:3], verbose=0)
    with pytest.raises(TypeError, match="It is called epochs"):
        model.fit(XOR_X, XOR_Y, nb_epoch=3)
    with pytest.raises(ValueError, match="Unknown loss function: 'croissant'"):
        model.compile("adam", "croissant")
    with pytest.raises(ValueError, match="Unknown optimizer"):
        model.compile("adamant", "mse")
    with pytest.raises(TypeError, match="brackets"):
        keras.Sequential([layers.Dense])
    softmax = keras.Sequential([layers.Dense(3, activation="softmax", input_dim=2)])
    with pytest.raises(RuntimeError, match="compile"):
        softmax.fit(XOR_X, XOR_Y)
    softmax.compile("sgd", "categorical_crossentropy")
    with pytest.raises(ValueError, match="sparse_categorical_crossentropy"):
        softmax.fit(XOR_X, XOR_Y, verbose=0)


def test_summary_counts_parameters():
    lines = []
    xor_model().summary(print_fn=lines.append)
    assert "Total params: 33" in lines


def test_to_categorical():
    np.testing.assert_array_equal(keras.utils.to_categorical([0, 2], 3), [[1, 0, 0], [0, 0, 1]])
    with pytest.raises(ValueError, match="num_classes"):
        keras.utils.to_categorical([3], 3)


def test_get_file_says_where_to_put_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("DATAFLOW_OFFLINE", "1")
    arguments = {"origin": "http://localhost/a.txt", "cache_dir": str(tmp_path)}
    with pytest.raises(FileNotFoundError, match="put it at"):
        keras.utils.get_file("a.txt", **arguments)
    (tmp_path / "datasets").mkdir(exist_ok=True)
    (tmp_path / "datasets" / "a.txt").write_text("here")
    assert keras.utils.get_file("a.txt", **arguments).endswith("a.txt")
    md5 = hashlib.md5(b"here").hexdigest()
    assert keras.utils.get_file(file_hash=md5, **arguments).endswith("a.txt")
    with pytest.raises(FileNotFoundError, match="DATAFLOW_OFFLINE"):
        keras.utils.get_file("a.txt", file_hash="0" * 64, **arguments)


@pytest.fixture
def served(tmp_path):
    """The address of a folder on loopback that holds an archive of one file."""
    folder = tmp_path / "served"
    folder.mkdir()
    (tmp_path / "flowers").mkdir()
    (tmp_path / "flowers" / "rose.txt").write_text("red")
    with tarfile.open(folder / "flowers.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "flowers", "flowers")
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(10)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def test_get_file_downloads_checks_and_unpacks(served, tmp_path, monkeypatch):
    monkeypatch.delenv("DATAFLOW_OFFLINE", raising=False)
    origin = served + "/flowers.tar.gz"
    arguments = {"origin": origin, "cache_dir": str(tmp_path / "cache")}
    folder = Path(keras.utils.get_file("flowers", untar=True, **arguments))
    assert (folder / "rose.txt").read_text() == "red"
    path = Path(keras.utils.get_file(cache_subdir="other", extract=True, **arguments))
    assert path.name == "flowers.tar.gz"
    assert (path.parent / "flowers" / "rose.txt").read_text() == "red"
    with pytest.raises(ValueError, match="has not the hash"):
        keras.utils.get_file("new.tar.gz", file_hash="0" * 32, **arguments)
    assert not (tmp_path / "cache" / "datasets" / "new.tar.gz").exists()


def test_the_config_of_a_row_of_layers_is_tensorflows() -> None:
    """Its first layer tells the input's shape, or the model does, where data made it."""

    def shapes(model):
        config = model.get_config()
        found = [c["config"].get("batch_input_shape") for c in config["layers"]]
        again = keras.Sequential.from_config(config)
        assert [w.shape for w in again.weights] == [w.shape for w in model.weights]
        return [c["class_name"] for c in config["layers"]], found, config.get("build_input_shape")

    dense = ["Dense", "Dense"]
    model = keras.Sequential([layers.Dense(3, input_shape=(4,)), layers.Dense(2)])
    assert shapes(model) == (dense, [[None, 4], None], None)
    model = keras.Sequential([layers.InputLayer((4,)), layers.Dense(3), layers.Dense(2)])
    assert shapes(model) == (dense, [[None, 4], None], None)
    model = keras.Sequential([layers.Dense(3), layers.Dense(2)])
    assert shapes(model) == (dense, [None, None], None)
    model.build((None, 5))
    assert shapes(model) == (dense, [None, None], [None, 5])
    inner = keras.Sequential([layers.Dense(3, input_shape=(4,))])
    assert shapes(keras.Sequential([inner, layers.Dense(2)]))[0] == ["Sequential", "Dense"]
    numbers = keras.Sequential([layers.InputLayer((4,), dtype="int32"), layers.Embedding(5, 2)])
    assert shapes(numbers)[0] == ["InputLayer", "Embedding"]
    again = keras.Sequential.from_config(numbers.get_config())
    assert again.inputs[0].dtype is tf.int32


def test_calls_of_layers_by_kerass_names() -> None:
    a, b = keras.Input((2,)), keras.Input((3,))
    dense, join = layers.Dense(3), layers.Concatenate()
    model = keras.Model([a, b], join([dense(a), b]))
    (node,) = join.inbound_nodes
    assert node is join._inbound_nodes[0] is dense._outbound_nodes[0]
    assert node.outbound_layer is join
    assert [layer.name for layer in node.inbound_layers] == [dense.name, model.input_names[1]]
    assert (node.node_indices, node.tensor_indices) == ([0, 0], [0, 0])
    assert node.input_shapes == [(None, 3), (None, 3)]
    assert node.output_shapes == [(None, 6)]
    assert node.output_tensors[0] is model.output
    assert node.input_tensors[1] is b
    assert node.arguments == {}
    dense.outbound_nodes = []
    assert not dense.outbound_nodes
    assert len(join.inbound_nodes) == 1


def test_a_layer_may_return_its_weights() -> None:
    class Table(layers.Layer):
        def build(self, input_shape):
            self.table = self.add_weight("table", (2, 2), initializer="ones")
            super().build(input_shape)

        def call(self, inputs):
            return [tf.matmul(inputs, self.table), self.table]

    x = keras.Input((2,))
    product, table = Table()(x)
    model = keras.Model(x, layers.Lambda(lambda both: tf.matmul(*both))([product, table]))
    assert model.predict(np.ones((1, 2))).tolist() == [[4.0, 4.0]]
    model.set_weights([np.eye(2)])
    assert model.predict(np.ones((1, 2))).tolist() == [[1.0, 1.0]]


def test_an_input_takes_what_it_returns_and_losses_stand_beside_the_metrics() -> None:
    a, b = keras.Input((3,)), keras.Input((3,))
    dense = layers.Dense(1)
    x, y = dense(a), dense(b)
    model = keras.Model([a, b], layers.Subtract()([x, y]))
    assert model.layers[0].input is a
    assert model.layers[0].get_input_at(0) is a
    assert model.layers[0].input_shape == (None, 3)
    half = K.function([model.layers[0].input], [dense.get_output_at(0)])
    assert half([np.ones((2, 3))])[0].shape == (2, 1)
    model.compile("sgd", "mse", metrics=["mae"])
    (error,) = model.metrics_tensors
    assert error.shape.ndims == 0
    assert len(model.metrics_tensors) == len(model.metrics_names) - 1


def test_lines_of_a_summary_are_padded_as_keras_pads_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keras.Sequential([layers.Dense(1, input_shape=(2,))]).summary()
    lines = capsys.readouterr().out.split("\n")
    assert lines[2] == "Layer (type)                 Output Shape              Param #   "
    assert len(lines[4]) == 65


def test_sequential_begins_anew_and_says_whether_data_made_it():
    model = keras.Sequential(layers.Dense(2, input_shape=(3,)))
    assert model._is_graph_network and model.output_shape == (None, 2)
    model.pop()
    assert not (model.layers or model.inputs or model.outputs or model.built)
    with pytest.raises(TypeError, match="no layers"):
        model.pop()
    model.add(layers.Dense(1, input_shape=(4,)))
    assert model.predict(np.ones((2, 4))).shape == (2, 1)
    waiting = keras.Sequential([layers.Dense(2)])
    assert not waiting._is_graph_network
    waiting.predict(np.ones((2, 4)))
    assert not waiting._is_graph_network


def test_sequential_takes_no_layer_of_several_outputs():
    class Twice(layers.Layer):
        def call(self, inputs):
            return [inputs, 2 * inputs]

    with pytest.raises(ValueError, match="single output tensor"):
        keras.Sequential([Twice(input_shape=(3,))])
    with pytest.raises(TypeError, match="single output tensor"):
        keras.Sequential([layers.Dense(3, input_shape=(3,)), Twice()])
