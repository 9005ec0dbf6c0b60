"""HDF5 files of weights: layers that do not fit, groups of open files, names that are too long."""

from __future__ import annotations

import io

import numpy as np
import pytest

import dataflow as tf

h5py = pytest.importorskip("h5py")
keras = tf.keras
layers = keras.layers


def _model(units: int, **kwargs: object) -> keras.Model:
    return keras.Sequential(
        [layers.Dense(2, input_shape=(3,), name="a"), layers.Dense(units, name="b", **kwargs)]
    )


def test_layers_that_do_not_fit_are_skipped_where_that_is_asked_for(tmp_path):
    path = str(tmp_path / "w.h5")
    model = _model(4)
    model.save_weights(path)
    other = _model(5)
    before = other.layers[1].get_weights()
    with pytest.warns(UserWarning, match="Skipping loading .* 'b' due to mismatch"):
        other.load_weights(path, by_name=True, skip_mismatch=True)
    assert np.array_equal(other.layers[0].get_weights()[0], model.layers[0].get_weights()[0])
    assert np.array_equal(other.layers[1].get_weights()[0], before[0])
    with pytest.raises(ValueError, match="has shape .* but the saved weight has shape"):
        other.load_weights(path, by_name=True)
    with pytest.raises(ValueError, match="expects 1 weights, but the saved ones are 2"):
        _model(4, use_bias=False).load_weights(path)
    with pytest.raises(ValueError, match="by_name=True"):
        other.load_weights(path, skip_mismatch=True)


def test_arrays_are_reshaped_where_that_is_asked_for(tmp_path):
    path = str(tmp_path / "w.h5")
    dense = keras.Sequential([layers.Dense(2, input_shape=(3,), name="a")])
    dense.save_weights(path)
    image = keras.Sequential([layers.Conv2D(2, 1, input_shape=(1, 1, 3), name="a")])
    with pytest.raises(ValueError, match="do not fit"):
        image.load_weights(path)
    image.load_weights(path, reshape=True)
    assert np.array_equal(np.squeeze(image.get_weights()[0]), dense.get_weights()[0])


def test_groups_of_open_files_are_files():
    model = _model(2)
    with h5py.File(io.BytesIO(), "w") as opened:
        group = opened.create_group("model")
        model.save(group)
        again = keras.models.load_model(group)
        other = _model(2)
        other.load_weights(group)
    for found in (again, other):
        assert np.array_equal(found.get_weights()[2], model.get_weights()[2])


def test_lists_of_names_that_are_too_long_are_cut(tmp_path):
    path = str(tmp_path / "m.h5")
    x = keras.Input((2,))
    long = layers.Dense(2, name="long" + "x" * 2**15)(layers.Dense(2, name="short")(x))
    inner = keras.Model(x, long, name="inner")
    model = keras.Sequential([inner])
    model.predict(np.zeros((1, 2)))
    model.save_weights(path)
    with h5py.File(path, "r") as opened:
        parts = [k for k in opened["inner"].attrs if k.startswith("weight_names")]
        assert sorted(parts) == [f"weight_names{i}" for i in range(len(parts))]
        assert len(parts) > 1
    saved = model.get_weights()
    model.set_weights([np.zeros_like(w) for w in saved])
    model.load_weights(path)
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), saved, strict=True))
