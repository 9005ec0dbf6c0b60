"""``tensorflow.python.keras.testing_utils`` and its models: how tests of layers and models are written."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

import dataflow.keras
from dataflow.python.keras_modes import get_model_type, model_type_scope, should_run_eagerly
from dataflow.shapes import TensorShape

__all__ = [
    "get_model_from_layers",
    "get_small_functional_mlp",
    "get_small_mlp",
    "get_small_sequential_mlp",
    "get_small_subclass_mlp",
    "get_small_subclass_mlp_with_custom_build",
    "get_test_data",
    "get_v2_optimizer",
    "layer_test",
]

#: Its names are in stubs.
keras: Any = dataflow.keras


def get_test_data(
    train_samples: int,
    test_samples: int,
    input_shape: Any,
    num_classes: int,
    random_seed: int | None = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """((x, y), (x, y)) for training and for testing: noise around one template a class."""
    if random_seed is not None:
        np.random.seed(random_seed)
    count = train_samples + test_samples
    templates = 2 * num_classes * np.random.random((num_classes, *input_shape))
    y = np.random.randint(0, num_classes, size=(count,))
    x = np.zeros((count, *input_shape), dtype=np.float32)
    for i in range(count):
        x[i] = templates[y[i]] + np.random.normal(loc=0, scale=1.0, size=input_shape)
    return (x[:train_samples], y[:train_samples]), (x[train_samples:], y[train_samples:])


class _Subclass(keras.Model):  # type: ignore[misc]
    """One layer after the other, each an attribute, or made by a function when the model is built."""

    def __init__(self, layers: Any, name: str | None = None, input_tensor: Any = None) -> None:
        super().__init__(name=name)
        self._make = layers if callable(layers) else None
        self.num_layers = 0
        if self._make is None:
            self._have(layers)
        if input_tensor is not None:
            self._set_inputs(input_tensor)

    def _have(self, layers: Any) -> None:
        for layer in layers:
            setattr(self, f"layer{self.num_layers}", layer)
            self.num_layers += 1

    def build(self, input_shape: Any) -> None:
        if self._make is not None and not self.num_layers:
            self._have(self._make())
        super().build(input_shape)

    def call(self, inputs: Any, **_: Any) -> Any:
        for i in range(self.num_layers):
            inputs = getattr(self, f"layer{i}")(inputs)
        return inputs


class _SmallSubclass(keras.Model):  # type: ignore[misc]
    """Two dense layers."""

    def __init__(self, num_hidden: int, num_classes: int, at_once: bool = True) -> None:
        super().__init__()
        self._sizes = num_hidden, num_classes
        self.layer_a = self.layer_b = None
        if at_once:
            self.layer_a, self.layer_b = _mlp_layers(*self._sizes)

    def build(self, input_shape: Any) -> None:
        if self.layer_a is None:
            self.layer_a, self.layer_b = _mlp_layers(*self._sizes)
        super().build(input_shape)

    def call(self, inputs: Any, **_: Any) -> Any:
        assert self.layer_a is not None and self.layer_b is not None
        return self.layer_b(self.layer_a(inputs))


def get_model_from_layers(
    layers: Any,
    input_shape: Any = None,
    input_dtype: Any = None,
    name: str | None = None,
    input_ragged: bool = False,
    input_sparse: bool = False,
) -> Any:
    """A model of one layer after the other, of the type of `get_model_type`.

    Raises `ValueError` where a functional model is to be made without ``input_shape``.
    """
    kind = get_model_type()
    how = {"ragged": input_ragged, "sparse": input_sparse}
    how = {key: value for key, value in how.items() if value}
    if kind == "subclass_custom_build":
        return _Subclass(lambda: layers, name)
    if kind == "subclass":
        given = keras.Input(shape=input_shape, dtype=input_dtype, **how) if how else None
        return _Subclass(layers, name, given)
    if kind == "sequential":
        first = [keras.layers.InputLayer(input_shape=input_shape, dtype=input_dtype, **how)]
        return keras.Sequential([*(first if input_shape else ()), *layers], name=name)
    if not input_shape:
        raise ValueError("A functional model needs input_shape.")
    inputs = x = keras.Input(shape=input_shape, dtype=input_dtype, **how)
    for layer in layers:
        x = layer(x)
    return keras.Model(inputs, x, name=name)


def _mlp_layers(num_hidden: int, num_classes: int, **first: Any) -> list[Any]:
    last = "sigmoid" if num_classes == 1 else "softmax"
    return [
        keras.layers.Dense(num_hidden, activation="relu", **first),
        keras.layers.Dense(num_classes, activation=last),
    ]


def get_small_sequential_mlp(
    num_hidden: int, num_classes: int, input_dim: int | None = None
) -> Any:
    """A `Sequential` of two dense layers."""
    first = {"input_dim": input_dim} if input_dim else {}
    return keras.Sequential(_mlp_layers(num_hidden, num_classes, **first))


def get_small_functional_mlp(num_hidden: int, num_classes: int, input_dim: int) -> Any:
    """A functional model of two dense layers."""
    with model_type_scope("functional"):
        return get_model_from_layers(_mlp_layers(num_hidden, num_classes), (input_dim,))


def get_small_subclass_mlp(num_hidden: int, num_classes: int) -> Any:
    """A subclassed model of two dense layers."""
    return _SmallSubclass(num_hidden, num_classes)


def get_small_subclass_mlp_with_custom_build(num_hidden: int, num_classes: int) -> Any:
    """A subclassed model of two dense layers, which it makes when it is built."""
    return _SmallSubclass(num_hidden, num_classes, at_once=False)


def get_small_mlp(num_hidden: int, num_classes: int, input_dim: int | None) -> Any:
    """A model of two dense layers, of the type of `get_model_type`."""
    kind = get_model_type()
    if kind == "sequential":
        return get_small_sequential_mlp(num_hidden, num_classes, input_dim)
    if kind.startswith("subclass"):
        return _SmallSubclass(num_hidden, num_classes, at_once=kind == "subclass")
    assert input_dim is not None
    return get_small_functional_mlp(num_hidden, num_classes, input_dim)


def get_v2_optimizer(name: str, **kwargs: Any) -> Any:
    """The optimizer of `tf.keras.optimizers` of that name, in lower case; raises `ValueError` for no name."""
    return keras.optimizers.deserialize({"class_name": name, "config": kwargs})


def random_input(shape: Any, dtype: Any) -> Any:
    """Numbers from 0 to 10 for a layer; unknown sizes are 1 to 3. Raises `ValueError` without a shape."""
    if shape is None:
        raise ValueError("layer_test needs input_shape or input_data.")
    sizes = [np.random.randint(1, 4) if size is None else size for size in shape]
    return (10 * np.random.random(sizes)).astype(dtype)


def same_sizes(what: str, expected: Any, actual: Any) -> None:
    """Raises `AssertionError` where a size that ``expected`` knows is another in ``actual``."""
    expected, actual = TensorShape(expected).as_list(), TensorShape(actual).as_list()
    if len(expected) != len(actual) or any(
        e is not None and e != a for e, a in zip(expected, actual, strict=True)
    ):
        raise AssertionError(f"{what}: expected the output shape {expected}, found {actual}.")


def same_dtype(what: str, expected: Any, tensor: Any) -> None:
    """Raises `AssertionError` where the dtype of ``tensor`` has not the name ``expected``."""
    found = keras.backend.dtype(tensor)
    if found != expected:
        raise AssertionError(f"{what}: expected the output dtype {expected}, found {found}.")


def layer_test(
    layer_cls: Any,
    kwargs: Any = None,
    input_shape: Any = None,
    input_dtype: Any = None,
    input_data: Any = None,
    expected_output: Any = None,
    expected_output_dtype: Any = None,
    expected_output_shape: Any = None,
    validate_training: bool = True,
) -> Any:
    """Puts a layer through what every layer must do; returns its output.

    It is made from ``kwargs``, takes its own weights back, is part of a functional model and, made again
    from its configuration, of a `Sequential`; shapes, dtypes and values agree with what it says and with
    what is expected; both models are made again from their configurations, and with ``validate_training``
    one step is trained. Raises `AssertionError` where something differs, `ValueError` without input.
    """
    if input_data is None:
        input_data = random_input(input_shape, input_dtype or "float32")
        if input_data.dtype.kind == "f":
            input_data -= 0.5
    input_shape = input_data.shape if input_shape is None else input_shape
    input_dtype = input_data.dtype.name if input_dtype is None else input_dtype
    what = f"{layer_cls.__name__}({kwargs or {}})"

    layer = layer_cls(**(kwargs or {}))
    weights = layer.get_weights()
    layer.set_weights(weights)
    if "weights" in inspect.signature(layer_cls.__init__).parameters:
        layer = layer_cls(**(kwargs or {}), weights=weights)

    x = keras.layers.Input(shape=input_shape[1:], dtype=input_dtype)
    y = layer(x)
    same_dtype(what, expected_output_dtype or input_dtype, y)
    if expected_output_shape is not None:
        same_sizes(what, expected_output_shape, y.shape)
    model = keras.models.Model(x, y)
    computed = layer.compute_output_shape(TensorShape(input_shape))
    output = checked_model(what, model, input_data, computed, expected_output)

    if validate_training:
        model = keras.models.Model(x, layer(x))
        model.compile("rmsprop", "mse", weighted_metrics=["acc"], run_eagerly=should_run_eagerly())
        model.train_on_batch(input_data, output)

    config = {**layer.get_config(), "batch_input_shape": input_shape}
    model = keras.models.Sequential([layer.__class__.from_config(config)])
    return checked_model(f"{what}, from its config", model, input_data, computed, expected_output)


def checked_model(what: str, model: Any, data: Any, computed: Any, expected: Any) -> Any:
    """The model's output, which must have the computed shape, and come back from the model's config."""
    output = model.predict(data)
    same_sizes(what, computed, output.shape)
    if expected is not None:
        np.testing.assert_allclose(output, expected, rtol=1e-3, atol=1e-6)
    again = type(model).from_config(model.get_config())
    if model.weights:
        again.set_weights(model.get_weights())
        np.testing.assert_allclose(again.predict(data), output, rtol=1e-3, atol=1e-6)
    return output
