"""`custom_gradient`: a Python function that brings its own gradient."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from dataflow.graph import nest
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.registry import get_op, register_named_gradient

_numbers = itertools.count()


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` with the gradient of the identity (a straight-through estimator): for rounding, and the like.

    ``f`` takes and gives one tensor of one shape, or as many as it takes.
    """

    @custom_gradient
    def passed(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs), lambda *gradients: list(gradients)

    return passed  # type: ignore[no-any-return]


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Decorator: ``f(*args)`` returns ``(outputs, grad_fn)``; ``grad_fn`` gives the gradient.

    ``grad_fn(*output_gradients)`` returns one gradient for each argument. Where it takes an argument
    ``variables`` it is given the variables that ``f`` uses, and returns a pair: the gradients of the
    arguments, and a list of one for each variable. Raises `TypeError` where ``f`` makes variables
    and ``grad_fn`` does not take them.
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        arguments = [convert_to_tensor(a) for a in args]
        graph = default_graph()
        identity_n = get_op("IdentityN")
        inside = [get_op("Identity")(a) for a in arguments]
        before = set(_all_variables(graph))
        outputs, grad_fn = f(*inside, **kwargs)
        flat = [convert_to_tensor(o) for o in nest.flatten(outputs)]
        variables = _used_variables(graph, flat, inside)
        if not _takes_variables(grad_fn):
            made_inside = [v for v in variables if v not in before]
            if made_inside:
                raise TypeError(
                    "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since "
                    f"function uses variables: {made_inside}. It then returns (gradients of the "
                    "arguments, [gradients of the variables])."
                )
            variables = []
        name = f"CustomGradient-{next(_numbers)}"
        count = len(flat)

        def gradient(op: Any, *grads: Any) -> list[Any]:
            of_variables: list[Any] = []
            if variables:
                result, of_variables = grad_fn(*grads[:count], variables=variables)
                if len(of_variables) != len(variables):
                    raise ValueError(
                        f"custom_gradient function returned {len(of_variables)} gradients for "
                        f"{len(variables)} variables."
                    )
            else:
                result = grad_fn(*grads[:count])
            found = nest.flatten(result) if isinstance(result, (list, tuple)) else [result]
            if len(found) != len(arguments):
                raise ValueError(
                    f"custom_gradient function returned {len(found)} gradients for "
                    f"{len(arguments)} arguments."
                )
            return [None] * count + list(found) + list(of_variables)

        register_named_gradient(name, gradient)
        with graph.gradient_override_map({"IdentityN": name}):
            made = identity_n([*flat, *arguments, *map(convert_to_tensor, variables)])
        return nest.pack_like(outputs, list(made)[:count])

    return decorated


def _all_variables(graph: Any) -> list[Any]:
    keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
    return [v for key in keys for v in graph.get_collection(key)]


def _used_variables(graph: Any, outputs: list[Any], inputs: list[Any]) -> list[Any]:
    """The variables that ``outputs`` are computed of, not looking behind ``inputs``."""
    seen = {t.op for t in inputs}
    stack = [t.op for t in outputs]
    used = set()
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.op_def.is_variable:
            used.add(op)
        stack.extend(t.op for t in op.inputs)
    return [v for v in dict.fromkeys(_all_variables(graph)) if v.op in used]


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    parameters = inspect.signature(grad_fn).parameters.values()
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)
