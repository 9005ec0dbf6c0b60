"""The three layouts of `LocallyConnected1D` and `2D`'s kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras.layers.local import make_2d
from dataflow.python.eager import context

RNG = np.random.RandomState(3)
CASES = [
    (tf.keras.layers.LocallyConnected1D, (3,), (2,), (8,)),
    (tf.keras.layers.LocallyConnected2D, (3, 2), (1, 3), (7, 6)),
]


@pytest.fixture(autouse=True)
def fresh() -> Any:
    tf.reset_default_graph()
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def dense_kernel(layer: Any, weights: Any, sizes: list[int]) -> Any:
    """The kernel of implementation 3 as the matrix [outputs, inputs]."""
    whole = np.zeros(sizes, np.float32)
    for (o, i), value in zip(layer.kernel_idxs, weights, strict=True):
        whole[o, i] = value
    return whole


@pytest.mark.parametrize("data_format", ["channels_first", "channels_last"])
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("kind", "kernel", "strides", "space"), CASES)
def test_all_connections_and_the_connected_ones_are_one_product(
    kind: Any, kernel: Any, strides: Any, space: Any, padding: str, data_format: str
) -> None:
    is_first = data_format == "channels_first"
    shape = (2, *space) if is_first else (*space, 2)
    x = RNG.randn(3, *shape).astype(np.float32)
    settings = {"padding": padding, "data_format": data_format, "bias_initializer": "ones"}
    sparse = kind(4, kernel, strides, implementation=3, **settings)
    masked = kind(4, kernel, strides, implementation=2, **settings)
    models = [tf.keras.Sequential([layer]) for layer in (sparse, masked)]
    expected = models[0].predict(x)
    models[1].predict(x)
    weights, bias = sparse.get_weights()
    sizes = masked.kernel.shape.as_list()
    half = len(sizes) // 2
    matrix = [int(np.prod(sizes[half:])), int(np.prod(sizes[:half]))]
    masked.set_weights([dense_kernel(sparse, weights, matrix).T.reshape(sizes), bias])
    np.testing.assert_allclose(models[1].predict(x), expected, rtol=2e-5, atol=1e-6)
    assert expected.shape[1:] == tuple(sparse.compute_output_shape(x.shape).as_list()[1:])
    config = kind.from_config(sparse.get_config())
    assert config.implementation == 3 and config.padding == padding


@pytest.mark.parametrize("data_format", ["channels_first", "channels_last"])
@pytest.mark.parametrize(("kind", "kernel", "strides", "space"), CASES)
def test_patches_and_the_masked_kernel_agree(
    kind: Any, kernel: Any, strides: Any, space: Any, data_format: str
) -> None:
    is_first = data_format == "channels_first"
    shape = (2, *space) if is_first else (*space, 2)
    x = RNG.randn(3, *shape).astype(np.float32)
    masked = kind(4, kernel, strides, implementation=2, data_format=data_format)
    patches = kind(4, kernel, strides, implementation=1, data_format=data_format)
    models = [tf.keras.Sequential([layer]) for layer in (masked, patches)]
    expected = models[0].predict(x)
    models[1].predict(x)
    weights, bias = masked.get_weights()
    rank = len(space)
    places = range(rank + 2, 2 * rank + 2) if is_first else range(rank + 1, 2 * rank + 1)
    order = [*places, *range(rank + 1), rank + 1 if is_first else 2 * rank + 1]
    mask = np.broadcast_to(masked.kernel_mask, weights.shape).transpose(order)
    moved = weights.transpose(order)
    # The connected weights of a place come in the order of its patch, filter by filter.
    flat = moved[mask != 0].reshape(patches.kernel.shape.as_list())
    patches.set_weights([flat, bias])
    np.testing.assert_allclose(models[1].predict(x), expected, rtol=2e-5, atol=1e-6)


def test_a_kernel_that_is_set_later_counts_in_eager_code() -> None:
    x = RNG.randn(2, 8, 5).astype(np.float32)
    with context.eager_mode():
        inputs = tf.keras.Input((8, 5))
        layer = tf.keras.layers.LocallyConnected1D(4, 3, implementation=3)
        model = tf.keras.Model(inputs, layer(inputs))
        model.set_weights([0 * w for w in model.get_weights()])
        assert not model.predict(x).any()


def test_refused() -> None:
    for kind, kernel, _, _ in CASES:
        with pytest.raises(ValueError, match='only "valid" is supported if implementation is 1'):
            kind(4, kernel, padding="same")
        with pytest.raises(ValueError, match="Unrecognized implementation mode: 4"):
            kind(4, kernel, implementation=4)


def test_a_matrix_of_any_axes() -> None:
    for shape, split in [((2, 3, 4), 1), ((2, 3, 4), 3), ((0, 3), 1), ((5,), 0)]:
        made = tf.keras.backend.eval(make_2d(tf.keras.backend.variable(np.ones(shape)), split))
        assert made.shape == (int(np.prod(shape[:split])), int(np.prod(shape[split:])))
