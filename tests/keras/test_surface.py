"""Names of `tf.keras` in TensorFlow 1.15: constraints, cells, callbacks, helpers, models in folders."""

from __future__ import annotations

import http.server
import threading
from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

keras, layers, K = tf.keras, tf.keras.layers, tf.keras.backend


pytestmark = pytest.mark.usefixtures("graph")


def _model() -> tf.keras.Model:
    model = keras.Sequential([layers.Dense(1, kernel_initializer="ones", input_shape=(2,))])
    model.compile("sgd", "mse", metrics=["mae"])
    return model


def test_constraints() -> None:
    w = tf.constant([[3.0, 0.1], [4.0, 0.2]])
    found = run_initialized(keras.constraints.MinMaxNorm(0.5, 2.0, rate=0.5)(w))
    np.testing.assert_allclose(found, [[2.1, 0.1618], [2.8, 0.3236]], atol=6e-5)
    kernel = tf.reshape(tf.range(9.0), [3, 3, 1, 1])
    found = run_initialized(keras.constraints.get("radial_constraint")(kernel))[..., 0, 0]
    np.testing.assert_array_equal(found, [[4, 4, 4], [4, 0, 4], [4, 4, 4]])
    even = tf.reshape(tf.range(16.0), [4, 4, 1, 1])
    found = run_initialized(keras.constraints.RadialConstraint()(even))[..., 0, 0]
    np.testing.assert_array_equal(found[1:3, 1:3], [[5, 5], [5, 5]])
    assert set(found[0]) == set(found[:, 3]) == {15}
    with pytest.raises(ValueError, match="RadialConstraint"):
        keras.constraints.RadialConstraint()(tf.ones([3, 2, 1, 1]))


