"""Kernels of variables. A variable arrives as its `VariableResource`.

An update either replaces the array or changes it in place after `VariableResource.exclusive`
made sure that nobody else holds it. Checks come first, so that a kernel that raises leaves the
variable as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.errors import InvalidArgumentError, OutOfRangeError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda import gather_scatter
from dataflow.kernels.gather_scatter import need_updates
from dataflow.kernels.jit.table_rows import add_rows, change_rows
from dataflow.kernels.large_arrays import owns_memory
from dataflow.kernels.registry import kernel
from dataflow.kernels.scatter_at import ATOMIC_DTYPES, scatter_at


@kernel("Assign")
def assign_kernel(xp: Module, ref: Any, value: Array, *, validate_shape: bool) -> None:
    assign(xp, ref, value, validate_shape)


@kernel("AssignVariableOp")
def assign_variable_kernel(xp: Module, resource: Any, value: Array) -> None:
    assign(xp, resource, value, False)


def assign(xp: Module, ref: Any, value: Any, validate_shape: bool, own: bool = False) -> None:
    """The variable takes the value; the array itself where it is its ``own`` to keep."""
    with ref.lock:
        old = ref.array
        shape = getattr(value, "shape", ())  # a string has none
        expected = ref.dims if old is None else getattr(old, "shape", ())
        if validate_shape and expected is not None and expected != shape:
            raise InvalidArgumentError(
                None,
                None,
                f"Assign requires shapes of both tensors to match. lhs shape= {list(expected)} "
                f"rhs shape= {list(shape)}",
            )
        in_place = xp is not np and old is not None and old.shape == value.shape
        del old  # else its array would not be exclusive
        if in_place:
            ref.exclusive()[...] = value  # the buffer stays: a CUDA graph may know its address
        elif own and type(value) is np.ndarray and owns_memory(value) and value.flags.c_contiguous:
            ref.array = value
        else:
            ref.array = xp.array(value) if isinstance(value, np.generic) else value.copy()


def _checked(ref: Any, value: Any) -> Any:
    """The variable's array, for a change in place by a value of its shape."""
    array = ref.array
    if array is not None and array.shape != value.shape:
        raise InvalidArgumentError(
            None,
            None,
            f"the variable {ref.name!r} has shape {list(array.shape)}, the value {list(value.shape)}",
        )
    del array  # else it would not be exclusive
    return ref.exclusive()


def _change_in_place(xp: Module, change: Any, array: Array, value: Array) -> None:
    if xp is np and array.size == 1:  # in place NumPy takes ten times as long for a single number
        array[...] = change(array, value)
    else:
        change(array, value, out=array)


@kernel("AssignAdd", "AssignAddVariableOp")
def assign_add_kernel(xp: Module, ref: Any, value: Array) -> None:
    with ref.lock:
        if (
            isinstance(value, np.int64)
            and xp is np
            and ref.array is not None
            and not ref.array.shape
        ):
            # A global step: a new number costs less than to make sure that nobody holds the old one.
            ref.array = np.array(ref.array[()] + value)
            return
        _change_in_place(xp, xp.add, _checked(ref, value), value)


@kernel("AssignSub", "AssignSubVariableOp")
def assign_sub_kernel(xp: Module, ref: Any, value: Array) -> None:
    with ref.lock:
        _change_in_place(xp, xp.subtract, _checked(ref, value), value)


@kernel("IsVariableInitialized", "VarIsInitializedOp")
def is_variable_initialized_kernel(xp: Module, ref: Any) -> Any:
    return np.bool_(ref.array is not None)


@kernel(
    *("CountUpTo", "ResourceCountUpTo"),
    cpu_only="one number, which the host compares with the limit",
)
def count_up_to_kernel(xp: Module, ref: Any, *, limit: int) -> Any:
    with ref.lock:
        value = ref.read()[()]
        if value >= limit:
            raise OutOfRangeError(None, None, f"Reached limit of {limit}")
        ref.array = np.array(value + 1, dtype=value.dtype)
        return value


@kernel("VariableShape")
def variable_shape_kernel(xp: Module, value: Array, *, out_type: DType) -> Any:
    return np.array(np.shape(value), out_type.as_numpy_dtype)


