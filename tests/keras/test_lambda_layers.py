"""Functions as layers: what they may take, and how files hold them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras import function_code

keras = tf.keras
layers = keras.layers
K = keras.backend
pytestmark = pytest.mark.usefixtures("new_keras_session")


@pytest.fixture(autouse=True)
def _safe(monkeypatch):
    monkeypatch.setattr(function_code, "_is_unsafe", False)


def scaled(x, by=2.0):
    return x * by


def forget():
    """As if another process had written the files."""
    function_code._remembered.clear()


def add(offset):
    """A model whose lambda uses a number of the scope around it."""
    return keras.Sequential(
        [
            layers.Dense(2, input_shape=(2,), kernel_initializer="ones"),
            layers.Lambda(lambda x, times=3: K.square(x) * times + offset, name="squares"),
        ]
    )


@pytest.mark.parametrize("suffix", [".h5", ".safetensors"])
def test_a_lambda_is_loaded_where_the_program_has_it_or_says_so(suffix, tmp_path):
    if suffix == ".h5":
        pytest.importorskip("h5py", reason="h5py is not installed")
    path = tmp_path / ("model" + suffix)
    model = add(0.5)
    x = np.ones([1, 2], np.float32)
    model.save(path)
    assert keras.models.load_model(path).predict(x).tolist() == [[12.5, 12.5]]
    forget()
    with pytest.raises(ValueError, match=r"'squares' holds the code.*\n.*safe_mode=False"):
        keras.models.load_model(path)
    with pytest.raises(ValueError, match="'squares' holds the code"):
        keras.models.model_from_json(model.to_json())
    loaded = keras.models.load_model(path, safe_mode=False)
    assert loaded.predict(x).tolist() == [[12.5, 12.5]]
    forget()
    loaded = keras.models.load_model(path, custom_objects={"squares": lambda x: x})
    assert loaded.predict(x).tolist() == [[2, 2]]
    forget()
    keras.config.enable_unsafe_deserialization()
    assert keras.models.model_from_json(model.to_json()).count_params() == 6


def test_another_number_of_the_scope_around_is_another_function():
    written = add(0.5).to_json()
    forget()
    add(0.25)
    with pytest.raises(ValueError, match="holds the code"):
        keras.models.model_from_json(written)
    add(0.5)
    assert keras.models.model_from_json(written).layers[1].function.__closure__


def test_functions_have_names():
    model = keras.Sequential(
        [
            layers.Lambda(scaled, arguments={"by": 3.0}, input_shape=(2,), name="own"),
            layers.Lambda(tf.nn.relu),
        ]
    )
    config = model.layers[0].get_config()
    assert config["function"] == "scaled"
    assert config["function_type"] == "function"
    assert config["output_shape_type"] == "raw"
    again = keras.models.clone_model(model)
    assert again.layers[0].function is scaled
    forget()
    with pytest.raises(ValueError, match="custom_objects={'scaled'"):
        keras.models.model_from_json(model.to_json())
    for known in ({"scaled": scaled}, {"own": scaled}):
        again = keras.models.model_from_json(model.to_json(), known)
        assert [again.layers[0].function, again.layers[0].arguments] == [scaled, {"by": 3.0}]
        assert again.layers[1].function is tf.nn.relu
        forget()


def test_a_name_in_a_file_reaches_no_other_function():
    config = layers.Lambda(scaled, name="x").get_config()
    for name, module in (
        ("system", "os"),
        ("py_func", "dataflow.ops.py_func"),
        ("_x", "dataflow."),
    ):
        with pytest.raises(ValueError, match="by name only"):
            layers.Lambda.from_config({**config, "function": name, "module": module})


def test_damaged_code_and_that_of_another_python_say_so(monkeypatch):
    keras.config.enable_unsafe_deserialization()
    config = layers.Lambda(lambda x: x + 1, name="x").get_config()
    forget()
    code, *rest = config["function"]
    with pytest.raises(ValueError, match="only the version of Python that wrote it"):
        layers.Lambda.from_config({**config, "function": [code[:40], *rest]})
    monkeypatch.setattr(function_code, "_WRITTEN_BY", "Lambda layer, Python 3.99")
    with pytest.raises(
        ValueError, match=rf"it is of a Lambda layer, Python 3.{sys.version_info[1]}"
    ):
        layers.Lambda.from_config(config)


def test_training_goes_on_where_a_model_cannot_be_saved_whole(tmp_path):
    pytest.importorskip("h5py", reason="h5py is not installed")
    shift = np.random  # a module is no JSON
    model = keras.Sequential(
        [
            layers.Dense(2, input_shape=(2,)),
            layers.Lambda(lambda x: x + float(shift.RandomState(0).rand() > 2)),
        ]
    )
    model.compile("sgd", "mse")
    path = tmp_path / "best.h5"
    with pytest.raises(TypeError, match=r"uses shift of the scope"):
        model.save(path)
    x = np.ones([4, 2], np.float32)
    save = keras.callbacks.ModelCheckpoint(str(path), monitor="loss")
    with pytest.warns(UserWarning, match="holds the weights only"):
        model.fit(x, x, epochs=2, verbose=0, callbacks=[save])
    kept = model.get_weights()
    model.set_weights([w * 0 for w in kept])
    model.load_weights(path)
    np.testing.assert_array_equal(model.get_weights()[0], kept[0])


def test_masks_training_and_variables():
    x = layers.Input([3, 1])
    masked = layers.Masking()(x)
    count = layers.Lambda(
        lambda t, mask: t + K.cast(mask, "float32")[..., None], mask=lambda t, mask: mask
    )
    counted = count(masked)
    double = layers.Lambda(lambda t: t * 2)
    double(masked)
    noisy = layers.Lambda(lambda t, training: K.in_train_phase(t * 0, t, training))(counted)
    assert count.output_mask is not None
    assert double.output_mask is None
    assert noisy.shape.as_list() == [None, 3, 1]
    layer = layers.Lambda(lambda t: t * tf.Variable(2.0, name="times"))
    model = keras.Model(x, [layer(x), layer(noisy)])
    assert len(layer.weights) == 1
    assert model.trainable_weights == layer.weights
    given = np.array([[[1.0], [0], [2]]], np.float32)
    assert model.predict(given)[1].reshape(-1).tolist() == [4, 0, 6]


def test_shapes_are_known_before_the_call():
    assert layers.Lambda(lambda x: x[:, :2]).compute_output_shape((None, 5)).as_list() == [None, 2]
    given = layers.Lambda(scaled, output_shape=(7,))
    assert given.compute_output_shape((4, 5)).as_list() == [4, 7]
    given = layers.Lambda(scaled, output_shape=lambda s: (s[0], s[1] * 2))
    assert given.compute_output_shape((None, 5)).as_list() == [None, 10]


@pytest.mark.oracle
def test_tensorflow_loads_a_lambda_and_ours_is_loaded_from_it(tmp_path):
    python = os.environ.get("DATAFLOW_ORACLE_PYTHON")
    if not python:
        pytest.skip("DATAFLOW_ORACLE_PYTHON does not name a Python with TensorFlow (make oracle)")
    pytest.importorskip("h5py", reason="h5py is not installed")
    add(0.5).save(tmp_path / "ours.h5")
    program = (
        "import sys, tensorflow as tf\n"
        "keras = tf.keras\n"
        "if sys.version_info[:2] == tuple(map(int, sys.argv[2:])):\n"
        "    model = keras.models.load_model(sys.argv[1] + '/ours.h5', {'K': keras.backend}, safe_mode=False)\n"
        "    print(model.predict([[1.0, 1.0]], verbose=0).tolist())\n"
        "model = keras.Sequential([keras.layers.Lambda(\n"
        "    lambda x: x * 3 + 1, input_shape=(2,), name='line')])\n"
        "model.save(sys.argv[1] + '/theirs.h5')\n"
    )
    version = [str(part) for part in sys.version_info[:2]]
    done = subprocess.run(
        [python, "-c", program, str(tmp_path), *version],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    path = tmp_path / "theirs.h5"
    with pytest.raises(ValueError, match="'line' holds the code"):
        keras.models.load_model(path)
    x = [[1.0, 2.0]]
    loaded = keras.models.load_model(path, custom_objects={"line": lambda x: x * 3 + 1})
    assert loaded.predict(np.array(x)).tolist() == [[4, 7]]
    if done.stdout:  # the same version of Python
        assert done.stdout.splitlines()[-1] == "[[12.5, 12.5]]"
        loaded = keras.models.load_model(path, safe_mode=False)
        assert loaded.predict(np.array(x)).tolist() == [[4, 7]]


def test_a_clone_takes_functions_that_no_file_can_hold() -> None:
    factor = keras.backend.variable(3.0)
    x = keras.Input((2,))
    y = layers.Lambda(lambda t, by: t * factor * by, arguments={"by": tf.constant(2.0)})(x)
    model = keras.Model(x, layers.Dense(1)(y))
    with pytest.raises(TypeError, match="cannot be saved"):
        model.to_json()
    again = keras.models.clone_model(model)
    again.set_weights(model.get_weights())
    ones = np.ones((1, 2), "float32")
    assert again.predict(ones) == model.predict(ones) != 0
    with pytest.raises(TypeError, match="cannot be saved"):
        again.to_json()


@pytest.mark.threads
def test_what_one_thread_allows_no_other_may_do(tmp_path):
    model = add(0.5)
    path = tmp_path / "model.safetensors"
    model.save(path)
    forget()

    def outcome():
        try:
            return [keras.models.load_model(path).count_params(), function_code.is_in_memory()]
        except ValueError as error:
            return [str(error).partition(".")[0], function_code.is_in_memory()]

    outcomes = []
    with function_code.safe_mode(False), function_code.in_memory():
        thread = threading.Thread(target=lambda: outcomes.extend(outcome()))
        thread.start()
        thread.join(60)
        assert outcome() == [6, True]
    assert outcomes == ["The Lambda layer 'squares' holds the code of a function", False]
