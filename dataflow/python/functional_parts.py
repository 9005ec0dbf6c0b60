"""Functions of ``tensorflow.python.ops.functional_ops`` that run `Defun`s: branches, loops, gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.autodiff.gradients import gradients
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.casts import cast
from dataflow.ops.comparison import not_equal
from dataflow.ops.conditionals import cond as cond_of
from dataflow.ops.graph_functions import device, name_scope
from dataflow.ops.while_loop import while_loop

__all__ = ["For", "Gradient", "If", "While", "remote_call"]


def _outputs(function: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    """What the function gives, as a list of tensors."""
    found = function(*inputs)
    if isinstance(found, (list, tuple)):
        return list(found)
    return [found] if isinstance(found, Tensor) else []


def _truth(value: TensorLike) -> Tensor:
    """A bool; of a number whether it is not 0."""
    tensor = convert_to_tensor(value)
    if tensor.dtype.base_dtype == dtypes.bool_:
        return tensor
    return not_equal(tensor, cast(0, tensor.dtype.base_dtype))


def If(
    cond: TensorLike,
    inputs: Sequence[Any],
    then_branch: Callable[..., Any],
    else_branch: Callable[..., Any],
    name: str | None = None,
) -> list[Any]:
    """The outputs of ``then_branch(*inputs)`` where ``cond`` is true or not 0, else of the other one."""
    with name_scope(name or "If"):
        values = [convert_to_tensor(value) for value in inputs]
        return cond_of(  # type: ignore[no-any-return]
            _truth(cond),
            lambda: _outputs(then_branch, values),
            lambda: _outputs(else_branch, values),
            strict=True,
        )


def While(
    input_: Sequence[Any],
    cond: Callable[..., Any],
    body: Callable[..., Any],
    name: str | None = None,
    hostmem: Any = None,
) -> list[Any]:
    """The loop variables: ``input_``, replaced by ``body(*input_)`` for as long as ``cond`` is true or not 0."""
    values = [convert_to_tensor(value) for value in input_]
    return while_loop(  # type: ignore[no-any-return]
        lambda *now: _truth(_outputs(cond, now)[0]),
        lambda *now: _outputs(body, now),
        values,
        name=name or "While",
        return_same_structure=True,
    )


def For(
    start: TensorLike,
    limit: TensorLike,
    delta: TensorLike,
    inputs: Sequence[Any],
    body: Callable[..., Any],
    name: str | None = None,
    hostmem: Any = None,
    rewrite_with_while: Any = None,
) -> list[Any]:
    """``inputs``, and what ``body(i, *inputs)`` makes of them for each i of ``range(start, limit, delta)``."""
    first, last, step = (
        convert_to_tensor(number, dtypes.int32) for number in (start, limit, delta)
    )
    values = [convert_to_tensor(value) for value in inputs]
    return while_loop(  # type: ignore[no-any-return]
        lambda i, *now: cond_of(step > 0, lambda: i < last, lambda: i > last),
        lambda i, *now: [i + step, *_outputs(body, [i, *now])],
        [first, *values],
        name=name or "For",
        return_same_structure=True,
    )[1:]


def Gradient(inputs: Sequence[Any], f: Any, name: str | None = None) -> list[Any]:
    """Gradients by the arguments of ``f``: ``inputs`` are these arguments, then the gradients of its outputs."""
    with name_scope(name or "SymbolicGradient"):
        count = len(f.declared_input_types)
        arguments = [convert_to_tensor(value) for value in inputs[:count]]
        return gradients(_outputs(f, arguments), arguments, list(inputs[count:]))


def remote_call(
    args: Sequence[Any], Tout: Any, f: Callable[..., Any], target: str, name: str | None = None
) -> list[Any]:
    """The outputs of ``f(*args)``, computed on the device ``target``."""
    with device(target), name_scope(name or "RemoteCall"):
        return _outputs(f, args)
