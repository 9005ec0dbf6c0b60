"""Values that are known before the graph runs: shapes passed as tensors, constant axes.

`static_value` gives the whole value or ``None``; `static_dims` reads a shape tensor and allows
unknown parts, as in ``tf.reshape(x, [tf.shape(x)[0], 10])``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.shapes import Dims

_LARGEST_ELEMENTS = 10_000
#: TensorFlow's limit; NumPy's is lower, and found when the graph runs.
_MAX_RANK = 254
_rules: dict[str, Callable[[Any], Any]] = {}


def static_rule(*op_types: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Registers ``function(op) -> array or None`` for ops whose value may be known early."""

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for op_type in op_types:
            _rules[op_type] = function
        return function

    return register


def static_value(tensor: TensorLike) -> Any:
    """The value of a tensor as a NumPy array where it is known without running, else ``None``."""
    if not isinstance(tensor, Tensor):
        return np.asarray(tensor) if isinstance(tensor, (np.ndarray, np.generic)) else None
    op = tensor.op
    graph: Any = op.graph
    if graph.executes_eagerly:
        graph.num_values_read += 1
    if op.type == "Const":
        return op.attrs["value"]
    if tensor.known_value is not None:
        return np.asarray(tensor.known_value)
    rule = _rules.get(op.type)
    return None if rule is None else rule(op)


def static_dims(tensor: Tensor) -> Dims:
    """The dims that a shape tensor holds, with ``None`` for parts not known yet (or for -1)."""
    value = static_value(tensor)
    if value is not None:
        if np.size(value) > _MAX_RANK:
            raise ValueError(
                f"{tensor.name!r} is to be a shape: that has at most {_MAX_RANK} dimensions, "
                f"got {np.size(value):,}"
            )
        return tuple(None if v < 0 else int(v) for v in np.asarray(value).reshape(-1))
    op = tensor.op
    kind = op.type
    if kind == "Shape":
        return op.inputs[0].dims
    if kind == "ShapeN":
        return op.inputs[tensor.value_index].dims
    if kind in ("Cast", "Identity"):
        return static_dims(op.inputs[0])
    if kind in ("Enter", "Switch"):
        source = _passed_into(op)
        if source is not None:
            return static_dims(source)
    if kind == "Pack":
        sizes = []
        for item in op.inputs:
            one = static_value(item)
            if one is None:
                one = _one_size(item)
            sizes.append(None if one is None or one < 0 else int(one))
        return tuple(sizes)
    if kind == "ConcatV2":
        parts = [static_dims(t) for t in op.inputs[:-1]]
        if any(p is None for p in parts):
            return None
        return tuple(d for p in parts if p is not None for d in p)
    if kind == "StridedSlice":
        whole = static_dims(op.inputs[0])
        bounds = [static_value(t) for t in op.inputs[1:]]
        if whole is not None and all(b is not None and b.shape == (1,) for b in bounds):
            a = op.attrs
            if a["ellipsis_mask"]:
                return whole
            begin = None if a["begin_mask"] & 1 else int(bounds[0][0])
            end = None if a["end_mask"] & 1 else int(bounds[1][0])
            if not a["shrink_axis_mask"] and not a["new_axis_mask"]:
                return whole[begin : end : int(bounds[2][0])]
    if tensor.dims is not None and len(tensor.dims) == 1 and tensor.dims[0] is not None:
        return (None,) * tensor.dims[0] if tensor.dims[0] <= _MAX_RANK else None
    return None


def _one_size(tensor: Tensor) -> int | None:
    """A scalar cut out of a shape: ``tf.shape(x)[1]`` where that size is known."""
    op = tensor.op
    if op.type == "Cast" or op.type == "Identity":
        return _one_size(op.inputs[0])
    if op.type in ("Enter", "Switch"):
        source = _passed_into(op)
        return None if source is None else _one_size(source)
    if op.type == "StridedSlice" and op.attrs["shrink_axis_mask"] == 1:
        whole = static_dims(op.inputs[0])
        begin = static_value(op.inputs[1])
        if whole is not None and begin is not None and begin.shape == (1,):
            index = int(begin[0])
            if -len(whole) <= index < len(whole):
                return whole[index]
    return None


@static_rule("Shape")
def _shape(op: Any) -> Any:
    dims = op.inputs[0].dims
    if dims is None or None in dims:
        return None
    dtype = np.dtype(op.outputs[0].dtype.as_numpy_dtype)
    if max(dims, default=0) > np.iinfo(dtype).max:
        return None  # found when it runs, if it ever does
    return np.array(dims, dtype=dtype)


