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
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op, register_named_gradient
from dataflow.ops.variable_scope import get_variable_scope, variable_scope

_numbers = itertools.count()


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` with the gradient of the identity (a straight-through estimator): for rounding, and the like.

    ``f`` takes and gives one tensor of one shape, or as many as it takes.
    """

    @custom_gradient
    def passed(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs), lambda *gradients: list(gradients)

    return passed  # type: ignore[no-any-return]


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` computed again for its gradient: its intermediate results are not kept (checkpointing).

    ``f`` takes and gives tensors (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost").
    Variables that it makes by `get_variable` are shared when it is called for the gradient, so
    layers in it need a name. Where it has an argument ``is_recomputing``, that says which call it is.
    Raises `ValueError` where the second call uses other variables than the first.
    """
    names_call = "is_recomputing" in inspect.signature(f).parameters

    @functools.wraps(f)
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        scope = get_variable_scope()

        def call(recomputing: bool, inputs: Any) -> Any:
            which = {"is_recomputing": recomputing} if names_call else {}
            return f(*inputs, **kwargs, **which)

        @custom_gradient
        def of_arguments(*inputs: Any) -> Any:
            def gradient(*grads: Any, variables: Any = ()) -> Any:
                again = functools.partial(call, True)
                return _recomputed_gradients(again, scope, inputs, grads, list(variables))

            return call(False, inputs), gradient

        return of_arguments(*args)

    return recomputed


def _recomputed_gradients(
    f: Callable[[Any], Any], scope: Any, inputs: Any, grads: Any, variables: list[Any]
) -> Any:
    from dataflow.autodiff.gradients import gradients

    graph = default_graph()
    known = [g for g in grads if g is not None]
    # Not before they are there, as memory is the point. An Identity would be taken out by a rewrite
    # (control_dependency_gates), and the second call would become the first.
    with graph.control_dependencies(known):
        again = list(get_op("IdentityN")(list(inputs))) if inputs else []
    before = set(_all_variables(graph))
    with variable_scope(scope, reuse=True):
        outputs = [convert_to_tensor(o) for o in nest.flatten(f(again))]
    used = _used_variables(graph, outputs, again)
    if set(used) != set(variables) or set(_all_variables(graph)) != before:
        raise ValueError(
            "the function given to recompute_grad uses other variables when it is called again: "
            f"{[v.name for v in used]}, and {[v.name for v in variables]} at first. Make them by "
            "tf.get_variable, or by layers with a name, so that both calls share them."
        )
    pairs = [(y, g) for y, g in zip(outputs, grads, strict=True) if g is not None]
    ys, grad_ys = [y for y, _ in pairs], [g for _, g in pairs]
    found = gradients(ys, [*again, *variables], grad_ys=grad_ys)
    return (found[: len(again)], found[len(again) :]) if variables else found


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
        before = set(_all_variables(graph))
        outputs, grad_fn = f(*arguments, **kwargs)
        flat = [convert_to_tensor(o) for o in nest.flatten(outputs)]
        variables = _used_variables(graph, flat, arguments)
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

        def gradient(op: Operation, *grads: Any) -> list[Any]:
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


def _all_variables(graph: Graph) -> list[Any]:
    keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
    return [v for key in keys for v in graph.get_collection(key)]


def _used_variables(graph: Graph, outputs: list[Any], inputs: list[Any]) -> list[Any]:
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
