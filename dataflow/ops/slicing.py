"""Cutting: Slice, and StridedSlice with Python's index syntax."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.errors import ConversionError
from dataflow.graph.conversion import is_tensor_like
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.graph.without_value import missing_attribute
from dataflow.ops.casts import cast
from dataflow.ops.concat_split import concat, stack
from dataflow.ops.fills import ones_like
from dataflow.ops.reshape import reshape
from dataflow.ops.seeds import counted_as
from dataflow.ops.shape import need_rank, rank, shape
from dataflow.ops.sources import constant, make_constant
from dataflow.ops.state import RESOURCE_TWINS, change, variable_of
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable

#: ``t[:, tf.newaxis]`` adds an axis of size 1.
newaxis = None

_INDEX_TYPES = dtypes.INDICES | {dtypes.int16}


def elements_of(vector: Tensor) -> list[int | None] | None:
    """The numbers of an index vector as far as they are known; ``None`` for unknown length."""
    value = static_value(vector)
    if value is not None:
        return [int(v) for v in np.asarray(value).reshape(-1)]
    if vector.op.type == "Pack":
        parts = [static_value(t) for t in vector.op.inputs]
        return [None if p is None else int(p) for p in parts]
    if vector.dims is None or len(vector.dims) != 1 or vector.dims[0] is None:
        return None
    return [None] * vector.dims[0]


# ---- Slice --------------------------------------------------------------------------------


@define_op(
    "Slice", "input: T, begin: Index, size: Index -> output: T", Index=dtypes.INDICES, view_of=0
)
def slice_op(input: Tensor, begin: Tensor, size: Tensor) -> Dims:
    """``size[i]`` elements (-1: all that follow) from ``begin[i]`` on, along each axis i.

    Gradient: padded with zeros to the input's shape.
    """
    need_rank(begin, 1, "begin")
    need_rank(size, 1, "size")
    starts, lengths = elements_of(begin), elements_of(size)
    if input.dims is None:
        if lengths is None:
            return None
        return tuple(None if s is None or s < 0 else s for s in lengths)
    rank_ = len(input.dims)
    for name, items in (("begin", starts), ("size", lengths)):
        if items is not None and len(items) != rank_:
            raise ValueError(
                f"{name} has {len(items)} elements for an input of rank {rank_}\n"
                "Give one number for each axis."
            )
    starts = starts or [None] * rank_
    lengths = lengths or [None] * rank_
    out: list[int | None] = []
    for axis, (start, length, d) in enumerate(zip(starts, lengths, input.dims, strict=True)):
        if start is not None and start < 0:
            raise ValueError(f"begin must not be negative, got {start} for axis {axis}")
        if length is None:
            out.append(None)
        elif length == -1:
            out.append(None if start is None or d is None else d - start)
        else:
            out.append(length)
        if start is not None and d is not None and length is not None:
            if start + max(length, 0) > d:
                raise ValueError(
                    f"axis {axis} has size {d}, elements {start} to {start + max(length, 0)} are "
                    "asked for"
                )
    return tuple(out)


@slice_op.gradient
def slice_gradient(op: Operation, grad: Tensor) -> list[Any]:
    with counted_as(12):
        return [_padded_back(op, grad), None, None]


def _padded_back(op: Operation, grad: Tensor) -> Tensor:
    source, begin, _ = op.inputs
    column = stack([rank(source), 1])
    kind = begin.dtype
    before = reshape(begin, column)
    whole, part = shape(source, out_type=kind), shape(op.outputs[0], out_type=kind)
    known = [static_value(t) for t in (whole, part, begin)]
    if all(k is not None for k in known):
        after: Any = constant((known[0] - known[1] - known[2]).reshape(-1, 1))
    else:
        after = reshape(whole - part - begin, column)
    return get_op("Pad")(grad, concat([before, after], 1))  # type: ignore[no-any-return]


def slice_(input_: Any, begin: TensorLike, size: TensorLike, name: str | None = None) -> Tensor:
    """``size[i]`` elements from ``begin[i]`` on along each axis; a size of -1 takes the rest."""
    return slice_op(input_, begin, size, name=name)  # type: ignore[no-any-return]


# ---- StridedSlice -------------------------------------------------------------------------


def strided_dims(
    dims: Dims,
    begin: list[int | None] | None,
    end: list[int | None] | None,
    strides: list[int | None] | None,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Dims:
    """The shape of ``x[begin:end:strides]`` under TensorFlow's masks, as far as known."""
    known = [b for b in (begin, end, strides) if b is not None]
    if dims is None or not known:
        return None
    count = len(known[0])
    if any(len(b) != count for b in known):
        raise ValueError("begin, end and strides must have the same length")
    begin, end, strides = (b or [None] * count for b in (begin, end, strides))
    used = sum(1 for i in range(count) if not ((new_axis_mask | ellipsis_mask) >> i) & 1)
    if used > len(dims):
        raise ValueError(
            f"{used} indices for a tensor of rank {len(dims)}: {shapes.list_dims(dims)}"
        )
    out: list[int | None] = []
    axis = 0
    ellipsis_seen = False
    for i in range(count):
        bit = 1 << i
        if ellipsis_mask & bit:
            if ellipsis_seen:
                raise ValueError("Multiple ellipses in slice spec not allowed")
            ellipsis_seen = True
            rest = sum(
                1 for j in range(i + 1, count) if not ((new_axis_mask | ellipsis_mask) >> j) & 1
            )
            stop = len(dims) - rest
            out.extend(dims[axis:stop])
            axis = stop
            continue
        if new_axis_mask & bit:
            out.append(1)
            continue
        d = dims[axis]
        first, last, step = begin[i], end[i], strides[i]
        if shrink_axis_mask & bit:
            if d is not None and first is not None and not -d <= first < d:
                raise ValueError(f"slice index {first} of dimension {axis} out of bounds.")
        else:
            if step == 0:
                raise ValueError(f"strides[{i}] must be non-zero")
            lo_open, hi_open = bool(begin_mask & bit), bool(end_mask & bit)
            if d is None or step is None:
                out.append(d if d is not None and lo_open and hi_open and step == 1 else None)
            elif (first is None and not lo_open) or (last is None and not hi_open):
                out.append(None)
            else:
                whole = range(d)[None if lo_open else first : None if hi_open else last : step]
                out.append(len(whole))
        axis += 1
    return (*out, *dims[axis:])


