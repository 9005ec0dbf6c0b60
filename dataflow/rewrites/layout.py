"""Data movement that cancels out or is not needed: transposes, reshapes, broadcasts."""

from __future__ import annotations

import numpy as np

from dataflow.dtypes import int32
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.sources import make_constant
from dataflow.rewrites.rules import rewrite
from dataflow.rewrites.symbolic_shapes import BROADCASTING


@rewrite("Transpose")
def transpose_of_transpose(t: Tensor) -> Tensor | None:
    """transpose(transpose(x, p), q) -> transpose(x, p[q]), or x when p[q] keeps the order"""
    inner, q = t.op.inputs
    if inner.op.type != "Transpose" or q.op.type != "Const":
        return None
    x, p = inner.op.inputs
    if p.op.type != "Const":
        return None
    order = p.op.attrs["value"][q.op.attrs["value"]]
    if bool((order == np.arange(order.size)).all()):
        return x
    return get_op("Transpose")(x, make_constant(order, q.dtype, None, "perm"))  # type: ignore[no-any-return]


@rewrite("Transpose")
def identity_transpose(t: Tensor) -> Tensor | None:
    """transpose(x, [0, 1, ...]) -> x"""
    x, p = t.op.inputs
    if p.op.type != "Const":
        return None
    order = p.op.attrs["value"]
    return x if bool((order == np.arange(order.size)).all()) else None


@rewrite("MatMul")
def matmul_of_transpose(t: Tensor) -> Tensor | None:
    """matmul(transpose(a), b) -> matmul(a, b, transpose_a=True), and so for b"""
    a, b = t.op.inputs
    flags = {"transpose_a": t.op.attrs["transpose_a"], "transpose_b": t.op.attrs["transpose_b"]}
    hit = False
    if _is_matrix_transpose(a):
        a, hit = a.op.inputs[0], True
        flags["transpose_a"] = not flags["transpose_a"]
    if _is_matrix_transpose(b):
        b, hit = b.op.inputs[0], True
        flags["transpose_b"] = not flags["transpose_b"]
    return get_op("MatMul")(a, b, **flags) if hit else None


def _is_matrix_transpose(t: Tensor) -> bool:
    if t.op.type != "Transpose" or t.op.control_inputs:
        return False
    p = t.op.inputs[1]
    return p.op.type == "Const" and p.op.attrs["value"].tolist() == [1, 0]


@rewrite(*BROADCASTING)
def broadcast_in_an_op_that_broadcasts(t: Tensor) -> Tensor | None:
    """x * broadcast_to(y, shape of x) -> x * y  (and so for +, -, /, maximum and minimum)"""
    a, b = t.op.inputs
    shape = t.dims
    if shape is None or None in shape:
        return None
    if b.op.type == "BroadcastTo" and a.dims == shape:
        return get_op(t.op.type)(a, b.op.inputs[0])  # type: ignore[no-any-return]
    if a.op.type == "BroadcastTo" and b.dims == shape:
        return get_op(t.op.type)(a.op.inputs[0], b)  # type: ignore[no-any-return]
    return None


@rewrite("Mul", "RealDiv")
def broadcast_of_a_scaled(t: Tensor) -> Tensor | None:
    """broadcast_to(x, shape) / a -> broadcast_to(x / a, shape) for a number a; and so for *"""
    x, a = t.op.inputs
    if t.op.type == "Mul" and a.op.type == "BroadcastTo":
        x, a = a, x
    if x.op.type != "BroadcastTo" or a.dims != () or x.op.control_inputs:
        return None
    inner, shape = x.op.inputs
    if len(x.uses) != 1 or not inner.dims:
        return None
    return get_op("BroadcastTo")(get_op(t.op.type)(inner, a), shape)  # type: ignore[no-any-return]


