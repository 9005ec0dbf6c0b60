"""``tf.contrib.eager`` in graph mode: what programs use of it whose graph runs in a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import traced_functions
from dataflow.gradients import gradients
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.namespaces import explain_absent
from dataflow.ops.custom_gradient import custom_gradient
from dataflow.ops.resource_variables import ResourceVariable as Variable
from dataflow.ops.script_ops import py_function as py_func
from dataflow.python.eager.context import executing_eagerly, in_eager_mode, in_graph_mode
from dataflow.python.test_decorators import (
    run_all_in_graph_and_eager_modes as run_all_tests_in_graph_and_eager_modes,
    run_in_graph_and_eager_modes as run_test_in_graph_and_eager_modes,
)

__all__ = [
    "Variable",
    "custom_gradient",
    "defun",
    "executing_eagerly",
    "function",
    "gradients_function",
    "in_eager_mode",
    "in_graph_mode",
    "py_func",
    "run_all_tests_in_graph_and_eager_modes",
    "run_test_in_graph_and_eager_modes",
    "value_and_gradients_function",
]


def defun(
    func: Callable[..., Any] | None = None, input_signature: Any = None, **kwargs: Any
) -> Any:
    """`tf.function`, by its older name."""
    return traced_functions.function(func, input_signature, **kwargs)


function = defun


def value_and_gradients_function(
    f: Callable[..., Any], params: Any = None
) -> Callable[..., tuple[Any, list[Any]]]:
    """A function that returns what ``f`` does, and its gradients by the arguments.

    ``params`` are the positions of the arguments to differentiate by, by default all.
    """

    def value_and_gradients(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        dy = kwargs.pop("dy", None)
        tensors = [convert_to_tensor(a) for a in args]
        value = f(*tensors, **kwargs)
        by = tensors if params is None else [tensors[p] for p in params]
        return value, gradients(nest.flatten(value), by, grad_ys=dy)

    return value_and_gradients


def gradients_function(f: Callable[..., Any], params: Any = None) -> Callable[..., list[Any]]:
    """A function that returns the gradients of ``f`` by its arguments (those at ``params``)."""
    both = value_and_gradients_function(f, params)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


__getattr__ = explain_absent(__name__)