@kernel("DestroyResourceOp")
def destroy_resource_kernel(xp: Module, resource: Any, *, ignore_lookup_error: bool) -> None:
    if not ignore_lookup_error:
        resource.read()
    resource.array = None


@kernel("DisableCopyOnRead")
def disable_copy_on_read_kernel(xp: Module, resource: Any) -> None:
    pass


@kernel("DestroyTemporaryVariable")
def destroy_temporary_variable_kernel(xp: Module, ref: Any) -> Any:
    value, ref.array = ref.read(), None
    return value


_UNSIGNED = {"i": "I", "l": "L", "q": "Q"}


def _rows(xp: Module, ref: Any, indices: Array, updates: Any) -> tuple[Any, Any]:
    """Flat indices and one update row for each; raises for an index outside."""
    array = ref.read()
    flat = xp.reshape(indices, -1)
    size = array.shape[0]
    if flat.size and not gather_scatter.can_change(xp, array, flat):
        # As numbers without a sign, negative ones are large: one pass finds both kinds.
        unsigned = flat.view(_UNSIGNED[flat.dtype.char]) if flat.dtype.char in _UNSIGNED else flat
        if int(unsigned.max()) >= size:
            bad = int(xp.argmax((flat < 0) | (flat >= size)))
            raise InvalidArgumentError(
                None, None, f"indices[{bad}] = {int(flat[bad])} is not in [0, {size})"
            )
    rows = xp.asarray(updates)
    if rows.ndim == 0:
        rows = xp.broadcast_to(rows, flat.shape + array.shape[1:])
    elif rows.size and rows.shape != (expected := np.shape(indices) + array.shape[1:]):
        raise InvalidArgumentError(
            None, None, f"updates must have shape {list(expected)}, got {list(rows.shape)}"
        )
    return flat, rows.reshape(flat.shape + array.shape[1:])


def sum_repeated(xp: Module, flat: Any, rows: Any) -> tuple[Any, Any]:
    """Unique indices, and for each the sum of its rows."""
    order = xp.argsort(flat, kind="stable")
    ordered = flat.take(order)
    first = xp.ones(ordered.size, bool)
    xp.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    starts = xp.flatnonzero(first)
    if starts.size == flat.size:
        return flat, rows
    unique = ordered.take(starts)
    # Few are repeated: the first row of each index, and then the others on top of them.
    others = xp.flatnonzero(~first)
    sums = rows.take(order.take(starts), 0)
    where = xp.cumsum(first).take(others) - 1
    scatter_at(xp, "add", sums, where, rows.take(order.take(others), 0))
    return unique, sums


def rounds(xp: Module, indices: Array) -> Iterator[Any]:
    """Positions in rounds without repetitions: all first occurrences, all second ones, ...

    One round of ``None`` (everything) where no index is repeated, as optimizers see to.
    """
    order = xp.argsort(indices, kind="stable")
    ordered = indices[order]
    new = xp.concatenate([xp.ones(1, bool), ordered[1:] != ordered[:-1]])
    if bool(new.all()):
        yield None
        return
    starts = xp.flatnonzero(new)
    nth = xp.arange(ordered.size) - starts[xp.cumsum(new) - 1]
    for i in range(int(nth.max()) + 1):
        yield order[nth == i]


def _apply_to_rows(ufunc: Any, array: Array, flat: Any, rows: Any) -> None:
    """``array[flat] = ufunc(array[flat], rows)`` for indices that are all different."""
    part = array.take(flat, 0)
    ufunc(part, rows, out=part)
    array[flat] = part


@kernel("ScatterUpdate", "ResourceScatterUpdate")
def scatter_update_kernel(xp: Module, ref: Any, indices: Array, updates: Array) -> None:
    with ref.lock:
        flat, rows = _rows(xp, ref, indices, updates)
        if not _change_on_gpu(xp, "Update", ref, flat, rows):
            ref.exclusive()[flat] = rows


def _change_on_gpu(xp: Module, op: str, ref: Any, flat: Any, rows: Any) -> bool:
    """Changes the rows by a kernel of our own; ``False`` where there is none."""
    if not gather_scatter.can_change(xp, ref.array, flat) or rows.dtype != ref.array.dtype:
        return False
    gather_scatter.change_rows(xp, op, ref.exclusive(), flat, rows)
    return True