@rewrite("AddN")
def sum_of_padded(t: Tensor) -> Tensor | None:
    """pad(a, [[0, n], ...]) + pad(b, [[m, 0], ...]) -> concat(a, b) + 0  where each begins at the end
    of the other; the gradient of slices that cover an array. (To add 0.0 makes 0.0 of -0.0.)
    """
    sizes = t.dims
    if sizes is None or None in sizes:
        return None
    parts = []
    for x in t.op.inputs:
        if x.op.type != "Pad" or x.op.control_inputs or x.dims != sizes:
            return None
        paddings = x.op.inputs[1]
        if paddings.op.type != "Const" or paddings.op.control_inputs:
            return None
        parts.append((paddings.op.attrs["value"], x))
    axes = {int(a) for p, _ in parts for a in np.flatnonzero(p.any(1))}
    if len(parts) < 2 or len(axes) != 1:
        return None
    (axis,) = axes
    parts.sort(key=lambda part: int(part[0][axis, 0]))
    end = 0
    for p, _ in parts:
        if int(p[axis, 0]) != end:
            return None
        end = int(sizes[axis] or 0) - int(p[axis, 1])
    if end != sizes[axis]:
        return None
    where = make_constant(np.array(axis, np.int32), int32, None, "axis")
    joined = get_op("ConcatV2")([x.op.inputs[0] for _, x in parts], where)
    zero = make_constant(np.zeros((), t.dtype.as_numpy_dtype), t.dtype.base_dtype, None, "zero")
    return get_op("AddV2")(joined, zero)  # type: ignore[no-any-return]


@rewrite("Reshape")
def reshape_of_reshape(t: Tensor) -> Tensor | None:
    """reshape(reshape(x, s), r) -> reshape(x, r)"""
    inner, shape = t.op.inputs
    if inner.op.type != "Reshape" or inner.op.control_inputs:
        return None
    return get_op("Reshape")(inner.op.inputs[0], shape)  # type: ignore[no-any-return]


@rewrite("Reshape")
def reshape_to_same(t: Tensor) -> Tensor | None:
    """reshape(x, shape of x) -> x"""
    x, shape = t.op.inputs
    if t.dims is None or x.dims is None or len(x.dims) != len(t.dims):
        return None
    if None not in t.dims and x.dims == t.dims:
        return x
    if shape.op.type != "Const":
        return None
    # One size is left to be found, and all others are those that x has.
    sizes = shape.op.attrs["value"].tolist()
    others = [(d, size) for d, size in zip(x.dims, sizes, strict=True) if size != -1]
    same = len(others) == len(sizes) - 1 and all(d == size > 0 for d, size in others)
    return x if same else None


@rewrite("Reshape")
def bias_after_reshape(t: Tensor) -> Tensor | None:
    """reshape(x + b) -> reshape(x) + b, for one number of b for each of the last axis, which stays"""
    add = t.op.inputs[0].op
    if add.type not in ("Add", "AddV2", "BiasAdd") or add.control_inputs:
        return None
    x, bias = add.inputs
    # So that the sum is fused with the nodes after it, and not split from those before it.
    if x.op.op_def.elementwise or not any(u.op_def.elementwise for u in t.uses):
        return None
    # `broadcasting` asks x for the shape instead.
    if any(u is not t.op and u.type not in ("Shape", "Size") for u in add.outputs[0].uses):
        return None
    if add.attrs.get("data_format", "NHWC") != "NHWC":
        return None
    if not x.dims or not t.dims or bias.dims is None or len(bias.dims) != 1:
        return None
    if bias.dims[0] is None or not bias.dims[0] == x.dims[-1] == t.dims[-1]:
        return None
    if add.type == "BiasAdd" and len(t.dims) < 2:
        return None  # it adds to rows: reshape([[y]] + b, [-1]) stays
    moved = get_op("Reshape")(x, t.op.inputs[1])
    return get_op(add.type)(moved, bias)  # type: ignore[no-any-return]


@rewrite("StridedSlice")
def number_of_gathered_rows(t: Tensor) -> Tensor | None:
    """shape(gather(x, i))[0] -> size(i)"""
    shape = t.op.inputs[0].op
    if t.dims != () or shape.type != "Shape" or shape.control_inputs:
        return None
    rows = shape.inputs[0].op
    while rows.type == "Identity" and not rows.control_inputs:
        rows = rows.inputs[0].op
    if rows.type != "GatherV2" or rows.control_inputs:
        return None
    _, indices, axis = rows.inputs
    if indices.dims is None or len(indices.dims) != 1 or not _is_zero(axis):
        return None
    if not _is_zero(t.op.inputs[1]) or any(
        t.op.attrs[f"{m}_mask"] for m in ("ellipsis", "new_axis")
    ):
        return None
    return get_op("Size")(indices, out_type=t.dtype)  # type: ignore[no-any-return]


def _is_zero(tensor: Tensor) -> bool:
    value = tensor.op.attrs.get("value") if tensor.op.type == "Const" else None
    return value is not None and value.size == 1 and not value.any()
