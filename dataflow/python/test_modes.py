"""Decorators of ``tensorflow.python.framework.test_util`` that say in which mode a test runs."""

from __future__ import annotations

import contextlib
import functools
import gc
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import eager_graph, executing_eagerly
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.variables import Variable
from dataflow.python.eager import context
from dataflow.shapes import Dimension, TensorShape


@contextlib.contextmanager
def new_eager_mode() -> Iterator[None]:
    """A block of eager code in which nothing is left of code before: names, global step, seeds."""
    graph = eager_graph()
    before = graph.forget_names()
    try:
        with context.eager_mode():
            yield
    finally:
        graph.forget_names(before)


def run_in_graph_and_eager_modes(
    func: Callable[..., Any] | None = None,
    config: Any = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """A test method runs twice: in a session of the default graph, and in eager code.

    In between there are a `tearDown` and a `setUp`, unless ``reset_test`` is False. With
    ``assert_no_eager_garbage`` no tensor of the eager run may be left. Raises `ValueError` for a class.
    """
    if func is None:
        return functools.partial(
            run_in_graph_and_eager_modes,
            config=config,
            use_gpu=use_gpu,
            reset_test=reset_test,
            assert_no_eager_garbage=assert_no_eager_garbage,
        )
    if isinstance(func, type):
        raise ValueError(
            "`run_in_graph_and_eager_modes` only supports test methods. Did you mean to use "
            "`run_all_in_graph_and_eager_modes`?"
        )

    def eagerly(self: Any, *args: Any, **kwargs: Any) -> None:
        place = contextlib.nullcontext() if use_gpu else default_graph().device("/device:CPU:0")
        with place:
            func(self, *args, **kwargs)

    if assert_no_eager_garbage:
        eagerly = assert_no_new_tensors(eagerly)

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        with contextlib.suppress(unittest.SkipTest):
            now = default_graph()  # where `setUp` may have made tensors
            graph = Graph() if now.executes_eagerly else now
            with graph.as_default(), self.test_session(use_gpu=use_gpu, config=config):
                func(self, *args, **kwargs)
        if reset_test:
            self.tearDown()
            getattr(self, "start_anew", lambda: None)()
        with new_eager_mode():
            if reset_test:
                self.setUp()
            eagerly(self, *args, **kwargs)

    return run


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Every test method of the class, its parents' too, runs in a graph and in eager code."""
    for name in dir(cls):
        skips = name.startswith(("testSkipEager", "test_skip_eager")) or name == "test_session"
        value = getattr(cls, name, None)
        if name.startswith("test") and not skips and callable(value):
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


def also_run_as_tf_function(func: Callable[..., Any]) -> Callable[..., Any]:
    """A test method runs in eager code. (There `tf.function` runs a function as it is.)"""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> None:
        with context.eager_mode():
            func(*args, **kwargs)

    return run


def assert_no_new_pyobjects_executing_eagerly(func: Callable[..., Any]) -> Callable[..., Any]:
    """A test method runs twice in eager code. That nothing is left is not looked at: kernels are kept."""

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        with context.eager_mode():
            for _ in range(2):
                func(self, *args, **kwargs)

    return run


def _kept() -> list[Any]:
    """The tensors, variables and shapes that there are."""
    kinds = (Tensor, Variable, TensorShape, Dimension)
    return [one for one in gc.get_objects() if issubclass(type(one), kinds)]


def assert_no_new_tensors(func: Callable[..., Any]) -> Callable[..., Any]:
    """A test method after which no tensor may be left that was made in it.

    With eager execution these are tensors with values; those of the graphs in which operations are
    compiled stay. Raises `AssertionError`.
    """

    @functools.wraps(func)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = {id(one) for one in _kept()}
        if executing_eagerly():
            result = func(self, *args, **kwargs)
        else:
            with Graph().as_default():
                result = func(self, *args, **kwargs)
        gc.collect()
        left = [one for one in _kept() if id(one) not in before]
        if executing_eagerly():
            left = [one for one in left if _is_eager(one)]
        if left:
            raise AssertionError(f"{len(left)} Tensors not deallocated after test: {left}")
        return result

    return run


def _is_eager(value: Any) -> bool:
    return isinstance(value, (Tensor, Variable)) and value.graph.executes_eagerly
