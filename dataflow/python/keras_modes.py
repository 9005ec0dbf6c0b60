"""``tensorflow.python.keras.keras_parameterized``: tests of Keras, once a mode and once a type of model."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import dataflow.keras
from dataflow import test
from dataflow.graph.default_stacks import default_graph, use_graph
from dataflow.graph.eager import eager_graph, executing_eagerly
from dataflow.keras.precision_policies import has_version2_dtypes, use_version2_dtypes

__all__ = [
    "TestCase",
    "disable_v2_dtype_behavior",
    "enable_v2_dtype_behavior",
    "experimental_run_tf_function_scope",
    "get_model_type",
    "model_type_scope",
    "run_all_keras_modes",
    "run_eagerly_scope",
    "run_with_all_model_types",
    "should_run_eagerly",
    "should_run_tf_function",
]

_MODEL_TYPES = ("functional", "subclass", "sequential")
#: Mode -> (whether models run line by line, whether TensorFlow's newer training loop runs them).
_MODES = {
    "v2_function": (False, True),
    "v2_funcgraph": (False, False),
    "v2_eager": (True, True),
    "v1_session": (False, False),
}
_model_type: str | None = None
_eagerly = False
_tf_function = False


def _test_bases() -> tuple[type, ...]:
    try:
        from absl.testing import parameterized
    except ImportError:  # without it a test has no parameters
        return (test.TestCase,)
    return (test.TestCase, parameterized.TestCase)


class TestCase(*_test_bases()):  # type: ignore[misc]
    """A test of Keras: forgets the models that it made when it ends."""

    def tearDown(self) -> None:
        dataflow.keras.backend.clear_session()
        super().tearDown()


def _each_test(decorated: Any, wrap: Callable[[Any], Any]) -> Any:
    """The tests that ``wrap`` makes of a test, of each one that absl made of a test, or of all of a class."""
    if isinstance(decorated, type):
        members = {
            name: wrap(value) if name.startswith("test") and callable(value) else value
            for name, value in vars(decorated).items()
            if name not in ("__dict__", "__weakref__")
        }
        # made anew: absl's class gives a name to each of the tests
        return type(decorated)(decorated.__name__, decorated.__bases__, members)
    if hasattr(decorated, "__iter__"):
        return itertools.chain.from_iterable(map(wrap, decorated))
    return wrap(decorated)


def _of_each(kinds: list[str], block: Callable[[Any, str], Any], decorated: Any) -> Any:
    """A test for each of ``kinds``, which has the kind at the end of its name and runs within its block."""
    from absl.testing import parameterized

    def wrap(method: Callable[..., Any]) -> Any:
        @functools.wraps(method)
        def run(self: Any, kind: str, *args: Any, **kwargs: Any) -> None:
            with block(self, kind):
                method(self, *args, **kwargs)

        cases = [(f"_{kind}", kind) for kind in kinds]
        return parameterized.named_parameters(*cases)(run)  # type: ignore[no-untyped-call]

    if decorated is None:
        return lambda given: _each_test(given, wrap)
    return _each_test(decorated, wrap)


def run_all_keras_modes(
    test_or_class: Any = None,
    config: Any = None,
    always_skip_v1: bool = False,
    always_skip_eager: bool = False,
) -> Any:
    """A test for each mode: in a session, and in eager code with models that run as graphs and line by line.

    ``always_skip_v1`` leaves out the session, ``always_skip_eager`` models that run line by line. Their names
    end in ``_v1_session``, ``_v2_funcgraph``, ``_v2_function`` and ``_v2_eager``. Needs absl-py.
    """
    left_out = {"v1_session": always_skip_v1, "v2_eager": always_skip_eager}
    modes = [mode for mode in _MODES if not left_out.get(mode)]
    return _of_each(modes, lambda case, mode: _mode(case, mode, config), test_or_class)


@contextlib.contextmanager
def _mode(case: Any, mode: str, config: Any) -> Iterator[None]:
    eagerly, tf_function = _MODES[mode]
    with run_eagerly_scope(eagerly), experimental_run_tf_function_scope(tf_function):
        if mode == "v1_session":
            with default_graph().as_default(), case.test_session(config=config):
                yield
            return
        with use_graph(eager_graph()):
            dataflow.keras.backend.clear_session()
            yield
            dataflow.keras.backend.clear_session()


@contextlib.contextmanager
def run_eagerly_scope(value: bool) -> Iterator[None]:
    """In the block `should_run_eagerly` is ``value``."""
    global _eagerly
    before, _eagerly = _eagerly, value
    try:
        yield
    finally:
        _eagerly = before


@contextlib.contextmanager
def experimental_run_tf_function_scope(value: bool) -> Iterator[None]:
    """In the block `should_run_tf_function` is ``value``."""
    global _tf_function
    before, _tf_function = _tf_function, value
    try:
        yield
    finally:
        _tf_function = before


def run_with_all_model_types(test_or_class: Any = None, exclude_models: Any = None) -> Any:
    """A test each for functional, subclassed and sequential models, less ``exclude_models``.

    Their names end in ``_functional``, ``_subclass`` and ``_sequential``. Needs absl-py.
    """
    left_out = [exclude_models] if isinstance(exclude_models, str) else exclude_models or ()
    kinds = [kind for kind in _MODEL_TYPES if kind not in left_out]
    return _of_each(kinds, lambda case, kind: model_type_scope(kind), test_or_class)


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
    """Whether TensorFlow's newer training loop would run the test: there is one loop here for both."""
    return _tf_function and executing_eagerly()


def _with_dtypes(method: Callable[..., Any], version2: bool) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(*args: Any, **kwargs: Any) -> Any:
        before = has_version2_dtypes()
        use_version2_dtypes(version2)
        try:
            return method(*args, **kwargs)
        finally:
            use_version2_dtypes(before)

    return run


def enable_v2_dtype_behavior(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of a test: layers have TensorFlow 2's dtypes in it, float32 and not that of their input."""
    return _with_dtypes(fn, True)


def disable_v2_dtype_behavior(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of a test: layers have the dtype of their input in it."""
    return _with_dtypes(fn, False)