def _passed_into(op: Operation) -> Any:
    """The tensor that a node carries unchanged into a loop or a branch, or ``None``."""
    if op.type == "Enter" and op.attrs["is_constant"]:
        return op.inputs[0]
    if op.type == "Switch" and op.inputs[1].op.type != "LoopCond":
        return op.inputs[0]
    return None


@static_rule("Enter", "Switch")
def _enter(op: Operation) -> Any:
    source = _passed_into(op)
    return None if source is None else static_value(source)


@static_rule("Size")
def _size(op: Any) -> Any:
    dims = op.inputs[0].dims
    if dims is not None and 0 in dims:
        dims = (0,)
    if dims is None or None in dims:
        return None
    return np.array(int(np.prod(dims)), dtype=op.outputs[0].dtype.as_numpy_dtype)


@static_rule("Rank")
def _rank(op: Operation) -> Any:
    dims = op.inputs[0].dims
    return None if dims is None else np.array(len(dims), dtype=np.int32)


@static_rule("Pack")
def _pack(op: Operation) -> Any:
    values = [static_value(t) for t in op.inputs]
    if not values or any(v is None for v in values):
        return None
    return np.stack([np.asarray(v) for v in values], axis=op.attrs["axis"])


@static_rule("Cast")
def _cast(op: Operation) -> Any:
    value = static_value(op.inputs[0])
    return None if value is None else value.astype(op.attrs["DstT"].as_numpy_dtype)


@static_rule("Range")
def _range(op: Operation) -> Any:
    bounds = [static_value(t) for t in op.inputs]
    if any(b is None for b in bounds):
        return None
    start, limit, delta = bounds
    if delta == 0 or abs((limit - start) / delta) > _LARGEST_ELEMENTS:
        return None
    return np.arange(start, limit, delta, dtype=op.outputs[0].dtype.as_numpy_dtype)


@static_rule("ConcatV2")
def _concat(op: Operation) -> Any:
    values = [static_value(t) for t in op.inputs]
    if any(v is None for v in values):
        return None
    return np.concatenate(values[:-1], axis=int(values[-1]))


@static_rule("Fill")
def _fill(op: Operation) -> Any:
    dims, value = static_value(op.inputs[0]), static_value(op.inputs[1])
    if dims is None or value is None or np.prod(dims) > _LARGEST_ELEMENTS:
        return None
    return np.full(tuple(dims), value)


@static_rule("StridedSlice")
def _strided_slice(op: Operation) -> Any:
    bounds = [static_value(t) for t in op.inputs[1:]]
    if any(b is None or b.shape != (1,) for b in bounds):
        return None
    a = op.attrs
    if a["new_axis_mask"] or a["ellipsis_mask"]:
        return None
    value = static_value(op.inputs[0])
    if value is None:
        size = None
        if a["shrink_axis_mask"]:
            whole = static_dims(op.inputs[0])
            index = int(bounds[0][0])
            if whole is not None and -len(whole) <= index < len(whole):
                size = whole[index]
        return None if size is None else np.array(size, dtype=op.outputs[0].dtype.as_numpy_dtype)
    if a["shrink_axis_mask"]:
        return np.asarray(value[int(bounds[0][0])])
    begin = None if a["begin_mask"] else int(bounds[0][0])
    end = None if a["end_mask"] else int(bounds[1][0])
    return value[begin : end : int(bounds[2][0])]


def _of_small_values(op_type: str, function: Callable[..., Any]) -> None:
    """The value of a node by ``function`` of its inputs', where all are known: its shape rule has found them good."""

    def rule(op: Operation) -> Any:
        values = [static_value(t) for t in op.inputs]
        known = all(v is not None and v.size <= _LARGEST_ELEMENTS for v in values)
        return function(*values) if known else None

    static_rule(op_type)(rule)


def _slice(x: Any, begin: Any, size: Any) -> Any:
    ends = np.where(size < 0, np.array(x.shape, np.int64), begin + size)
    return x[tuple(slice(b, e) for b, e in zip(begin, ends, strict=True))]


def _pad(x: Any, paddings: Any, value: Any = 0) -> Any:
    if x.ndim != 1 or paddings.sum() > _LARGEST_ELEMENTS:
        return None
    return np.pad(x, [tuple(p) for p in paddings], constant_values=value)


def _reverse(x: Any, axes: Any) -> Any:
    return np.flip(x, tuple(int(axis) for axis in axes))