def test_a_cell_of_ones_own_in_a_stack() -> None:
    class MinimalCell(layers.AbstractRNNCell):
        def __init__(self, units: int, **kwargs: object) -> None:
            self.units = units
            super().__init__(**kwargs)

        @property
        def state_size(self) -> int:
            return self.units

        def build(self, input_shape: tf.TensorShape) -> None:
            self.kernel = self.add_weight(
                shape=(input_shape[-1], self.units), initializer="ones", name="kernel"
            )
            self.built = True

        def call(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> object:
            output = 0.1 * K.dot(inputs, self.kernel) + 0.1 * states[0]
            return output, [output]

    x = keras.Input((None, 5))
    model = keras.Model(x, layers.RNN([MinimalCell(3), MinimalCell(2)])(x))
    # The first cell: 0.5, 0.55; the second: 0.15, 0.165 + 0.015.
    np.testing.assert_allclose(model.predict(np.ones((1, 2, 5))), [[0.18, 0.18]], rtol=1e-5)
    assert len(model.trainable_weights) == 2


def test_states_of_cells_and_layers() -> None:
    states = layers.LSTMCell(3).get_initial_state(batch_size=2, dtype=tf.float32)
    assert [s.shape.as_list() for s in states] == [[2, 3], [2, 3]]
    gru = layers.GRU(3, recurrent_dropout=0.2)
    assert (gru.units, gru.recurrent_dropout, gru.use_bias) == (3, 0.2, True)
    assert type(gru.kernel_initializer).__name__ == "GlorotUniform"
    assert len(gru.get_initial_state(tf.ones([4, 5, 2]))) == 1


def test_time_major_is_the_same_with_other_axes() -> None:
    x = np.random.RandomState(0).rand(2, 5, 3).astype("float32")
    plain = layers.LSTM(4, return_sequences=True)
    expected = plain(tf.constant(x))
    major = layers.LSTM(4, return_sequences=True, time_major=True)
    found = major(tf.constant(x.transpose(1, 0, 2)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for a, b in zip(plain.weights, major.weights, strict=True):
            session.run(tf.assign(b, a))
        a, b = session.run([expected, found])
    np.testing.assert_allclose(a, b.transpose(1, 0, 2), rtol=1e-6)


def test_a_cell_with_peepholes() -> None:
    cell = keras.experimental.PeepholeLSTMCell(3)
    model = keras.Sequential([layers.RNN(cell, input_shape=(4, 2)), layers.Dense(1)])
    assert [w.shape.as_list() for w in cell.weights[3:]] == [[3]] * 3
    model.compile("adam", "mse")
    losses = model.fit(np.ones((4, 4, 2)), np.ones((4, 1)), epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


def test_bidirectional_with_another_backward_layer_and_states() -> None:
    x = keras.Input((5, 4))
    other = layers.GRU(2, go_backwards=True)
    wrapped = layers.Bidirectional(layers.LSTM(3), backward_layer=other)
    assert wrapped(x).shape.as_list() == [None, 5]
    assert wrapped.backward_layer is other
    copy = layers.deserialize({"class_name": "Bidirectional", "config": wrapped.get_config()})
    assert type(copy.backward_layer).__name__ == "GRU"
    with pytest.raises(ValueError, match="go_backwards"):
        layers.Bidirectional(layers.LSTM(3), backward_layer=layers.LSTM(3))
    states = [tf.ones([2, 3])] * 4
    with_states = layers.Bidirectional(layers.LSTM(3))(tf.ones([2, 5, 4]), initial_state=states)
    assert with_states.shape.as_list() == [2, 6]


def test_slots_and_settings_of_optimizers() -> None:
    v = tf.Variable([1.0, 2.0])
    adam = keras.optimizers.Adam(0.1, beta_1=0.5, amsgrad=True)
    assert adam.variables() == []
    step = adam.apply_gradients([(tf.constant([1.0, 1.0]), v)])
    run_initialized(step)
    assert adam.get_slot_names() == ["m", "v", "vhat"]
    assert adam.get_slot(v, "m").shape.as_list() == [2]
    assert len(adam.variables()) == 4
    assert (adam.amsgrad, keras.optimizers.SGD(nesterov=True).nesterov) == (True, True)


def test_cosine_schedules() -> None:
    e = keras.experimental
    rates = [
        e.CosineDecay(0.1, 10)(5),
        e.CosineDecayRestarts(0.1, 4)(5),
        e.LinearCosineDecay(0.1, 10)(5),
    ]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(rates), [0.05, 0.09619, 0.0251], atol=6e-6)
    config = keras.optimizers.schedules.serialize(e.CosineDecay(0.1, 10))
    assert keras.optimizers.schedules.deserialize(config).get_config()["decay_steps"] == 10


def test_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    bar = keras.utils.Progbar(3, interval=0)
    for step in range(3):
        bar.add(1, [("loss", step)])
    last = capsys.readouterr().out.splitlines()[-1]
    assert "3/3 [" in last
    assert last.endswith("loss: 1.0000")


def test_batches_made_ahead() -> None:
    class Numbers(keras.utils.Sequence):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> np.ndarray:
            return np.full(2, index)

    enqueuer = keras.utils.OrderedEnqueuer(Numbers())
    enqueuer.start(workers=2, max_queue_size=4)
    batches = enqueuer.get()
    assert [int(next(batches)[0]) for _ in range(5)] == [0, 1, 2, 0, 1]
    enqueuer.stop(timeout=10)
    assert not enqueuer.is_running()
    generator = keras.utils.GeneratorEnqueuer(iter(range(3)))
    generator.start()
    assert list(generator.get()) == [0, 1, 2]

    def failing() -> object:
        yield 1
        raise KeyError("broken")

    generator = keras.utils.GeneratorEnqueuer(failing())
    generator.start()
    with pytest.raises(KeyError, match="broken"):
        list(generator.get())


def test_helpers() -> None:
    x = keras.Input((2,))
    y = layers.Dense(1)(layers.Dense(2)(x))
    assert keras.utils.get_source_inputs(y) == [x]
    found = keras.utils.deserialize_keras_object("mse", {"mse": keras.losses.mse})
    assert found is keras.losses.mse
    with pytest.raises(ValueError, match="Unknown loss"):
        keras.utils.deserialize_keras_object("mess", {}, printable_module_name="loss")


def test_functions_of_the_backend_by_the_names_of_their_parameters() -> None:
    value = K.get_value
    np.testing.assert_allclose(
        value(K.softmax(x=K.constant([[1.0, 2.0]]))), [[0.2689, 0.7311]], atol=6e-5
    )
    assert value(K.pow(x=K.constant([2.0]), a=3)) == [8.0]
    assert value(K.reverse(x=K.constant([1.0, 2.0]), axes=0)).tolist() == [2.0, 1.0]
    assert value(K.tile(x=K.constant([1.0]), n=2)).tolist() == [1.0, 1.0]
    assert K.int_shape(K.expand_dims(x=K.constant([1.0]))) == (1, 1)
    assert K.int_shape(K.squeeze(x=K.constant([[1.0]]), axis=0)) == (1,)
    assert value(K.stack(x=[K.constant(1.0), K.constant(2.0)])).tolist() == [1.0, 2.0]
    assert value(K.gather(reference=K.constant([1.0, 2.0]), indices=[1])).tolist() == [2.0]
    assert value(K.map_fn(lambda v: v * 2, K.constant([1.0, 2.0]), name="m")).tolist() == [2, 4]
    np.testing.assert_allclose(
        value(K.elu(x=K.constant([-1.0, 1.0]), alpha=2.0)), [-1.2642, 1], atol=6e-5
    )
    assert K.is_sparse(K.placeholder((2, 3), sparse=True))


def test_what_callbacks_tell() -> None:
    model = _model()
    stopping = keras.callbacks.EarlyStopping("loss", patience=0, restore_best_weights=True)
    plateau = keras.callbacks.ReduceLROnPlateau("loss", patience=5)
    seen = []
    every = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    model.fit(
        *(np.ones((4, 2)), np.ones((4, 1))),
        epochs=2,
        verbose=0,
        callbacks=[stopping, plateau, every],
    )
    assert seen == [0, 1]
    assert (stopping.wait, stopping.monitor_op, plateau.in_cooldown()) == (0, np.less, False)
    assert stopping.best_weights is not None


def test_checkpoints_after_so_many_examples(tmp_path: Path) -> None:
    path = str(tmp_path / "weights.h5")
    callback = keras.callbacks.ModelCheckpoint(path, save_weights_only=True, save_freq=4)
    saved = []
    model = _model()
    model.save_weights = lambda where: saved.append(where)  # type: ignore[method-assign]
    model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=2, verbose=0, callbacks=[callback])
    assert saved == [path, path]
    with pytest.raises(ValueError, match="save_freq"):
        keras.callbacks.ModelCheckpoint(path, save_freq="batch")


def test_logs_of_an_epoch_are_sent_to_a_server() -> None:
    bodies = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monitor = keras.callbacks.RemoteMonitor(
            f"http://127.0.0.1:{server.server_port}", send_as_json=True
        )
        _model().fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0, callbacks=[monitor])
        server.shutdown()
    ((path, body),) = bodies
    assert path == "/publish/epoch/end/"
    assert b'"epoch": 0' in body
    with pytest.warns(UserWarning, match="Could not reach"):
        _model().fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0, callbacks=[monitor])


