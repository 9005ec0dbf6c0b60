"""Segment reductions of gathered rows: ``data[indices]`` reduced by segment without a copy of data."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import FLOATING, INDICES, REAL_NUMBERS, int32
from dataflow.graph.op_def import OpDef
from dataflow.graph.op_signature import function_name
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, compatible, list_dims


def _dims(data: Tensor, indices: Tensor, segment_ids: Tensor, num_segments: Any) -> Dims:
    for name, tensor in (("indices", indices), ("segment_ids", segment_ids)):
        if tensor.dims is not None and len(tensor.dims) != 1:
            raise ValueError(f"{name} must be a vector, got shape {list_dims(tensor.dims)}")
    if not compatible(indices.dims, segment_ids.dims):
        raise ValueError(
            f"indices {list_dims(indices.dims)} and segment_ids {list_dims(segment_ids.dims)} "
            "must have the same length"
        )
    if data.dims is None:
        return None
    if not data.dims:
        raise ValueError("data must have at least one axis, got a scalar")
    count = None
    if num_segments is not None:
        known = static_value(num_segments)
        count = None if known is None else int(known)
    return (count, *data.dims[1:])


def _sparse(kind: str, what: str, allowed: Any, numbered: bool) -> OpDef:
    op_type = f"SparseSegment{kind}{'WithNumSegments' if numbered else ''}"
    doc = (
        f"{what} of the rows ``data[indices]`` of each segment; the ids must not decrease.\n\n"
        "Shape: data [n, d...], indices and segment_ids [k] give [segments, d...]. Dtype: kept.\n"
        "Gradient: to the rows of data, scaled as the forward op scales.\n"
    )
    signature = "data: T, indices: Tidx, segment_ids: Tsegmentids"
    groups = {"T": allowed, "Tidx": INDICES, "Tsegmentids": INDICES}
    if numbered:

        def rule(
            data: Tensor,
            indices: Tensor,
            segment_ids: Tensor,
            num_segments: Tensor,
            *,
            sparse_gradient: bool = False,
        ) -> Dims:
            return _dims(data, indices, segment_ids, num_segments)

        signature += ", num_segments: Tnumsegments"
        groups["Tnumsegments"] = INDICES
    else:

        def rule(  # type: ignore[misc]
            data: Tensor, indices: Tensor, segment_ids: Tensor, *, sparse_gradient: bool = False
        ) -> Dims:
            return _dims(data, indices, segment_ids, None)

    rule.__name__ = op_type
    rule.__doc__ = doc
    return define_op(
        op_type,
        signature + " -> output: T",
        later_attrs={"sparse_gradient": False, "Tsegmentids": int32},
        **groups,
    )(rule)


_KINDS = {
    "Sum": ("The sum", REAL_NUMBERS),
    "Mean": ("The mean", FLOATING),
    "SqrtN": ("The sum, divided by the square root of their number,", FLOATING),
}
_OPS = {
    (kind, numbered): _sparse(kind, what, allowed, numbered)
    for kind, (what, allowed) in _KINDS.items()
    for numbered in (False, True)
}


def _gradient_op(kind: str) -> OpDef:
    op_type = f"SparseSegment{kind}Grad"
    doc = (
        f"The gradient of ``SparseSegment{kind}`` for its data, which has ``output_dim0`` rows.\n\n"
        "Shape: grad [segments, d...], indices and segment_ids [k] give [output_dim0, d...]. Dtype:\n"
        f"kept. Gradient: ``SparseSegment{kind}WithNumSegments`` of the incoming one's rows.\n"
    )

    def rule(grad: Tensor, indices: Tensor, segment_ids: Tensor, output_dim0: Tensor) -> Dims:
        return _dims(grad, indices, segment_ids, output_dim0)

    rule.__name__ = op_type
    rule.__doc__ = doc
    signature = "grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32 -> output: T"
    op_def = define_op(
        op_type,
        signature,
        T=FLOATING,
        Tidx=INDICES,
        Tsegmentids=INDICES,
        later_attrs={"Tsegmentids": int32},
    )(rule)

    @op_def.gradient
    def gradient(op: Operation, grad: Tensor) -> list[Any]:
        given, indices, ids, _ = op.inputs
        back = _OPS[kind, True](grad, indices, ids, array_ops.shape(given)[0])
        return [back, None, None, None]

    return op_def


_GRADIENT_OPS = {kind: _gradient_op(kind) for kind in _KINDS}


def _set_gradient(kind: str, op_def: OpDef) -> None:
    @op_def.gradient
    def sparse_segment_gradient(op: Operation, grad: Tensor) -> list[Any]:
        data, indices, ids = op.inputs[:3]
        total = _GRADIENT_OPS[kind](grad, indices, ids, array_ops.shape(data)[0])
        return [total] + [None] * (len(op.inputs) - 1)


for (_kind, _numbered), _op in _OPS.items():
    _set_gradient(_kind, _op)


def _function(kind: str) -> Any:
    def sparse_segment(
        data: TensorLike,
        indices: TensorLike,
        segment_ids: TensorLike,
        name: str | None = None,
        num_segments: Any = None,
        sparse_gradient: bool = False,
    ) -> Tensor:
        if num_segments is None:
            return _OPS[kind, False](  # type: ignore[no-any-return]
                data, indices, segment_ids, sparse_gradient=sparse_gradient, name=name
            )
        return _OPS[kind, True](  # type: ignore[no-any-return]
            data, indices, segment_ids, num_segments, sparse_gradient=sparse_gradient, name=name
        )

    sparse_segment.__name__ = sparse_segment.__qualname__ = function_name(f"SparseSegment{kind}")
    sparse_segment.__doc__ = (
        f"{_KINDS[kind][0]} of the rows ``data[indices]`` of each segment.\n\n"
        "``num_segments`` gives the number of segments, else the last id does.\n"
    )
    return sparse_segment


sparse_segment_sum = _function("Sum")
sparse_segment_mean = _function("Mean")
sparse_segment_sqrt_n = _function("SqrtN")
