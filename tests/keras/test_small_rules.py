"""Rules of Keras's layers and helpers that its own tests hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.python import keras_helpers, layer_sizes
from dataflow.python.keras_h5dict import ask_to_proceed_with_overwrite, h5dict

layers = tf.keras.layers


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_a_mean_over_steps_leaves_out_those_that_are_masked(data_format: str) -> None:
    x = np.arange(24.0).reshape(2, 3, 4) + 1
    mask = np.array([[True, False, True], [False, False, True]])
    layer = layers.GlobalAveragePooling1D(data_format=data_format)
    given = x if data_format == "channels_last" else x.transpose(0, 2, 1)
    with tf.Session() as sess:
        found = sess.run(layer(tf.constant(given), mask=tf.constant(mask)))
    np.testing.assert_allclose(found, [(x[0, 0] + x[0, 2]) / 2, x[1, 2]])
    assert layer.compute_mask(tf.constant(given), tf.constant(mask)) is None


def test_a_mask_reaches_the_mean() -> None:
    model = tf.keras.Sequential(
        [layers.Masking(input_shape=(3, 2)), layers.GlobalAveragePooling1D()]
    )
    x = np.array([[[2.0, 4], [0, 0], [4, 8]]])
    np.testing.assert_allclose(model.predict(x), [[3, 6]])


def test_a_causal_convolution_keeps_the_length() -> None:
    layer = layers.Conv1D(2, 3, dilation_rate=2, padding="causal")
    assert layer.compute_output_shape((1, 10, 4)).as_list() == [1, 10, 2]
    assert layers.Conv1D(2, 3, strides=2, padding="causal").compute_output_shape(
        (None, 9, 4)
    ).as_list() == [None, 5, 2]


def test_a_model_with_an_optimizer_of_tf_train_is_saved_without_it(tmp_path: Path) -> None:
    model = tf.keras.Sequential([layers.Dense(2, input_shape=(3,))])
    model.compile(tf.train.AdamOptimizer(), "mse")
    x = np.ones((4, 3))
    model.fit(x, np.zeros((4, 2)), verbose=0)
    with pytest.warns(UserWarning, match="saved without it"):
        model.save(tmp_path / "model")
    loaded = tf.keras.models.load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
    assert loaded.optimizer is None


def test_what_is_no_data_format_size_or_mode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="channels_middle"):
        layers.SpatialDropout2D(0.5, data_format="channels_middle")
    with pytest.raises(ValueError, match="pairs of ints"):
        layers.Cropping2D(cropping=lambda x: x)
    image = tf.keras.preprocessing.image
    with pytest.raises(ValueError, match="Unknown data_format"):
        image.img_to_array(np.ones((2, 2, 3)), data_format="channels")
    with pytest.raises(ValueError, match="cmyk"):
        image.ImageDataGenerator().flow_from_directory(str(tmp_path), color_mode="cmyk")
    with pytest.raises(AssertionError, match="diagonal"):
        layer_sizes.conv_output_length(32, 5, "diagonal", 2)


def test_whitening_takes_a_batch() -> None:
    images = np.random.RandomState(0).rand(6, 2, 2, 1)
    generator = tf.keras.preprocessing.image.ImageDataGenerator(zca_whitening=True)
    generator.fit(images)
    each = [generator.standardize(image) for image in images]
    np.testing.assert_allclose(generator.standardize(images), each, rtol=1e-5)


def test_functions_of_old_files_are_loaded() -> None:
    import marshal

    code = marshal.dumps((lambda x: x + 1).__code__).decode("raw_unicode_escape")
    assert keras_helpers.func_load(code)(2) == 3


@pytest.mark.parametrize("kind", ["file", "dict"])
def test_h5dict_keeps_values_in_groups(tmp_path: Path, kind: str) -> None:
    if kind == "file":
        pytest.importorskip("h5py")
    path = str(tmp_path / "a.h5") if kind == "file" else {}
    values = {"text": "abc", "bytes": [b"ef", b"ghi"], "array": np.arange(6.0).reshape(2, 3)}
    written = h5dict(path, mode="w")
    inner = written["outer"]["inner"]
    for name, value in values.items():
        written[name] = inner[name] = value
    written.close()
    read = h5dict(path, mode="r")
    assert sorted(read["outer"]) == ["inner"] and "inner" in read["outer"] and "no" not in read
    for group in (read, read["outer"]["inner"]):
        assert group["text"] == "abc" and group["bytes"] == [b"ef", b"ghi"]
        np.testing.assert_array_equal(group["array"], values["array"])
    assert read.get("no", 3) == 3
    with pytest.raises(KeyError):
        read["no"]
    with pytest.raises(ValueError, match="read-only"):
        read["new"] = 1
    read.close()
    with pytest.raises(TypeError, match="str or dict"):
        h5dict(3)


def test_a_file_is_written_over_when_the_answer_is_y(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["what", "n", "y"])
    monkeypatch.setattr("builtins.input", lambda text: next(answers))
    assert [ask_to_proceed_with_overwrite("f") for _ in range(2)] == [False, True]
