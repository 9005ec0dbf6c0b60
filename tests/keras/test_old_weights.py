"""Weights as Keras 1 and Theano stored them, in the form that layers have now."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras import old_weights

layers = tf.keras.layers


def _arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.RandomState(0)
    return [random.rand(*shape) for shape in shapes]


def test_gates_of_an_lstm_were_arrays_of_their_own() -> None:
    layer = layers.LSTM(2)
    i, f, c, o = (_arrays((3, 2), (2, 2), (2,)) for _ in range(4))
    for number, gate in enumerate((i, f, c, o)):
        for array in gate:
            array += 10 * number
    kernel, recurrent, bias = old_weights.loaded(layer, [*i, *c, *f, *o], "1.2.0")
    assert np.array_equal(kernel, np.hstack([g[0] for g in (i, f, c, o)]))
    assert np.array_equal(recurrent, np.hstack([g[1] for g in (i, f, c, o)]))
    assert np.array_equal(bias, np.hstack([g[2] for g in (i, f, c, o)]))
    gates = [_arrays((3, 2), (2, 2), (2,)) for _ in range(3)]
    found = old_weights.loaded(layers.GRU(2), list(itertools.chain(*gates)), "1")
    assert [a.shape for a in found] == [(3, 6), (2, 6), (6,)]


@pytest.mark.parametrize(
    ("layer", "shape", "axes"),
    [
        (layers.Conv2D(4, (2, 3), data_format="channels_first"), (4, 5, 2, 3), (2, 3, 1, 0)),
        (layers.Conv2D(4, (2, 3)), (2, 3, 5, 4), (0, 1, 2, 3)),
        (layers.Conv2DTranspose(4, (2, 3)), (2, 3, 5, 4), (0, 1, 3, 2)),
        (layers.Conv3D(4, 2, data_format="channels_first"), (4, 5, 2, 2, 2), (2, 3, 4, 1, 0)),
    ],
)
def test_kernels_stood_in_another_order(
    layer: layers.Layer, shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    first = layer.data_format == "channels_first"
    rank = len(shape) - 2
    sizes = [9] * rank
    layer(layers.Input((5, *sizes) if first else (*sizes, 5)))
    kernel, bias = _arrays(shape, (4,))
    found = old_weights.loaded(layer, [kernel, bias], "1")
    assert np.array_equal(found[0], kernel.transpose(axes)) and found[1] is bias
    assert found[0].shape == tuple(layer.weights[0].shape.as_list())


def test_a_line_had_an_axis_of_one() -> None:
    layer = layers.Conv1D(4, 3)
    layer(layers.Input((9, 5)))
    kernel, bias = _arrays((3, 1, 5, 4), (4,))
    assert np.array_equal(old_weights.loaded(layer, [kernel, bias], "1")[0], kernel[:, 0])
    older = kernel.transpose(3, 2, 0, 1)
    assert np.array_equal(old_weights.loaded(layer, [older, bias], "1")[0], kernel[:, 0])


def test_theano_turned_kernels_around() -> None:
    layer = layers.Conv2D(4, 3)
    layer(layers.Input((9, 9, 5)))
    kernel, bias = _arrays((3, 3, 5, 4), (4,))
    found = old_weights.loaded(layer, [kernel, bias], "2.1", "theano")
    assert np.array_equal(found[0], kernel[::-1, ::-1])


def test_layers_within_others() -> None:
    x = layers.Input((4, 6, 6, 2))
    inner = layers.TimeDistributed(layers.Conv2DTranspose(3, 2))
    y = inner(x)
    both = layers.Bidirectional(layers.ConvLSTM2D(2, 3))
    both(y)
    kernel, bias = _arrays((2, 2, 2, 3), (3,))
    found = old_weights.loaded(inner, [kernel, bias], "1")
    assert np.array_equal(found[0], kernel.transpose(0, 1, 3, 2))
    gates = [a for _ in range(8) for a in _arrays((3, 3, 3, 2), (3, 3, 2, 2), (2,))]
    shapes = [tuple(w.shape.as_list()) for w in both.weights]
    assert [a.shape for a in old_weights.loaded(both, gates, "1")] == shapes
    model = tf.keras.Sequential([layers.Conv2DTranspose(3, 2, input_shape=(6, 6, 2))])
    assert np.array_equal(old_weights.loaded(model, [kernel, bias], "1")[0], found[0])


def test_a_file_of_keras_1_is_read(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    model = tf.keras.Sequential([layers.GRU(2, input_shape=(None, 3), name="gru")])
    gates = [_arrays((3, 2), (2, 2), (2,)) for _ in range(3)]
    with h5py.File(tmp_path / "old.h5", "w") as file:
        file.attrs["layer_names"] = [b"gru"]
        names = []
        for number, array in enumerate(list(itertools.chain(*gates))):
            names.append(f"w{number}".encode())
            file.create_dataset(f"gru/w{number}", data=array)
        file["gru"].attrs["weight_names"] = names
    model.load_weights(tmp_path / "old.h5")
    kernel = np.hstack([gate[0] for gate in gates])
    assert np.allclose(model.get_weights()[0], kernel)
