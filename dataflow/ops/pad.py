"""Padding: Pad with a constant, and with the mirror image of the tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor, is_tensor_like
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.casts import modulo_unsigned
from dataflow.ops.concat_split import stack
from dataflow.ops.reshape import reshape
from dataflow.ops.shape import need_rank, rank, shape
from dataflow.ops.slicing import slice_
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims


def _padded_dims(input: Tensor, paddings: Tensor) -> Dims:
    need_rank(paddings, 2, "paddings")
    rows = None
    if paddings.dims is not None:
        rows = paddings.dims[0]
        if paddings.dims[1] not in (None, 2):
            raise ValueError(f"paddings must have shape [rank, 2], got {list(paddings.dims)}")
    if input.dims is None:
        return None if rows is None else (None,) * rows
    if rows is not None and rows != len(input.dims):
        raise ValueError(
            f"paddings has {rows} rows for an input of rank {len(input.dims)}\n"
            "Give one pair (before, after) for each axis."
        )
    known = static_value(paddings)
    if known is None:
        added = _added_sizes(paddings) or (None,) * len(input.dims)
    elif (known < 0).any():
        raise ValueError(f"paddings must not be negative, got {known.tolist()}")
    else:
        added = [int(b) + int(a) for b, a in known]
    return tuple(
        None if d is None or more is None else d + more
        for d, more in zip(input.dims, added, strict=True)
    )


def _added_sizes(paddings: Tensor) -> list[int | None] | None:
    """What each row of ``paddings`` adds, for a stack of rows of which some are known."""
    if paddings.op.type != "Pack" or paddings.op.attrs["axis"] != 0:
        return None
    added: list[int | None] = []
    for row in paddings.op.inputs:
        pair = static_value(row)
        if pair is None and row.op.type == "Pack":
            pair = [static_value(size) for size in row.op.inputs]
        unknown = pair is None or any(size is None for size in pair)
        added.append(None if unknown else int(sum(pair)))
    return added


@define_op("Pad", "input: T, paddings: Tpaddings -> output: T", Tpaddings=INDEX)
def pad_op(input: Tensor, paddings: Tensor) -> Dims:
    """The input with ``paddings[i, 0]`` zeros before and ``paddings[i, 1]`` after, along axis i.

    Gradient: the padding cut off.
    """
    return _padded_dims(input, paddings)


@define_op(
    "PadV2", "input: T, paddings: Tpaddings, constant_values: T -> output: T", Tpaddings=INDEX
)
def pad_v2_op(input: Tensor, paddings: Tensor, constant_values: Tensor) -> Dims:
    """As Pad with ``constant_values`` for zeros. Gradient: the padding cut off."""
    need_rank(constant_values, 0, "constant_values")
    return _padded_dims(input, paddings)


def _check_mirror(input: Tensor, paddings: Tensor, mode: str) -> None:
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"mode must be REFLECT or SYMMETRIC, got {mode!r}")
    known = static_value(paddings)
    if known is None or input.dims is None or len(known) != len(input.dims):
        return
    spare = 1 if mode == "REFLECT" else 0
    for axis, (d, (before, after)) in enumerate(zip(input.dims, known, strict=True)):
        if d is not None and max(before, after) > d - spare:
            raise ValueError(
                f"{mode} padding of axis {axis} may be at most {d - spare}, got {before}, {after}"
            )


@define_op("MirrorPad", "input: T, paddings: Tpaddings -> output: T", Tpaddings=INDEX)
def mirror_pad_op(input: Tensor, paddings: Tensor, *, mode: str) -> Dims:
    """The input continued by its mirror image; SYMMETRIC repeats the edge, REFLECT does not.

    Gradient: MirrorPadGrad, which folds the border back.
    """
    _check_mirror(input, paddings, mode)
    return _padded_dims(input, paddings)


@define_op("MirrorPadGrad", "input: T, paddings: Tpaddings -> output: T", Tpaddings=INDEX)
def mirror_pad_grad_op(input: Tensor, paddings: Tensor, *, mode: str) -> Dims:
    """The border of a mirror-padded gradient added where it came from. Gradient: MirrorPad."""
    if input.dims is None:
        return None
    known = static_value(paddings)
    if known is None:
        return (None,) * len(input.dims)
    return tuple(
        None if d is None else d - int(b) - int(a)
        for d, (b, a) in zip(input.dims, known, strict=True)
    )


def _unpad(op: Operation, grad: Tensor) -> Tensor:
    source, paddings = op.inputs[:2]
    before = reshape(slice_(paddings, [0, 0], stack([rank(source), 1])), [-1])
    return slice_(grad, before, shape(source, out_type=before.dtype))


@pad_op.gradient
def pad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [_unpad(op, grad), None]


@pad_v2_op.gradient
def pad_v2_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.ops.sequences import all_axes

    inner, total = _unpad(op, grad), get_op("Sum")
    return [inner, None, total(grad, all_axes(grad)) - total(inner, all_axes(inner))]


@mirror_pad_op.gradient
def mirror_pad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [mirror_pad_grad_op(grad, op.inputs[1], mode=op.attrs["mode"]), None]


@mirror_pad_grad_op.gradient
def mirror_pad_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [mirror_pad_op(grad, op.inputs[1], mode=op.attrs["mode"]), None]


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """Pads each axis i with ``paddings[i] = [before, after]``; see ``mode``.

    CONSTANT: ``constant_values``; a negative number wraps around in an unsigned dtype. REFLECT and SYMMETRIC: the mirror image of the tensor.
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if not is_tensor_like(constant_values) and np.ndim(constant_values) == 0:
            if constant_values == 0:
                return pad_op(tensor, paddings, name=name)  # type: ignore[no-any-return]
            tensor = convert_to_tensor(tensor, name="tensor")
            constant_values = modulo_unsigned(constant_values, tensor.dtype.base_dtype)
        return pad_v2_op(tensor, paddings, constant_values, name=name)  # type: ignore[no-any-return]
    if mode in ("REFLECT", "SYMMETRIC"):
        return mirror_pad_op(tensor, paddings, mode=mode, name=name)  # type: ignore[no-any-return]
    raise ValueError(
        f"Unknown padding mode: {mode!r}. Expected 'CONSTANT', 'REFLECT' or 'SYMMETRIC'."
    )