def test_a_saved_model_and_a_checkpoint_of_weights(tmp_path: Path) -> None:
    model = _model()
    model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
    expected = model.predict(np.ones((1, 2)))
    keras.experimental.export_saved_model(model, tmp_path / "saved")
    loaded = keras.experimental.load_from_saved_model(tmp_path / "saved")
    np.testing.assert_array_equal(loaded.predict(np.ones((1, 2))), expected)
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        meta = tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "saved"))
        signature = meta.signature_def["serving_default"]
        (given,), (wanted,) = (
            [info.name for info in part.values()] for part in (signature.inputs, signature.outputs)
        )
        np.testing.assert_array_equal(session.run(wanted, {given: np.ones((1, 2))}), expected)
    prefix = str(tmp_path / "weights")
    model.save_weights(prefix, save_format="tf")
    other = _model()
    other.load_weights(prefix)
    np.testing.assert_array_equal(other.predict(np.ones((1, 2))), expected)
    with pytest.raises(FileNotFoundError, match="not written by export_saved_model"):
        keras.experimental.load_from_saved_model(tmp_path)


def test_architectures_as_yaml_and_cloned_by_a_function() -> None:
    pytest.importorskip("yaml")
    x = keras.Input((2,))
    model = keras.Model(x, layers.Dense(1, name="last")(layers.Dense(3, name="first")(x)))
    copy = keras.models.model_from_yaml(model.to_yaml())
    assert [layer.name for layer in copy.layers][1:] == ["first", "last"]

    def wider(layer: tf.keras.layers.Layer) -> tf.keras.layers.Layer:
        return (
            layers.Dense(7, name="wide")
            if layer.name == "first"
            else type(layer).from_config(layer.get_config())
        )

    clone = keras.models.clone_model(model, clone_function=wider)
    assert clone.get_layer("wide").units == 7
    assert clone.count_params() == 2 * 7 + 7 + 7 + 1


