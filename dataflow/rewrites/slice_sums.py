"""Gradients of slices of one tensor, which are added up: each goes into the sum where it belongs.

What an unrolled loop takes from its input is a slice for each step, ``x[:, k]``, whose gradient is a tensor of
zeros as large as the input, and there is a sum of all these.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dataflow.graph.tensor import Tensor
from dataflow.ops.fused import sum_of_slices_op
from dataflow.rewrites.rules import rewrite

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
#: Beyond this many slices, pairs of them are not compared.
_MOST_COMPARED = 512


class _Index(NamedTuple):
    """What a `StridedSlice` picks."""

    begin: tuple[int, ...]
    end: tuple[int, ...]
    strides: tuple[int, ...]
    masks: tuple[int, ...]


@rewrite("AddN")
def sum_of_slices(t: Tensor) -> Tensor | None:
    """zeros with a[1] in slice 1 + zeros with a[2] in slice 2 + ... -> one tensor to whose slices each a[i] is added

    Zeros change no sum, but for the sign of one: where every term is -0.0, 0.0 and -0.0 differ. So there must be two
    slices that have no element in common, and then there is a term of 0.0 everywhere.
    """
    first, indices = t.op.inputs[0].op, []
    if len(t.op.inputs) < 2 or t.dtype.base_dtype.kind not in "fiu":
        return None
    for x in t.op.inputs:
        op = x.op
        if op.type != "StridedSliceGrad" or not _same_shape(op.inputs[0], first.inputs[0]):
            return None
        if len(x.uses) != 1 or op.control_inputs or op.control_outputs:
            return None
        where = [_constant(bound) for bound in op.inputs[1:4]]
        if any(bound is None for bound in where):
            return None
        begin, end, strides = (tuple(np.asarray(bound).tolist()) for bound in where)
        indices.append(_Index(begin, end, strides, tuple(op.attrs[name] for name in _MASKS)))
    if not any(_are_apart(indices[0], other) for other in indices[1:]):
        return None
    return sum_of_slices_op(  # type: ignore[no-any-return]
        first.inputs[0],
        [x.op.inputs[4] for x in t.op.inputs],
        indices=tuple(map(tuple, indices)),
        apart=len(indices) <= _MOST_COMPARED
        and all(itertools.starmap(_are_apart, itertools.combinations(indices, 2))),
    )


def _constant(x: Tensor) -> Any:
    """The array of a constant; ``None`` for any other tensor."""
    return None if x.op.type != "Const" or x.op.control_inputs else x.op.attrs["value"]


def _same_shape(a: Tensor, b: Tensor) -> bool:
    if a is b:
        return True
    left, right = _constant(a), _constant(b)
    return left is not None and right is not None and np.array_equal(left, right)


def _are_apart(a: _Index, b: _Index) -> bool:
    """Whether two slices certainly have no element in common: on some axis they pick other places."""
    return any(
        one is not None and two is not None and (one[1] <= two[0] or two[1] <= one[0])
        for one, two in zip(_ranges(a), _ranges(b), strict=False)
    )


def _ranges(index: _Index) -> Sequence[tuple[int, int] | None]:
    """The first place and that after the last on each axis, before an ellipsis; ``None`` where they depend on its
    size."""
    _, _, ellipsis, new_axis, shrink = index.masks
    found: list[tuple[int, int] | None] = []
    for i, (first, last, step) in enumerate(
        zip(index.begin, index.end, index.strides, strict=True)
    ):
        bit = 1 << i
        if ellipsis & bit:
            break
        if new_axis & bit:
            continue
        if shrink & bit:
            found.append((first, first + 1) if first >= 0 else None)
            continue
        open_first, open_last = index.masks[0] & bit, index.masks[1] & bit
        known = step > 0 and (open_first or first >= 0) and (open_last or last >= 0)
        found.append((0 if open_first else first, _END if open_last else last) if known else None)
    return found


#: After the last place of any axis.
_END = 1 << 62
