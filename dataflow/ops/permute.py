"""The same elements in another order: transpose, reverse, roll."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops.shape import need_rank, rank
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims

# ---- Transpose ----------------------------------------------------------------------------


def _transposed(x: Tensor, perm: Tensor) -> Dims:
    need_rank(perm, 1, "perm")
    length = None if perm.dims is None else perm.dims[0]
    if x.dims is None:
        return None if length is None else (None,) * length
    if length is not None and length != len(x.dims):
        raise ValueError(
            f"perm has {length} elements for an input of rank {len(x.dims)}: "
            f"{shapes.list_dims(x.dims)}\nIt must name each axis once."
        )
    known = static_value(perm)
    if known is None:
        return (None,) * len(x.dims)
    order = [int(p) for p in known]
    if sorted(p % len(x.dims) if p < 0 else p for p in order) != list(range(len(x.dims))):
        raise ValueError(f"perm {order} is not a permutation of 0 to {len(x.dims) - 1}")
    return tuple(x.dims[p] for p in order)


@define_op("Transpose", "x: T, perm: Tperm -> y: T", Tperm=INDEX, view_of=0)
def transpose_op(x: Tensor, perm: Tensor) -> Dims:
    """Axes in another order: axis i of the result is axis ``perm[i]`` of the input.

    Gradient: transposed by the inverse permutation.
    """
    return _transposed(x, perm)


@define_op("ConjugateTranspose", "x: T, perm: Tperm -> y: T", Tperm=INDEX)
def conjugate_transpose_op(x: Tensor, perm: Tensor) -> Dims:
    """As Transpose, with the complex conjugate of the elements.

    Gradient: the conjugate, transposed by the inverse permutation.
    """
    return _transposed(x, perm)


@transpose_op.gradient
def transpose_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [transpose(grad, _inverse(op.inputs[1])), None]


@conjugate_transpose_op.gradient
def conjugate_transpose_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [transpose(grad, _inverse(op.inputs[1]), conjugate=True), None]


def _inverse(perm: Tensor) -> Any:
    known = static_value(perm)
    if known is not None:
        return convert_to_tensor(np.argsort(known).astype(perm.dtype.as_numpy_dtype))
    from dataflow.ops.sequences import invert_permutation

    return invert_permutation(perm)


def transpose(
    a: TensorLike, perm: Any = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """The axes of ``a`` in the order ``perm``; without ``perm`` reversed (a matrix transposed)."""
    with op_scope(name, "transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        make = conjugate_transpose_op if conjugate and a.dtype.is_complex else transpose_op
        if perm is None:
            if a.dims is not None:
                perm = np.arange(len(a.dims) - 1, -1, -1, dtype=np.int32)
                return make(a, convert_to_tensor(perm, name="perm"), name=scope)  # type: ignore[no-any-return]
            from dataflow.ops.sequences import range_

            top = rank(a)
            perm = (top - 1) - range_(0, top, 1)
        return make(a, perm, name=scope)  # type: ignore[no-any-return]


# ---- Reverse and roll ---------------------------------------------------------------------


@define_op("ReverseV2", "tensor: T, axis: Tidx -> output: T", Tidx=INDEX)
def reverse_op(tensor: Tensor, axis: Tensor) -> Dims:
    """Each axis of ``axis`` (a vector) reversed. Gradient: reversed again."""
    need_rank(axis, 1, "axis")
    known = static_value(axis)
    if known is not None and tensor.dims is not None:
        axes = [shapes.normalize_axis(int(a), len(tensor.dims)) for a in known]
        if len(set(axes)) != len(axes):
            raise ValueError(f"axis {known.tolist()} names an axis twice")
    return tensor.dims


@define_op("Reverse", "tensor: T, dims: bool -> output: T")
def reverse_v1_op(tensor: Tensor, dims: Tensor) -> Dims:
    """The older form: one bool for each axis says whether to reverse it. Gradient: again."""
    need_rank(dims, 1, "dims")
    length = None if dims.dims is None else dims.dims[0]
    if length is None:
        return tensor.dims
    if tensor.dims is not None and len(tensor.dims) != length:
        raise ValueError(f"dims has {length} elements for a tensor of rank {len(tensor.dims)}")
    return tensor.dims or (None,) * length


@reverse_op.gradient
def reverse_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [reverse(grad, op.inputs[1]), None]


@reverse_v1_op.gradient
def reverse_v1_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [reverse_v1_op(grad, op.inputs[1]), None]


def reverse(tensor: TensorLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """``tensor`` with the order along each of the axes reversed.

    The form of TensorFlow before 1.0, with one bool for each axis, works too.
    """
    if isinstance(axis, (list, tuple)) and axis and all(isinstance(a, bool) for a in axis):
        return reverse_v1_op(tensor, axis, name=name)  # type: ignore[no-any-return]
    if getattr(axis, "dtype", None) is dtypes.bool_:
        return reverse_v1_op(tensor, axis, name=name)  # type: ignore[no-any-return]
    if isinstance(axis, (int, np.integer)):
        axis = [axis]
    return reverse_op(tensor, axis, name=name)  # type: ignore[no-any-return]


reverse_v2 = reverse


@define_op("ReverseSequence", "input: T, seq_lengths: Tlen -> output: T", Tlen=dtypes.INDICES)
def reverse_sequence_op(
    input: Tensor, seq_lengths: Tensor, *, seq_dim: int, batch_dim: int = 0
) -> Dims:
    """For each i along ``batch_dim``, the first ``seq_lengths[i]`` elements of ``seq_dim`` reversed.

    Gradient: reversed again.
    """
    need_rank(seq_lengths, 1, "seq_lengths")
    if input.dims is None:
        return None
    rank_ = len(input.dims)
    for name, axis in (("seq_dim", seq_dim), ("batch_dim", batch_dim)):
        if not -rank_ <= axis < rank_:
            raise ValueError(f"{name} {axis} is out of range for a tensor of rank {rank_}")
    batch = input.dims[batch_dim]
    if seq_lengths.dims is not None and not shapes.compatible((batch,), seq_lengths.dims):
        raise ValueError(
            f"{seq_lengths.dims[0]} lengths for a batch of {batch}\nGive one for each."
        )
    out = list(input.dims)
    if batch is None and seq_lengths.dims is not None:
        out[batch_dim] = seq_lengths.dims[0]
    return tuple(out)


@reverse_sequence_op.gradient
def reverse_sequence_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a = op.attrs
    return [
        reverse_sequence_op(grad, op.inputs[1], seq_dim=a["seq_dim"], batch_dim=a["batch_dim"]),
        None,
    ]


def reverse_sequence(
    input: TensorLike,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Reverses the first ``seq_lengths[i]`` elements of each sequence; what follows stays."""
    seq_axis = seq_axis if seq_axis is not None else seq_dim
    batch_axis = batch_axis if batch_axis is not None else batch_dim
    if seq_axis is None:
        raise ValueError("tf.reverse_sequence needs seq_axis (or seq_dim), the axis of time")
    return reverse_sequence_op(  # type: ignore[no-any-return]
        input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis or 0, name=name
    )


@define_op(
    "Roll",
    "input: T, shift: Tshift, axis: Taxis -> output: T",
    Tshift=dtypes.INDICES,
    Taxis=dtypes.INDICES,
)
def roll(input: Tensor, shift: Tensor, axis: Tensor) -> Dims:
    """Elements moved along axes; what leaves at the end comes in at the start.

    ``shift`` and ``axis``: scalars or vectors of the same length. Gradient: rolled back.
    """
    if not shapes.compatible(shift.dims, axis.dims):
        raise ValueError(
            f"shift has shape {shapes.list_dims(shift.dims)}, axis {shapes.list_dims(axis.dims)}"
        )
    if input.dims == ():
        raise ValueError("the input must be at least a vector")
    return input.dims


@roll.gradient
def roll_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [roll(grad, -op.inputs[1], op.inputs[2]), None, None]
