"""`custom_gradient`: a Python function that brings its own gradient."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.registry import get_op, register_named_gradient

_numbers = itertools.count()


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Decorator: ``f(*args)`` returns ``(outputs, grad_fn)``; ``grad_fn`` gives the gradient.

    ``grad_fn(*output_gradients)`` returns one gradient for each argument. Variables that ``f``
    uses get their own gradients only through arguments.
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        arguments = [convert_to_tensor(a) for a in args]
        graph = default_graph()
        identity_n = get_op("IdentityN")
        inside = [get_op("Identity")(a) for a in arguments]
        outputs, grad_fn = f(*inside, **kwargs)
        flat = [convert_to_tensor(o) for o in nest.flatten(outputs)]
        name = f"CustomGradient-{next(_numbers)}"
        count = len(flat)

        def gradient(op: Any, *grads: Any) -> list[Any]:
            result = grad_fn(*grads[:count])
            found = nest.flatten(result) if isinstance(result, (list, tuple)) else [result]
            if len(found) != len(arguments):
                raise ValueError(
                    f"custom_gradient function returned {len(found)} gradients for "
                    f"{len(arguments)} arguments."
                )
            return [None] * count + list(found)

        register_named_gradient(name, gradient)
        with graph.gradient_override_map({"IdentityN": name}):
            made = identity_n([*flat, *arguments])
        return nest.pack_like(outputs, list(made)[:count])

    return decorated