_of_small_values("Slice", _slice)
_of_small_values("Pad", _pad)
_of_small_values("PadV2", _pad)
_of_small_values("ReverseV2", _reverse)


def _elementwise(op_type: str, function: Callable[[Any, Any], Any]) -> None:
    def rule(op: Operation) -> Any:
        a, b = (static_value(t) for t in op.inputs)
        if a is None or b is None or a.size > 16 or b.size > 16:
            return None
        return np.asarray(function(a, b), dtype=op.outputs[0].dtype.as_numpy_dtype)

    static_rule(op_type)(rule)


for _type in ("Add", "AddV2"):
    _elementwise(_type, np.add)
_elementwise("Sub", np.subtract)
_elementwise("Mul", np.multiply)
_elementwise("FloorDiv", np.floor_divide)
_elementwise("Maximum", np.maximum)
_elementwise("Minimum", np.minimum)
_elementwise("Equal", np.equal)
_elementwise("NotEqual", np.not_equal)
_elementwise("Less", np.less)
_elementwise("LessEqual", np.less_equal)
_elementwise("Greater", np.greater)
_elementwise("GreaterEqual", np.greater_equal)
_elementwise("LogicalAnd", np.logical_and)
_elementwise("LogicalOr", np.logical_or)


@static_rule("RealDiv")
def _real_div(op: Operation) -> Any:
    a, b = (static_value(t) for t in op.inputs)
    if a is None or b is None or a.size > 16 or b.size > 16 or not np.all(b):
        return None
    return np.asarray(np.divide(a, b), dtype=op.outputs[0].dtype.as_numpy_dtype)


def _rounded(op_type: str, function: Callable[[Any], Any]) -> None:
    def rule(op: Operation) -> Any:
        value = static_value(op.inputs[0])
        return None if value is None or value.size > 16 else np.asarray(function(value))

    static_rule(op_type)(rule)


_rounded("Floor", np.floor)
_rounded("Ceil", np.ceil)


@static_rule("FloorMod")
def _floor_mod(op: Operation) -> Any:
    a, b = (static_value(t) for t in op.inputs)
    if a is None or b is None or a.size > 16 or b.size > 16 or not np.all(b):
        return None  # a remainder of 0 is an error of the run
    return np.mod(a, b).astype(op.outputs[0].dtype.as_numpy_dtype)


@static_rule("GatherV2")
def _gather(op: Operation) -> Any:
    values, indices, axis = (static_value(t) for t in op.inputs)
    if values is None or indices is None or axis is None or op.attrs.get("batch_dims"):
        return None
    size = values.shape[int(axis)]
    if indices.size > 16 or np.any(indices < 0) or np.any(indices >= size):
        return None  # the run says which index is wrong
    return np.take(values, indices, axis=int(axis))


@static_rule("LogicalNot")
def _logical_not(op: Operation) -> Any:
    value = static_value(op.inputs[0])
    return None if value is None else np.logical_not(value)


def _reduced(op_type: str, function: Callable[..., Any]) -> None:
    def rule(op: Operation) -> Any:
        value, axes = static_value(op.inputs[0]), static_value(op.inputs[1])
        if value is None or axes is None or value.size > _LARGEST_ELEMENTS:
            return None
        axis = tuple(np.asarray(axes).reshape(-1).tolist())
        result = function(value, axis=axis, keepdims=op.attrs["keep_dims"])
        return np.asarray(result, dtype=value.dtype)

    static_rule(op_type)(rule)


_reduced("Prod", np.prod)
_reduced("Sum", np.sum)


def _extreme(op_type: str, function: Callable[..., Any]) -> None:
    def rule(op: Operation) -> Any:
        value, axes = static_value(op.inputs[0]), static_value(op.inputs[1])
        if value is None or axes is None or not value.size or value.size > _LARGEST_ELEMENTS:
            return None
        axis = tuple(np.asarray(axes).reshape(-1).tolist())
        return np.asarray(function(value, axis=axis, keepdims=op.attrs["keep_dims"]))

    static_rule(op_type)(rule)


_extreme("Max", np.max)
_extreme("Min", np.min)


@static_rule("Squeeze", "Identity", "ExpandDims", "Reshape")
def _passed_on(op: Operation) -> Any:
    value = static_value(op.inputs[0])
    if value is None or op.type == "Identity":
        return value
    dims = op.outputs[0].dims
    if dims is None or None in dims or op.outputs[0].shape.num_elements() != np.size(value):
        return None
    return np.reshape(value, dims)
