"""Updates of the rows of variables that indices name, by an optimizer's rule: of one variable, or of several.

What every update begins with is here too: the locks of a variable and its slots, and their one shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Module
from dataflow.kernels.cuda.optimizer_updates import update_on_gpu
from dataflow.kernels.jit.rule_tracer import trace_call
from dataflow.kernels.parallel import run_pieces
from dataflow.kernels.state import rounds

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

#: From so many elements on, several variables are shared by the threads of the pool.
_SHARED_ELEMENTS = 1 << 18

#: ``rule(xp, scratch, *arrays, grad, *scalars)``, as `optimizer_rules` has them.
Rule = Callable[..., None]


class RowUpdate(NamedTuple):
    """A variable and its slots, the rows of a gradient, and the index of each."""

    refs: list[Any]
    grad: Any
    indices: Any


class _Checked(NamedTuple):
    """An update whose arrays may be changed in place."""

    arrays: list[Any]
    given: RowUpdate


def locked(refs: Sequence[Any]) -> Sequence[Any]:
    """Locks the variables, always in the same order; returns what to `release`."""
    ordered = refs if len(refs) == 1 else sorted(refs, key=id)
    for ref in ordered:
        ref.lock.acquire()
    return ordered


def release(refs: Sequence[Any]) -> None:
    """Unlocks what `locked` returned."""
    for ref in refs:
        ref.lock.release()


def shape_of_all(refs: Sequence[Any]) -> tuple[int, ...]:
    """The shape of a variable, which its slots have too; else raises `InvalidArgumentError`."""
    shape: tuple[int, ...] = refs[0].read().shape
    for ref in refs[1:]:
        if ref.read().shape != shape:
            raise InvalidArgumentError(
                None,
                None,
                f"var and slot do not have the same shape: {refs[0].name!r} has {list(shape)}, "
                f"{ref.name!r} has {list(np.shape(ref.read()))}",
            )
    return shape


def update_rows(
    context: KernelContext, updates: list[RowUpdate], rule: Rule, scalars: tuple[Any, ...]
) -> None:
    """Changes rows of variables, none of which is there twice; a row named again is updated again, in order.

    Nothing changes where one of the updates has a wrong shape. An index that names no row is refused, but
    on a GPU left out: the host does not look at it.
    """
    xp = context.xp
    held = locked([ref for update in updates for ref in update.refs])
    try:
        for update in updates:
            _check(update)
        todo = [
            _Checked([ref.exclusive() for ref in update.refs], update)
            for update in updates
            if update.grad.size
        ]
        if xp is np and todo:
            todo = _update_natively(todo, rule, scalars)
        for arrays, update in todo:
            _update(xp, arrays, update, rule, scalars)
    finally:
        release(held)


def _check(update: RowUpdate) -> None:
    refs, grad, indices = update
    shape = shape_of_all(refs)
    if np.shape(grad) != (*indices.shape, *shape[1:]):
        raise InvalidArgumentError(
            None,
            None,
            f"grad must be the same size as indices in the first dimension: the gradient has "
            f"shape {list(np.shape(grad))}, indices {list(indices.shape)}, the variable "
            f"{refs[0].name!r} {list(shape)}",
        )


def _update(
    xp: Module, arrays: list[Any], update: RowUpdate, rule: Rule, scalars: tuple[Any, ...]
) -> None:
    refs, grad, indices = update
    if xp is not np and update_on_gpu(xp, arrays, grad, indices, rule, scalars):
        return
    num_rows = arrays[0].shape[0] if arrays[0].ndim else 0
    if int(indices.min()) < 0 or int(indices.max()) >= num_rows:
        bad = int(xp.argmax((indices < 0) | (indices >= num_rows)))
        raise InvalidArgumentError(
            None,
            None,
            f"Index {int(indices[bad])} at offset {bad} in indices is out of range: "
            f"{refs[0].name!r} has {num_rows} rows",
        )
    for where in rounds(xp, indices):
        rows = indices if where is None else indices[where]
        part = grad if where is None else grad[where]
        parts = [array[rows] for array in arrays]
        rule(xp, (xp.empty_like(parts[0]), xp.empty_like(parts[0])), *parts, part, *scalars)
        for array, changed in zip(arrays, parts, strict=True):
            array[rows] = changed


def _update_natively(todo: list[_Checked], rule: Rule, scalars: tuple[Any, ...]) -> list[_Checked]:
    """Makes the updates by a compiled loop; returns those for which there is none (yet), or whose index
    names no row: of these nothing has changed."""
    first = todo[0].arrays
    dtype = first[0].dtype
    if dtype.char not in "fd":
        return todo
    traced, numbers = trace_call(rule, first, scalars, by_rows=True)
    if traced is None or not traced.on_cpu:
        return todo
    loop, changed = traced.rows, traced.changed
    left = []

    def update(one: _Checked) -> None:
        arrays, (_, grad, indices) = one
        function = loop.get(indices) if grad.dtype == dtype else None
        if function is None:
            left.append(one)
            return
        if type(grad) is not np.ndarray or not grad.flags.c_contiguous:
            grad = np.ascontiguousarray(grad)
        where = [id(array) for array in arrays]
        values = [*where, id(grad), *numbers, *[where[i] for i in changed]]
        length = grad.size // indices.size
        if not function(values, indices, length, length * dtype.itemsize, len(arrays[0])):
            left.append(one)

    if len(todo) > 1 and sum(one.given.grad.size for one in todo) >= _SHARED_ELEMENTS:
        run_pieces(todo, lambda: update)
    else:
        for one in todo:
            update(one)
    return left
