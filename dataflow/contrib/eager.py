"""``tf.contrib.eager``: functions around eager execution; most of it works in graphs, too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dataflow.autodiff.gradient_tape import GradientTape
from dataflow.contrib import eager_metrics as metrics
from dataflow.contrib.eager_network import Network, Sequential
from dataflow.data.eager_iterator import EagerIterator
from dataflow.functions import traced
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.eager import enable_eager_execution, executing_eagerly
from dataflow.namespaces import explain_absent
from dataflow.ops.array import identity
from dataflow.ops.custom_gradient import custom_gradient
from dataflow.ops.resource_variables import ResourceVariable
from dataflow.ops.script_ops import py_function as py_func
from dataflow.ops.template import make_template
from dataflow.ops.type_specs import TensorSpec
from dataflow.ops.variable_store import EagerVariableStore
from dataflow.ops.variables import Variable as _Variable
from dataflow.python.eager.context import (
    in_eager_mode,
    in_graph_mode,
    list_devices as list_devices,
    num_gpus,
)
from dataflow.python.test_decorators import (
    run_all_in_graph_and_eager_modes as run_all_tests_in_graph_and_eager_modes,
    run_in_graph_and_eager_modes as run_test_in_graph_and_eager_modes,
)
from dataflow.train.object_checkpoint import Checkpoint
from dataflow.train.saver import Saver as _Saver

__all__ = [
    "ASYNC",
    "DEVICE_PLACEMENT_EXPLICIT",
    "DEVICE_PLACEMENT_SILENT",
    "DEVICE_PLACEMENT_SILENT_FOR_INT32",
    "DEVICE_PLACEMENT_WARN",
    "SYNC",
    "Checkpoint",
    "EagerVariableStore",
    "GradientTape",
    "Iterator",
    "Network",
    "Saver",
    "Sequential",
    "TensorSpec",
    "Variable",
    "custom_gradient",
    "defun",
    "enable_eager_execution",
    "executing_eagerly",
    "function",
    "get_optimizer_variables",
    "gradients_function",
    "implicit_gradients",
    "implicit_value_and_gradients",
    "in_eager_mode",
    "in_graph_mode",
    "list_devices",
    "make_template",
    "metrics",
    "num_gpus",
    "py_func",
    "run_all_tests_in_graph_and_eager_modes",
    "run_test_in_graph_and_eager_modes",
    "value_and_gradients_function",
]

DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT = 0, 1, 2
DEVICE_PLACEMENT_SILENT_FOR_INT32 = 3
SYNC, ASYNC = 0, 1

Variable = ResourceVariable


class Iterator(EagerIterator):
    """Goes through a dataset, with eager execution: ``for x in tfe.Iterator(dataset)``."""

    def __init__(self, dataset: Any) -> None:
        if not executing_eagerly():
            raise RuntimeError(
                f"{type(dataset)} objects can be iterated over only with eager execution: call "
                "tf.enable_eager_execution() at the start of the program, or use "
                "dataset.make_one_shot_iterator()."
            )
        super().__init__(dataset)


def get_optimizer_variables(optimizer: Any) -> list[Any]:
    """The variables that a `tf.train.Optimizer` keeps."""
    return optimizer.variables()  # type: ignore[no-any-return]


class Saver:
    """Saves variables (a list of them, or a dict by name) by their names, and restores them."""

    def __init__(self, var_list: Any) -> None:
        self._saver = _Saver(var_list)

    def save(self, file_prefix: str, global_step: Any = None) -> str | None:
        """Writes a checkpoint, and returns its path."""
        return self._saver.save(None, file_prefix, global_step)

    def restore(self, file_prefix: str) -> None:
        """Gives the variables the values of a checkpoint."""
        self._saver.restore(None, file_prefix)


def defun(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """`tf.function`, by its older name; it is traced once, and may make variables for each signature."""
    if func is None:
        return functools.partial(
            defun,
            input_signature=input_signature,
            autograph=autograph,
            experimental_relax_shapes=experimental_relax_shapes,
        )
    return traced.Function(func, input_signature, autograph, experimental_relax_shapes, True)


function = defun


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """A function that returns what ``f`` does, and a list of (gradient, variable).

    The variables are the trainable ones that ``f`` reads. Raises `ValueError` where it returns None or
    reads none.
    """

    def both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with GradientTape() as tape:
            value = f(*args, **kwargs)
        if value is None:
            raise ValueError(
                f"Cannot differentiate a function that returns None; did you forget to return a value "
                f"from {f.__name__}?"
            )
        variables = sorted(tape.watched_variables(), key=lambda v: v.op.index)  # as they were made
        if not variables:
            raise ValueError(
                "No trainable variables were accessed while the function was being computed."
            )
        grads = tape.gradient(value, variables)
        return value, list(zip(grads, variables, strict=True))

    return both


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns (gradient, variable) for each trainable variable that ``f`` reads."""
    both = implicit_value_and_gradients(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def value_and_gradients_function(
    f: Callable[..., Any], params: Any = None
) -> Callable[..., tuple[Any, list[Any]]]:
    """A function that returns what ``f`` does, and its gradients by the arguments.

    ``params`` are the positions of the arguments to differentiate by, by default all.
    """

    def value_and_gradients(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        dy = kwargs.pop("dy", None)
        given: list[Any] = []
        for a in args:  # the same tensor twice is two arguments, each with a gradient of its own
            one = a if isinstance(a, _Variable) else convert_to_tensor(a)
            given.append(identity(one) if any(one is other for other in given) else one)
        by = given if params is None else [given[p] for p in params]
        with GradientTape() as tape:
            tape.watch(by)
            value = f(*given, **kwargs)
        return value, tape.gradient(value, by, dy)

    return value_and_gradients


def gradients_function(f: Callable[..., Any], params: Any = None) -> Callable[..., list[Any]]:
    """A function that returns the gradients of ``f`` by its arguments (those at ``params``)."""
    both = value_and_gradients_function(f, params)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


__getattr__ = explain_absent(__name__)
