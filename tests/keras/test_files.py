"""Models and weights in files: HDF5 as TensorFlow writes it, and safetensors."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras import function_code
from tests.keras import file_models

pytest.importorskip("h5py", reason="h5py is not installed: pip install 'dataflow-learn[hdf5]'")
keras = tf.keras
layers = keras.layers
FILES = Path(__file__).with_name("tensorflow_files")
pytestmark = pytest.mark.usefixtures("new_keras_session")


def same(found, expected):
    assert found.keys() == expected.keys()
    for when in expected:
        for a, b in zip(found[when], expected[when], strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5, err_msg=when)


@pytest.mark.parametrize("name", file_models.NAMES)
def test_a_model_that_tensorflow_wrote_predicts_and_trains_on(name):
    model = keras.models.load_model(FILES / f"{name}.h5")
    inputs, targets = getattr(file_models, name)(keras)[1:]
    expected = json.loads((FILES / "answers.json").read_text())[name]
    same(file_models.answers(model, inputs, targets), expected)


@pytest.mark.parametrize("name", file_models.NAMES)
def test_weights_that_tensorflow_wrote(name):
    model, inputs, _ = getattr(file_models, name)(keras)
    model.load_weights(FILES / f"{name}_weights.h5")
    expected = json.loads((FILES / "answers.json").read_text())[name]["before"]
    found = model.predict(inputs)
    for a, b in zip(found if isinstance(found, list) else [found], expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("suffix", [".h5", ".safetensors"])
@pytest.mark.parametrize("name", file_models.NAMES)
def test_a_model_comes_back_with_its_optimizer(name, suffix, tmp_path):
    model, inputs, targets = file_models.build(keras, name)
    path = tmp_path / (name + suffix)
    model.save(path)
    assert (path.read_bytes()[:4] == b"\x89HDF") == (suffix == ".h5")
    loaded = keras.models.load_model(path)
    assert loaded.to_json() == model.to_json()
    same(file_models.answers(loaded, inputs, targets), file_models.answers(model, inputs, targets))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def scaled(x, by=2.0):
    return x * by


@pytest.mark.parametrize("suffix", [".h5", ".safetensors"])
def test_wrappers_and_lambdas_come_back(suffix, tmp_path):
    model = keras.Sequential(
        [
            layers.Bidirectional(
                layers.GRU(3, return_sequences=True), merge_mode="sum", input_shape=(4, 2)
            ),
            layers.TimeDistributed(layers.Dense(2, activation="relu")),
            layers.Lambda(scaled, arguments={"by": 3.0}),
            layers.Bidirectional(layers.SimpleRNN(2, go_backwards=True)),
        ]
    )
    x = np.random.RandomState(0).randn(3, 4, 2)
    path = tmp_path / ("model" + suffix)
    model.save(path)
    function_code._remembered.clear()  # as in another process
    with pytest.raises(ValueError, match="scaled"):
        keras.models.load_model(path)
    loaded = keras.models.load_model(path, custom_objects={"scaled": scaled})
    np.testing.assert_allclose(loaded.predict(x), model.predict(x), rtol=1e-6)
    assert loaded.layers[2].arguments == {"by": 3.0}
    unnamed = functools.partial(scaled, by=2.0)
    with pytest.raises(TypeError, match="named function"):
        keras.Sequential([layers.Lambda(unnamed, input_shape=(2,))]).save(path)
    assert keras.models.load_model(path, {"scaled": scaled}).count_params() == model.count_params()


def test_weights_by_name_and_misfits(tmp_path):
    def make(units, last):
        return keras.Sequential(
            [layers.Dense(4, input_dim=2, name="first"), layers.Dense(units, name=last)]
        )

    one = make(3, "old")
    one.save_weights(tmp_path / "w.h5")
    other = make(5, "new")
    other.load_weights(tmp_path / "w.h5", by_name=True)
    np.testing.assert_array_equal(other.get_weights()[0], one.get_weights()[0])
    with pytest.raises(ValueError, match="layer 'new' do not fit"):
        other.load_weights(tmp_path / "w.h5")
    with pytest.raises(ValueError, match="2 layers into a model with 1 layers"):
        keras.Sequential([layers.Dense(4, input_dim=2)]).load_weights(tmp_path / "w.h5")
    with pytest.raises(ValueError, match="only weights"):
        keras.models.load_model(tmp_path / "w.h5")
    with pytest.raises(FileExistsError):
        one.save(tmp_path / "w.h5", overwrite=False)
    with pytest.raises(ValueError, match="save_format"):
        one.save(tmp_path / "folder", save_format="tf")


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "old.h5"
    path.write_bytes((FILES / "nested.h5").read_bytes()[:2000])
    with pytest.raises(tf.errors.DataLossError, match=r"old\.h5 is damaged"):
        keras.models.load_model(path)


def test_a_checkpoint_callback_writes_hdf5(tmp_path):
    model, inputs, targets = file_models.build(keras, "convolutional")
    best = keras.callbacks.ModelCheckpoint(str(tmp_path / "best.h5"), monitor="loss")
    model.fit(inputs, targets, verbose=0, callbacks=[best])
    loaded = keras.models.load_model(tmp_path / "best.h5")
    np.testing.assert_allclose(loaded.predict(inputs), model.predict(inputs), rtol=1e-6)


def test_a_model_is_hdf5_whatever_its_name(tmp_path):
    """As in TensorFlow 1.15; weights alone are where their name says so."""
    model = keras.Sequential([layers.Dense(2, input_shape=(3,))])
    model.save(tmp_path / "model")
    model.save_weights(tmp_path / "weights")
    assert (tmp_path / "model").read_bytes()[:4] == b"\x89HDF"
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "weights")
    with pytest.raises(FileExistsError, match="overwrite"):
        model.save_weights(tmp_path / "weights", overwrite=False)
    again = keras.models.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.get_weights()[0], model.get_weights()[0])
    again.load_weights(tmp_path / "weights")


def test_a_model_goes_to_a_file_that_is_open_and_its_initializer_holds_numbers(tmp_path):
    h5py = pytest.importorskip("h5py")
    numbers = np.arange(6.0).reshape(3, 2)
    made = keras.initializers.Constant(numbers)
    model = keras.Sequential([layers.Dense(2, input_shape=(3,), kernel_initializer=made)])
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
    with h5py.File(tmp_path / "open.h5", "w") as opened:
        keras.models.save_model(model, opened)
        inside = keras.models.load_model(opened)
        assert opened.id.valid  # it is the program's to close
    for again in (inside, keras.models.load_model(tmp_path / "open.h5")):
        for found, wanted in zip(again.get_weights(), model.get_weights(), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert again.optimizer is not None
        assert again.get_config()["layers"][0]["config"]["kernel_initializer"]["config"]["value"] == numbers.tolist()  # fmt: skip
    model.save(tmp_path / "model.safetensors")
    again = keras.models.load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.get_weights()[0], model.get_weights()[0])