@define_op(
    "StridedSlice",
    "input: T, begin: Index, end: Index, strides: Index -> output: T",
    Index=_INDEX_TYPES,
    view_of=0,
)
def strided_slice_op(
    input: Tensor,
    begin: Tensor,
    end: Tensor,
    strides: Tensor,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Dims:
    """``input[begin:end:strides]``; bit i of a mask says something about index i.

    ``begin_mask``, ``end_mask``: the bound is open. ``ellipsis_mask``: the index is ``...``.
    ``new_axis_mask``: it adds an axis. ``shrink_axis_mask``: it is a number, and its axis goes.
    Gradient: put into zeros of the input's shape.
    """
    for name, t in (("begin", begin), ("end", end), ("strides", strides)):
        need_rank(t, 1, name)
    return strided_dims(
        input.dims,
        elements_of(begin),
        elements_of(end),
        elements_of(strides),
        begin_mask,
        end_mask,
        ellipsis_mask,
        new_axis_mask,
        shrink_axis_mask,
    )


@define_op(
    "StridedSliceGrad",
    "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T",
    Index=dtypes.INDICES,
)
def strided_slice_grad_op(
    shape: Tensor,
    begin: Tensor,
    end: Tensor,
    strides: Tensor,
    dy: Tensor,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Dims:
    """Zeros of ``shape`` with ``dy`` where the StridedSlice was. Gradient: the same slice."""
    return static_dims(shape)


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@strided_slice_op.gradient
def strided_slice_gradient(op: Operation, grad: Tensor) -> list[Any]:
    source, begin, end, strides = op.inputs
    masks = {m: op.attrs[m] for m in _MASKS}
    whole = shape(source, out_type=begin.dtype)
    return [strided_slice_grad_op(whole, begin, end, strides, grad, **masks), None, None, None]


@strided_slice_grad_op.gradient
def strided_slice_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    masks = {m: op.attrs[m] for m in _MASKS}
    back = strided_slice_op(grad, op.inputs[1], op.inputs[2], op.inputs[3], **masks)
    return [None, None, None, None, back]


def strided_slice(
    input_: Any,
    begin: Any,
    end: TensorLike,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Variable | None = None,
    name: str | None = None,
) -> Tensor:
    """``input_[begin:end:strides]``, with bounds as vectors; see the op StridedSlice for masks."""
    if strides is None:
        strides = ones_like(begin)
    return strided_slice_op(  # type: ignore[no-any-return]
        input_,
        begin,
        end,
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


def _bound(value: TensorLike, tensor: TensorLike) -> Any:
    """An index, checked: Python and NumPy integers, dimensions, integer tensors."""
    if isinstance(value, (bool, np.bool_)):
        raise ConversionError(_refusal(tensor, value))
    if isinstance(value, shapes.Dimension):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if is_tensor_like(value):
        dtype = getattr(value, "dtype", None)
        if dtype is not None and not dtype.base_dtype.is_integer:
            raise TypeError(_refusal(tensor, value))
        return value
    if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu":
        return int(value)
    raise TypeError(_refusal(tensor, value))


def _refusal(tensor: Any, index: Any) -> str:
    dtype = getattr(index, "dtype", None)
    shown = f"{type(index).__name__} {index!r}"
    text = (
        f"{tensor.name!r} cannot be indexed with {shown}: only integers, slices (`:`), ellipsis "
        "(`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid indices."
    )
    if isinstance(index, (bool, np.bool_)) or str(getattr(dtype, "name", dtype)) == "bool":
        return text + " To pick elements by a mask use tf.boolean_mask(t, mask)."
    if isinstance(index, (list, np.ndarray)):
        return text + " To pick rows by a list use tf.gather(t, indices)."
    return text + " Cast a floating index with tf.cast(i, tf.int32)."


def _is_mask(spec: Any) -> bool:
    if isinstance(spec, np.ndarray):
        return bool(spec.dtype.kind == "b")
    dtype = getattr(spec, "dtype", None)
    return is_tensor_like(spec) and dtype is not None and bool(dtype.is_bool)


def _same_dtype(bounds: list[Any]) -> list[Any]:
    """Bounds of which some are int64 and some int32 tensors, all as int64."""
    kinds = {b.dtype.base_dtype for b in bounds if isinstance(b, Tensor)}
    if len(kinds) < 2:
        return bounds
    return [cast(b, dtypes.int64) if isinstance(b, Tensor) else b for b in bounds]


def _packed(bounds: list[Any]) -> Tensor:
    """Bounds as one vector: what `stack` makes of them."""
    if set(map(type, bounds)) != {int} or min(bounds) < -(2**31) or max(bounds) >= 2**31:
        return stack(bounds)
    if default_graph().executes_eagerly:
        return _eager_bounds(tuple(bounds))
    return make_constant(np.array(bounds, np.int32), dtypes.int32, None, "stack")


@functools.lru_cache(maxsize=1024)
def _eager_bounds(bounds: tuple[int, ...]) -> Tensor:
    """In eager code a loop takes the same slices again and again, by tensors that nobody else sees."""
    return make_constant(np.array(bounds, np.int32), dtypes.int32, None, "stack")


def getitem(tensor: TensorLike, spec: Any, var: Variable | None = None) -> Tensor:
    """``tensor[spec]`` as Python's syntax gives it; see `Tensor.__getitem__`."""
    if _is_mask(spec):
        from dataflow.ops.selection import boolean_mask

        return boolean_mask(tensor, spec)
    if isinstance(spec, list) and any(isinstance(s, slice) or s is None or s is ... for s in spec):
        spec = tuple(
            spec
        )  # as in TensorFlow, where x[[i, j]] is x[i, j], too: here that is refused
    if isinstance(spec, list) or (isinstance(spec, np.ndarray) and spec.shape != ()):
        raise TypeError(_refusal(tensor, spec))
    items = spec if isinstance(spec, tuple) else (spec,)
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(_MASKS, 0)
    for i, item in enumerate(items):
        bit = 1 << i
        if isinstance(item, slice):
            if item.start is None:
                begin.append(0)
                masks["begin_mask"] |= bit
            else:
                begin.append(_bound(item.start, tensor))
            if item.stop is None:
                end.append(0)
                masks["end_mask"] |= bit
            else:
                end.append(_bound(item.stop, tensor))
            strides.append(1 if item.step is None else _bound(item.step, tensor))
        elif item is Ellipsis or item is None:
            begin.append(0)
            end.append(0)
            strides.append(1)
            masks["ellipsis_mask" if item is Ellipsis else "new_axis_mask"] |= bit
        else:
            index = _bound(item, tensor)
            if isinstance(index, Tensor) and index.dims:
                raise TypeError(_refusal(tensor, index))
            begin.append(index)
            end.append(index + 1)
            strides.append(1)
            masks["shrink_axis_mask"] |= bit
    with op_scope(None, "strided_slice", [tensor]) as scope:
        if begin:
            begin, end, strides = (_same_dtype(b) for b in (begin, end, strides))
            packed = [_packed(begin), _packed(end), _packed(strides)]
            if any(p.dtype is dtypes.int64 for p in packed):
                packed = [cast(p, dtypes.int64) for p in packed]
        else:
            empty = constant([], dtype=dtypes.int32)
            packed = [empty, empty, empty]
        result: Tensor = strided_slice_op(tensor, *packed, name=scope, **masks)
    if result.known_value is not None and (owner := tensor.__dict__.get("value_of")) is not None:
        result.__dict__["slice_of"] = owner, packed  # for an assignment, with eager execution
    return result


Tensor.__getitem__ = getitem  # type: ignore[method-assign]


@define_op(
    "StridedSliceAssign",
    "ref: Ref(T), begin: Index, end: Index, strides: Index, value: T -> output_ref: Ref(T)",
    Index=dtypes.INDICES,
)
def strided_slice_assign_op(
    ref: Tensor,
    begin: Tensor,
    end: Tensor,
    strides: Tensor,
    value: Tensor,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Dims:
    """Puts ``value`` in place of a StridedSlice of a variable. Shape: the variable's.

    Not differentiable.
    """
    return ref.dims


@define_op(
    "ResourceStridedSliceAssign",
    "ref: Handle(T), begin: Index, end: Index, strides: Index, value: T",
    Index=dtypes.INDICES,
)
def resource_strided_slice_assign_op(
    ref: Tensor,
    begin: Tensor,
    end: Tensor,
    strides: Tensor,
    value: Tensor,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> list[Dims]:
    """As StridedSliceAssign, of a resource variable. No output. Not differentiable."""
    return []


RESOURCE_TWINS["StridedSliceAssign"] = resource_strided_slice_assign_op
not_differentiable(strided_slice_assign_op, resource_strided_slice_assign_op)


def _assign_to_slice(tensor: Tensor) -> Any:
    """``v[1:3].assign(value)`` of a variable; a slice of another tensor refuses to be assigned,
    and what is no slice has no such attribute."""
    if tensor.op.graph.executes_eagerly:
        return _eager_assignment(tensor)
    read = tensor.op.inputs[0].op if tensor.op.type == "StridedSlice" else None
    while read is not None and read.type in ("Switch", "Enter"):
        read = read.inputs[0].op  # within a branch or a loop the variable's value comes in by these
    if read is None:
        raise missing_attribute(tensor, "assign")
    _, *bounds = tensor.op.inputs
    masks = {m: tensor.op.attrs[m] for m in _MASKS}

    def assign(value: TensorLike, name: str | None = None) -> Any:
        """Puts ``value`` in place of the slice; gives the whole variable."""
        by_reference = read.type == "Identity" and read.inputs[0].dtype.is_ref
        if not by_reference and read.type != "ReadVariableOp":
            raise ValueError(
                "Sliced assignment is only supported for variables, and "
                f"{tensor.name!r} is no slice of one."
            )
        name = f"{tensor.op.name}/_assign" if name is None else name
        variable = variable_of(read.inputs[0])
        return change(strided_slice_assign_op, variable, *bounds, value, name=name, **masks)

    return assign


def _eager_assignment(tensor: Tensor) -> Any:
    found = tensor.__dict__.get("slice_of")
    if found is None:
        raise missing_attribute(tensor, "assign")
    variable, bounds = found

    def assign(value: TensorLike, name: str | None = None) -> Any:
        """Puts ``value`` in place of the slice; gives the whole variable."""
        masks = {m: tensor.op.attrs[m] for m in _MASKS}
        return change(strided_slice_assign_op, variable, *bounds, value, name=name, **masks)

    return assign


class _Assignment:
    """``tensor.assign`` of a slice. What a program puts there itself, as ``tensor.assign = v.assign``, goes before it."""

    def __get__(self, tensor: Tensor | None, owner: type | None = None) -> Any:
        return self if tensor is None else _assign_to_slice(tensor)


Tensor.assign = _Assignment()  # type: ignore[attr-defined]
