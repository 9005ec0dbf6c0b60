"""``from tensorflow.python.framework import function``: functions with a gradient of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.custom_gradient import custom_gradient
from dataflow.ops.identity import identity, identity_n

__all__ = ["Defun"]


class Defun:
    """Decorator: ``@function.Defun(tf.float32, python_grad_func=grad)`` on a function of tensors.

    A call adds the function's nodes in a scope of its name. ``python_grad_func(op, *grads)`` returns a
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

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        name = self._name or function.__name__

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._types and len(args) != len(self._types):
                raise ValueError(f"{name} takes {len(self._types)} arguments, got {len(args)}.")
            types: list[DType | None] = [*self._types] or [None] * len(args)
            inputs = [convert_to_tensor(a, dtype=t) for a, t in zip(args, types, strict=True)]
            with default_graph().name_scope(kwargs.get("name") or name.strip("_")) as scope:
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
