"""``keras.utils.test_utils`` of the package Keras 2.2: how its tests, and those of libraries upon it, are written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow.keras
from dataflow.python.keras_helpers import has_arg
from dataflow.python.keras_tests import checked_model, random_input, same_dtype

__all__ = ["get_test_data", "keras_test", "layer_test"]

#: Its names are in stubs.
keras: Any = dataflow.keras


def get_test_data(
    num_train: int = 1000,
    num_test: int = 500,
    input_shape: tuple[int, ...] = (10,),
    output_shape: tuple[int, ...] = (2,),
    classification: bool = True,
    num_classes: int = 2,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """((x, y), (x, y)) for training and for testing.

    x is normal with deviation 0.7 around the class y, or x and y are around one number for each example.
    Shapes: x ``[count, *input_shape]``, float32; y ``[count]``, the number of the class, or without
    ``classification`` ``[count, *output_shape]``, float32.
    """
    count = num_train + num_test
    if classification:
        center: Any = np.random.randint(0, num_classes, size=count)
        y = center
    else:
        center = np.random.random(count)
        y = _around(center, output_shape)
    x = _around(center, input_shape)
    return (x[:num_train], y[:num_train]), (x[num_train:], y[num_train:])


def _around(center: Any, shape: tuple[int, ...]) -> Any:
    center = center.reshape(-1, *(1 for _ in shape))
    return np.random.normal(center, 0.7, (len(center), *shape)).astype(np.float32)


def layer_test(
    layer_cls: Any,
    kwargs: Any = None,
    input_shape: Any = None,
    input_dtype: Any = None,
    input_data: Any = None,
    expected_output: Any = None,
    expected_output_dtype: Any = None,
    fixed_batch_size: bool = False,
) -> Any:
    """Puts a layer of one input and one output through what every layer must do; returns its output.

    It is made from ``kwargs``, takes its own weights back and is part of a functional model, for batches of
    the first size of ``input_shape`` alone with ``fixed_batch_size``. The output has the dtype expected (that
    of the input where none is) and the shape that the layer computes, and the model is made again from its
    configuration, as is the layer. One that heeds ``training`` is trained for a step. Raises `AssertionError`
    where something differs, `ValueError` without input.
    """
    if input_data is None:
        input_data = random_input(input_shape, input_dtype or keras.backend.floatx())
    input_shape = tuple(input_data.shape if input_shape is None else input_shape)
    input_dtype = input_data.dtype.name if input_dtype is None else np.dtype(input_dtype).name
    what = f"{layer_cls.__name__}({kwargs or {}})"

    layer = layer_cls(**(kwargs or {}))
    layer.set_weights(layer.get_weights())
    computed = layer.compute_output_shape(input_shape)
    sizes = {"batch_shape": input_shape} if fixed_batch_size else {"shape": input_shape[1:]}
    x = keras.layers.Input(**sizes, dtype=input_dtype)
    y = layer(x)
    same_dtype(what, np.dtype(expected_output_dtype or input_dtype).name, y)
    model = keras.models.Model(x, y)
    output = checked_model(what, model, input_data, computed, expected_output)
    if has_arg(layer.call, "training"):
        model.compile("rmsprop", "mse")
        model.train_on_batch(input_data, output)
    type(layer).from_config({**layer.get_config(), "batch_input_shape": input_shape})
    return output


def keras_test(function: Callable[..., Any]) -> Callable[..., Any]:
    """The test ``function``, after which the models that it made are forgotten."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            keras.backend.clear_session()

    return run