def test_linear_and_wide_and_deep_models() -> None:
    random = np.random.RandomState(0)
    x, z = random.rand(64, 2), random.rand(64, 3)
    y = x @ [[1.0], [2.0]] + z @ [[1.0], [0.0], [-1.0]] + 0.5
    linear = keras.experimental.LinearModel()
    linear.compile(keras.optimizers.Adam(0.1), "mse")
    losses = linear.fit([x, z], y, epochs=60, verbose=0).history["loss"]
    assert losses[-1] < 0.02 * losses[0]
    assert [w.shape.as_list() for w in linear.weights] == [[2, 1], [3, 1], [1]]
    both = keras.experimental.WideDeepModel(
        keras.experimental.LinearModel(), keras.Sequential([layers.Dense(1)])
    )
    both.compile("sgd", "mse")
    losses = both.fit([x, z], y, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    both.linear_model.activation = keras.activations.relu
    again = type(both).from_config(both.get_config())
    assert again.linear_model.activation is keras.activations.relu
    assert [layer.units for layer in again.dnn_model.layers] == [1]


def test_wide_and_deep_parts_have_an_optimizer_each() -> None:
    both = keras.experimental.WideDeepModel(
        keras.experimental.LinearModel(kernel_initializer="zeros", use_bias=False),
        keras.Sequential([layers.Dense(1, kernel_initializer="zeros", use_bias=False)]),
    )
    both.compile([keras.optimizers.SGD(0.1), keras.optimizers.SGD(0.3)], "mse")
    one = np.ones((1, 1))
    both.fit([one, one], 3 * one, verbose=0)
    # the prediction is a mean: half of the gradient -6 reaches either kernel
    np.testing.assert_allclose(both.linear_model.get_weights()[0], [[0.3]], rtol=1e-6)
    np.testing.assert_allclose(both.dnn_model.get_weights()[0], [[0.9]], rtol=1e-6)
    np.testing.assert_allclose(both.predict([one, one]), [[0.6]], rtol=1e-6)


def test_image_changes_one_by_one() -> None:
    image = keras.preprocessing.image
    a = np.arange(48.0).reshape(4, 4, 3)
    np.testing.assert_array_equal(image.apply_channel_shift(a, 5.0)[0, 0], [5, 6, 7])
    np.testing.assert_array_equal(image.apply_affine_transform(a, tx=1)[:3], a[1:])
    np.testing.assert_array_equal(image.apply_brightness_shift(a, 2.0)[0, 1], [6, 8, 10])
    assert image.random_rotation(a, 30, 0, 1, 2).shape == a.shape
    generator = image.ImageDataGenerator(horizontal_flip=True, width_shift_range=0.5)
    how = generator.get_random_transform((4, 4, 3), seed=1)
    assert set(how) == {
        *("theta", "tx", "ty", "shear", "zx", "zy", "flip_horizontal", "flip_vertical"),
        *("channel_shift_intensity", "brightness"),
    }
    np.testing.assert_array_equal(
        generator.apply_transform(a, {"flip_horizontal": True}), a[:, ::-1]
    )
    batches = generator.flow(np.ones((5, 4, 4, 3)), np.arange(5), batch_size=2, shuffle=False)
    assert isinstance(batches, image.NumpyArrayIterator)
    assert batches.next()[1].tolist() == [0, 1]


def test_an_epoch_is_made_before_its_end_is_told() -> None:
    class Numbers(tf.keras.utils.Sequence):
        factor = 1

        def __len__(self):
            return 20

        def __getitem__(self, index):
            return index * self.factor

        def on_epoch_end(self):
            self.factor *= 5

    work = tf.keras.utils.OrderedEnqueuer(Numbers())
    work.start(3, 5)
    batches = work.get()
    found = [next(batches) for _ in range(40)]
    work.stop()
    assert found == [*range(20), *(5 * i for i in range(20))]


def test_a_sequence_keeps_its_order_when_a_model_predicts_and_is_evaluated() -> None:
    class Shuffled(tf.keras.utils.Sequence):
        order = np.arange(4)

        def __len__(self):
            return 2

        def __getitem__(self, index):
            rows = self.order[2 * index : 2 * index + 2].astype("float32")[:, np.newaxis]
            return rows, rows

        def on_epoch_end(self):
            self.order = self.order[[1, 2, 3, 0]]

    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones", input_shape=(1,))])
    model.compile("sgd", "mse")
    rows, kept = Shuffled(), Shuffled()
    assert model.predict_generator(rows).ravel().tolist() == [0, 1, 2, 3] == rows.order.tolist()
    assert model.evaluate_generator(rows) == 0 and rows.order.tolist() == [0, 1, 2, 3]
    model.fit_generator(rows, epochs=2, validation_data=kept, verbose=0)
    assert rows.order.tolist() == [2, 3, 0, 1] and kept.order.tolist() == [0, 1, 2, 3]


def test_files_by_their_address_and_hash(tmp_path) -> None:
    from dataflow.python.keras.utils import data_utils

    source = tmp_path / "a.txt"
    source.write_text("bee")
    digest = data_utils._hash_file(source)
    path = tf.keras.utils.get_file(
        "b.txt", source.as_uri(), cache_dir=str(tmp_path), file_hash=digest
    )
    assert data_utils.validate_file(path, digest) and not data_utils.validate_file(path, "0" * 64)


def test_helpers_of_generic_utils() -> None:
    from dataflow.python.keras.utils import generic_utils as helpers

    one = 1
    code = helpers.func_dump(lambda x, y=2: x + y + one)
    assert helpers.func_load(code)(3) == 6
    assert helpers.has_arg(lambda a, **k: 0, "a") and not helpers.has_arg(lambda **k: 0, "a")
    assert helpers.has_arg(lambda **k: 0, "a", accept_all=True)
    rows = np.arange(6)
    assert helpers.slice_arrays([rows, None], 2, 4)[0].tolist() == [2, 3]
    assert helpers.slice_arrays(rows, [0, 5]).tolist() == [0, 5]
    assert helpers.to_snake_case("BatchNorm") == "batch_norm"
    with pytest.raises(ValueError, match="Unknown entries"):
        helpers.check_for_unexpected_keys("d", {"a": 1}, ["b"])


def test_modules_of_layers_have_what_tensorflow_has_in_them() -> None:
    from dataflow.keras.layers import convolutional, recurrent

    assert recurrent.GRUCell is tf.keras.layers.GRUCell
    assert convolutional.UpSampling2D is tf.keras.layers.UpSampling2D
    with pytest.raises(AttributeError, match="not part"):
        recurrent.no_such_layer


def test_switch_by_a_number_and_by_elements() -> None:
    K = tf.keras.backend
    x = K.constant([[1.0, -2.0], [-3.0, 4.0]])
    assert K.eval(K.switch(K.constant(1.0), lambda: x, x * 0.0)).tolist() == K.eval(x).tolist()
    relu = K.switch(K.greater(x, 0.0), x, lambda: K.zeros_like(x))
    assert K.eval(relu).tolist() == [[1.0, 0.0], [0.0, 4.0]]
    rows = K.switch(K.constant([0.0, 1.0]), x, -x)
    assert K.eval(rows).tolist() == [[-1.0, 2.0], [-3.0, 4.0]]
    with pytest.raises(ValueError, match="Rank of `condition`"):
        K.switch(K.constant([[True]], "bool"), K.constant([1.0]), K.constant([2.0]))


def test_a_variable_of_zeros_whose_shape_is_one_number() -> None:
    assert K.get_value(K.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert K.get_value(K.ones(1)).tolist() == [1.0]
