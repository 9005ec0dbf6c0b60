"""``tensorflow.python.keras.testing_utils`` and ``keras_parameterized``: how tests of layers and models are written."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dataflow.keras
from dataflow import test
from dataflow.graph.default_stacks import default_graph, use_graph
from dataflow.graph.eager import eager_graph, executing_eagerly
from dataflow.shapes import TensorShape

__all__ = [
    "TestCase",
    "get_model_from_layers",
    "get_model_type",
    "get_small_functional_mlp",
    "get_small_mlp",
    "get_small_sequential_mlp",
    "get_small_subclass_mlp",
    "get_test_data",
    "get_v2_optimizer",
    "layer_test",
    "model_type_scope",
    "run_all_keras_modes",
    "run_eagerly_scope",
    "run_with_all_model_types",
    "should_run_eagerly",
    "should_run_tf_function",
]

#: Its names are in stubs.
keras: Any = dataflow.keras
_MODEL_TYPES = ("functional", "subclass", "sequential")
_MODES = ("v1_session", "v2_function", "v2_eager")
_model_type: str | None = None
_eagerly = False


def _test_bases() -> tuple[type, ...]:
    try:
        from absl.testing import parameterized
    except ImportError:  # without it a test has no parameters
        return (test.TestCase,)
    return (test.TestCase, parameterized.TestCase)


class TestCase(*_test_bases()):  # type: ignore[misc]
    """A test of Keras: forgets the models that it made when it ends."""

    def tearDown(self) -> None:
        keras.backend.clear_session()
        super().tearDown()


def _each_test(decorated: Any, wrap: Callable[[Any], Any]) -> Any:
    """``wrap`` for a test, for each one that absl made of a parameterized test, or for all of a class."""
    if isinstance(decorated, type):
        for name, value in list(vars(decorated).items()):
            if name.startswith("test") and name != "test_session" and callable(value):
                setattr(decorated, name, wrap(value))
        return decorated
    if hasattr(decorated, "__iter__"):
        return [wrap(one) for one in decorated]
    return wrap(decorated)


def run_all_keras_modes(
    test_or_class: Any = None,
    config: Any = None,
    always_skip_v1: bool = False,
    always_skip_eager: bool = False,
) -> Any:
    """Runs each test in a session, and in eager code with models that run as graphs and line by line.

    ``always_skip_v1`` leaves out the session, ``always_skip_eager`` models that run line by line.
    """
    left_out = {"v1_session": always_skip_v1, "v2_eager": always_skip_eager}
    modes = [mode for mode in _MODES if not left_out.get(mode)]

    def wrap(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            for mode in modes:
                with self.subTest(mode=mode), _mode(self, mode, config):
                    method(self, *args, **kwargs)

        return run

    if test_or_class is None:
        return lambda decorated: _each_test(decorated, wrap)
    return _each_test(test_or_class, wrap)


@contextlib.contextmanager
def _mode(case: Any, mode: str, config: Any) -> Iterator[None]:
    if mode == "v1_session":
        with default_graph().as_default(), case.test_session(config=config):
            yield
        return
    with use_graph(eager_graph()), run_eagerly_scope(mode == "v2_eager"):
        keras.backend.clear_session()
        yield
        keras.backend.clear_session()


@contextlib.contextmanager
def run_eagerly_scope(value: bool) -> Iterator[None]:
    """In the block `should_run_eagerly` is ``value``."""
    global _eagerly
    before, _eagerly = _eagerly, value
    try:
        yield
    finally:
        _eagerly = before


def run_with_all_model_types(test_or_class: Any = None, exclude_models: Any = None) -> Any:
    """Runs each test for functional, subclassed and sequential models, less ``exclude_models``."""
    left_out = [exclude_models] if isinstance(exclude_models, str) else exclude_models or ()

    def wrap(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            for kind in (k for k in _MODEL_TYPES if k not in left_out):
                with self.subTest(model_type=kind), model_type_scope(kind):
                    method(self, *args, **kwargs)

        return run

    if test_or_class is None:
        return lambda decorated: _each_test(decorated, wrap)
    return _each_test(test_or_class, wrap)


@contextlib.contextmanager
def model_type_scope(value: str) -> Iterator[None]:
    """In the block `get_model_from_layers` and `get_small_mlp` make models of this type."""
    global _model_type
    before, _model_type = _model_type, value
    try:
        yield
    finally:
        _model_type = before


def get_model_type() -> str:
    """The type of models of this test; raises `ValueError` outside `model_type_scope`."""
    if _model_type is None:
        raise ValueError(
            "No model type: decorate the test with run_with_all_model_types, or use model_type_scope()."
        )
    return _model_type


def should_run_eagerly() -> bool:
    """Whether models of this test run line by line, in eager code."""
    return _eagerly and executing_eagerly()


def should_run_tf_function() -> bool:
    """Whether TensorFlow's newer training loop runs the test: there is one loop here, so never."""
    return False


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
    def __init__(self, layers: Any, name: str | None = None) -> None:
        super().__init__(name=name)
        self.all_layers = list(layers)

    def call(self, inputs: Any, **_: Any) -> Any:
        for layer in self.all_layers:
            inputs = layer(inputs)
        return inputs


def get_model_from_layers(
    layers: Any, input_shape: Any = None, input_dtype: Any = None, name: str | None = None
) -> Any:
    """A model of one layer after the other, of the type of `get_model_type`.

    Raises `ValueError` where a functional model is to be made without ``input_shape``.
    """
    kind = get_model_type()
    if kind.startswith("subclass"):
        return _Subclass(layers, name=name)
    if kind == "sequential":
        first = [keras.layers.InputLayer(input_shape=input_shape, dtype=input_dtype)]
        return keras.Sequential([*(first if input_shape else ()), *layers], name=name)
    if not input_shape:
        raise ValueError("A functional model needs input_shape.")
    inputs = x = keras.Input(shape=input_shape, dtype=input_dtype)
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
    return _Subclass(_mlp_layers(num_hidden, num_classes))


def get_small_mlp(num_hidden: int, num_classes: int, input_dim: int) -> Any:
    """A model of two dense layers, of the type of `get_model_type`."""
    return get_model_from_layers(_mlp_layers(num_hidden, num_classes), (input_dim,))


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