def _change(xp: Module, ref: Any, indices: Array, updates: Any, op: str, ufunc: Any) -> None:
    """``ufunc`` on the rows that ``indices`` name; ``op`` is its name in machine code."""
    with ref.lock:
        if xp is np:
            array = ref.exclusive()
            as_rows = updates.shape == indices.shape + array.shape[1:]
            if as_rows and change_rows(op, array, indices, updates):
                return
            del array
        flat, rows = _rows(xp, ref, indices, updates)
        if not flat.size or not rows.size or _change_on_gpu(xp, op, ref, flat, rows):
            return
        if xp is np:
            add_rows(ref.exclusive(), flat, rows if op == "Add" else -rows)
        else:
            flat, rows = sum_repeated(xp, flat, rows)
            _apply_to_rows(ufunc, ref.exclusive(), flat, rows)


@kernel("ScatterAdd", "ResourceScatterAdd")
def scatter_add_kernel(xp: Module, ref: Any, indices: Array, updates: Array) -> None:
    _change(xp, ref, indices, updates, "Add", xp.add)


@kernel("ScatterSub", "ResourceScatterSub")
def scatter_sub_kernel(xp: Module, ref: Any, indices: Array, updates: Array) -> None:
    _change(xp, ref, indices, updates, "Sub", xp.subtract)


def _scatter_with(op_type: str, ufunc: str) -> None:
    @kernel(op_type, f"Resource{op_type}")
    def scatter(xp: Module, ref: Any, indices: Array, updates: Array) -> None:
        with ref.lock:
            flat, rows = _rows(xp, ref, indices, updates)
            array = ref.exclusive()
            if op_type == "ScatterDiv" and array.dtype.kind in "iu":
                for i, row in zip(flat, rows, strict=True):
                    array[i] = array[i] // row
            elif ufunc in ATOMIC_DTYPES:
                scatter_at(xp, ufunc, array, flat, rows)
            elif xp is np:
                getattr(np, ufunc).at(array, flat, rows)
            else:  # CuPy has no atomic product
                for where in rounds(xp, flat):
                    part = slice(None) if where is None else where
                    _apply_to_rows(getattr(xp, ufunc), array, flat[part], rows[part])


for _type, _ufunc in (
    ("ScatterMul", "multiply"),
    ("ScatterDiv", "divide"),
    ("ScatterMin", "minimum"),
    ("ScatterMax", "maximum"),
):
    _scatter_with(_type, _ufunc)


def _slices(xp: Module, ref: Any, indices: Array, updates: Array) -> Any:
    array = ref.read()
    need_updates(indices, updates, array.shape)
    depth = indices.shape[-1]
    bounds = xp.asarray(array.shape[:depth])
    bad = (indices < 0) | (indices >= bounds)
    if bool(bad.any()):
        where = np.argwhere(bad)[0][:-1]
        raise InvalidArgumentError(
            None,
            None,
            f"indices{list(map(int, where))} = {indices[tuple(where)].tolist()} does not index into "
            f"shape {list(array.shape)}",
        )
    return tuple(xp.moveaxis(indices, -1, 0))


@kernel("ScatterNdUpdate", "ResourceScatterNdUpdate")
def scatter_nd_update_kernel(xp: Module, ref: Any, indices: Array, updates: Array) -> None:
    with ref.lock:
        where = _slices(xp, ref, indices, updates)
        ref.exclusive()[where] = updates


@kernel("ScatterNdAdd", "ResourceScatterNdAdd")
def scatter_nd_add_kernel(xp: Module, ref: Any, indices: Array, updates: Array) -> None:
    with ref.lock:
        where = _slices(xp, ref, indices, updates)
        scatter_at(xp, "add", ref.exclusive(), where, updates)


@kernel("ScatterNdSub", "ResourceScatterNdSub")
def scatter_nd_sub_kernel(xp: Module, ref: Any, indices: Array, updates: Array) -> None:
    with ref.lock:
        where = _slices(xp, ref, indices, updates)
        scatter_at(xp, "subtract", ref.exclusive(), where, updates)
