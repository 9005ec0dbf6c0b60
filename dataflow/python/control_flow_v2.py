"""``cond_v2`` and ``while_v2``: branches and loops as TensorFlow's control flow of the second version takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import while_loop as loops
from dataflow.ops.array import reshape
from dataflow.ops.conditionals import cond

__all__ = ["cond_v2", "while_loop"]


def cond_v2(
    pred: TensorLike,
    true_fn: Callable[[], Any],
    false_fn: Callable[[], Any],
    name: str | None = "cond",
) -> Any:
    """`tf.cond` in the structure that the functions return; ``pred`` may be a Python bool, too."""
    return cond(convert_to_tensor(pred), true_fn, false_fn, strict=True, name=name or "cond")


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    maximum_iterations: Any = None,
    name: str | None = None,
    return_same_structure: bool = True,
    back_prop: bool = True,
) -> Any:
    """`tf.while_loop` in the structure of ``loop_vars``; the condition may have one element of any rank."""

    def of_one_element(*values: Any) -> Any:
        found = convert_to_tensor(cond(*values))
        return found if found.dims in ((), None) else reshape(found, [])

    def in_a_list(*values: Any) -> Any:
        found = body(*values)
        is_one = isinstance(loop_vars, (list, tuple)) and len(loop_vars) == 1
        return [found] if is_one and not isinstance(found, (list, tuple)) else found

    return loops.while_loop(
        of_one_element,
        in_a_list if return_same_structure else body,
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        name=name,
        maximum_iterations=maximum_iterations,
        return_same_structure=return_same_structure,
    )
