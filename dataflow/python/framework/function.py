"""``from tensorflow.python.framework import function``: functions with a gradient of their own."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.per_graph import PerGraph
from dataflow.ops.custom_gradient import custom_gradient
from dataflow.ops.identity import identity, identity_n
from dataflow.ops.variable_scope import VariableScope, get_variable_scope, variable_scope
from dataflow.ops.variable_store import AUTO_REUSE

__all__ = ["Defun"]


class Defun:
    """Decorator: ``@function.Defun(tf.float32, python_grad_func=grad)`` on a function of tensors.

    A call adds the function's nodes in a scope of its name; all calls in a graph share the variables
    that the first one made. ``python_grad_func(op, *grads)`` returns a
    gradient (or None) for each argument; ``op`` has ``inputs``, ``outputs`` and ``graph``. The result
    has ``name``, ``declared_input_types``, ``python_grad_func`` and ``grad_func_name``. A
    ``grad_func`` is another `Defun`, of the arguments and the gradients. Raises `ValueError` for another
    number of arguments than of types.
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._types: list[DType] = [as_dtype(t) for t in input_types]
        self._python_gradient: Callable[..., Any] | None = kwargs.pop("python_grad_func", None)
        self._gradient: Callable[..., Any] | None = kwargs.pop("grad_func", None)
        self._shapes: Callable[[Any], Any] | None = kwargs.pop("shape_func", None)
        self._name: str | None = kwargs.pop("func_name", None)
        #: Where the first call in a graph made its variables.
        self._scopes: PerGraph[VariableScope] = PerGraph()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        name = self._name or function.__name__

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if unknown := set(kwargs) - {"name"}:
                raise ValueError(f"Unknown keyword arguments: {', '.join(sorted(unknown))}")
            num_arguments = self._num_arguments(function)
            if len(args) != num_arguments:
                raise ValueError(
                    f"Expected number of arguments: {num_arguments}, received: {len(args)}"
                )
            types: list[DType | None] = [*self._types] or [None] * len(args)
            inputs = [convert_to_tensor(a, dtype=t) for a, t in zip(args, types, strict=True)]
            graph = default_graph()
            with (
                self._variables_of(graph),
                graph.name_scope(kwargs.get("name") or name.strip("_")) as scope,
            ):
                if self._python_gradient is None and self._gradient is None:
                    found = function(*inputs)
                else:
                    found = self._with_gradient(function, inputs)
            return _named_after(scope, found)

        # What TensorFlow's object says of itself; its nodes stand in the graph, so it captures nothing.
        vars(call).update(
            name=name,
            declared_input_types=list(self._types),
            python_grad_func=self._python_gradient,
            grad_func_name=getattr(self._gradient, "name", None),
            captured_inputs=[],
            stateful_ops=[],
        )
        return call

    def _num_arguments(self, function: Callable[..., Any]) -> int:
        parameters = inspect.signature(function).parameters.values()
        if any(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in parameters):
            raise ValueError(
                "Functions with argument defaults or keyword arguments are not supported."
            )
        takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if self._types and not takes_any and len(parameters) != len(self._types):
            raise ValueError(
                f"The function has fewer or more arguments, {len(parameters)}, than the number of "
                f"specified input types: {len(self._types)}."
            )
        return len(self._types) or len(parameters)

    def _variables_of(self, graph: Graph) -> Any:
        """The block of a call: its variables are those of the first call in the graph."""
        first = self._scopes.get(graph, get_variable_scope)
        if first is get_variable_scope():
            return contextlib.nullcontext()
        return variable_scope(first, reuse=AUTO_REUSE, auxiliary_name_scope=False)

    def _with_gradient(self, function: Callable[..., Any], inputs: list[Any]) -> Any:
        @custom_gradient
        def whole(*inside: Any) -> tuple[Any, Callable[..., Any]]:
            outputs = function(*inside)
            flat = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]

            def gradient(*grads: Any, variables: Any = None) -> Any:
                if self._python_gradient is not None:
                    op = SimpleNamespace(
                        inputs=inputs, outputs=flat, graph=inputs[0].graph, name=flat[0].op.name
                    )
                    found = self._python_gradient(op, *grads)
                else:
                    assert self._gradient is not None
                    found = self._gradient(*inputs, *grads)
                found = list(found) if isinstance(found, (list, tuple)) else [found]
                return found if variables is None else (found, [None] * len(variables))

            return outputs, gradient

        results = whole(*inputs)
        if self._shapes is not None:
            flat = list(results) if isinstance(results, (list, tuple)) else [results]
            for tensor, shape in zip(
                flat, self._shapes(SimpleNamespace(inputs=inputs, outputs=flat)), strict=False
            ):
                tensor.set_shape(shape)
        return results


def _named_after(scope: str, found: Any) -> Any:
    """What a call gives, as the outputs of one node that is called as TensorFlow's call of the function is."""
    results = list(found) if isinstance(found, (list, tuple)) else [found]
    if not results or any(result is None for result in results):
        return found
    tensors = [convert_to_tensor(result) for result in results]
    if len(tensors) == 1:
        return identity(tensors[0], name=scope)
    return tuple(identity_n(tensors, name=scope))
