"""Norms of vectors, matrices and lists of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import conj_if_complex, floor_mod_op, mul_op, pow_
from dataflow.ops.elementary import abs_, sqrt
from dataflow.ops.reduce import reduce_max, reduce_sum
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.sequences import invert_permutation, range_, setdiff1d
from dataflow.shapes import normalize_axis


def _norm_axis(axis: Any) -> Any:
    """None, a number, or the list of two; raises `ValueError` for anything else."""
    listed = isinstance(axis, (tuple, list))
    axes = list(axis) if listed else [axis]
    whole = all(isinstance(a, (int, np.integer)) for a in axes)
    if axis is not None and not (whole and len(axes) in (1, 2) and len(set(axes)) == len(axes)):
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis!r}"
        )
    return axes if len(axes) == 2 else axes[0]


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: Any = None,
    name: str | None = None,
    keep_dims: Any = None,
) -> Tensor:
    """The norm of vectors (``axis`` a number), matrices (a pair), or of all elements (none).

    ``ord``: "euclidean", 1, 2, any positive number or ``np.inf`` for vectors; "euclidean", "fro",
    1, 2 (the largest singular value) or ``np.inf`` for matrices. The Euclidean norm of complex numbers
    is complex, as in TensorFlow, with an imaginary part of 0. Raises `ValueError` for others.
    """
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    axis = _norm_axis(axis)
    is_matrix = isinstance(axis, list)
    if is_matrix:
        if ord not in ("euclidean", "fro", 1, 2, np.inf):
            raise ValueError(f"'ord' must be a supported matrix norm, got {ord!r}")
    elif not (ord in ("euclidean", np.inf) or (isinstance(ord, (int, float)) and ord > 0)):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord!r}")
    with default_graph().name_scope(name or "norm"):
        tensor = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean") or (ord == 2 and not is_matrix):
            # x * conj(x) keeps gradients of complex numbers right.
            squares = mul_op(tensor, conj_if_complex(tensor))
            result = sqrt(reduce_sum(squares, axis, keepdims=True))
        elif is_matrix and ord == 2:
            result = _largest_singular_value(tensor, axis)
        else:
            size = abs_(tensor)
            if ord == 1:
                result = reduce_sum(size, axis[0] if is_matrix else axis, keepdims=True)
                if is_matrix:
                    result = reduce_max(result, axis[1], keepdims=True)
            elif ord == np.inf:
                if is_matrix:
                    size = reduce_sum(size, axis[1], keepdims=True)
                    result = reduce_max(size, axis[0], keepdims=True)
                else:
                    result = reduce_max(size, axis, keepdims=True)
            else:
                result = pow_(reduce_sum(pow_(size, ord), axis, keepdims=True), 1.0 / ord)
        if keepdims:
            return result  # type: ignore[no-any-return]
        if axis is None and tensor.dims is None:
            return array_ops.reshape(result, [])
        drop = list(range(len(tensor.dims or ()))) if axis is None else axis
        if tensor.dims == ():
            return result  # type: ignore[no-any-return]
        return array_ops.squeeze(result, drop if isinstance(drop, list) else [drop])


def _largest_singular_value(tensor: Tensor, axis: list[int]) -> Tensor:
    from dataflow.ops.decompositions import svd

    if tensor.dims is None:
        return _largest_singular_value_at_run_time(tensor, axis)
    rank = len(tensor.dims)
    pair = [normalize_axis(a, rank) for a in axis]
    rest = [i for i in range(rank) if i not in pair]
    values = svd(array_ops.transpose(tensor, rest + pair), compute_uv=False)
    result = reduce_max(values, -1)
    for place in sorted(pair):
        result = array_ops.expand_dims(result, place)
    return result


def _largest_singular_value_at_run_time(tensor: Tensor, axis: list[int]) -> Tensor:
    from dataflow.ops.decompositions import svd

    rank = array_ops.rank(tensor)
    pair = floor_mod_op(convert_to_tensor(axis, dtypes.int32) + rank, rank)
    rest, _ = setdiff1d(range_(rank), pair)
    order = array_ops.concat([rest, pair], 0)
    result = reduce_max(svd(array_ops.transpose(tensor, order), compute_uv=False), -1)
    sizes = array_ops.concat([array_ops.shape(result), [1, 1]], 0)
    return array_ops.transpose(array_ops.reshape(result, sizes), invert_permutation(order))


def normalize(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: AxisLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The tensor divided by its norm along ``axis``, and the norm."""
    with default_graph().name_scope(name or "normalize"):
        tensor = convert_to_tensor(tensor)
        size = norm(tensor, ord, axis, keepdims=True)
        return tensor / size, size


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """The square root of the sum of squares over a list of tensors; ``None`` is left out.

    Raises `TypeError` when ``t_list`` is not a sequence.
    """
    from collections.abc import Sequence

    from dataflow.ops.activation import l2_loss
    from dataflow.ops.indexed_slices import IndexedSlices
    from dataflow.ops.sources import constant

    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError("`t_list` should be a sequence of tensors.")
    with default_graph().name_scope(name or "global_norm"):
        parts = [
            convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=f"t_{i}")
            for i, t in enumerate(t_list)
            if t is not None
        ]
        halves = []
        for tensor in parts:
            with default_graph().colocate_with(tensor):  # one number travels, and not the tensor
                halves.append(l2_loss(tensor))
        if not halves:
            return constant(0.0)
        half = reduce_sum(array_ops.stack(halves))
        two = constant(2.0, dtype=half.dtype)
        return sqrt(half * two, name="global_norm")  # type: ignore[no-any-return]
