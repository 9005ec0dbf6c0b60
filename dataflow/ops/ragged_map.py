"""`tf.map_fn` where elements or results are ragged: rows one by one, and the results one behind the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.nest import assert_same_structure, flatten, pack_like
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.comparison import less
from dataflow.ops.ragged_tensor import RaggedTensor, num_rows
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.while_loop import while_loop


class RaggedTensorType:
    """What the function of `tf.map_fn` makes, stacked: a ragged tensor of this dtype and ragged rank."""

    def __init__(self, dtype: Any, ragged_rank: int, row_splits_dtype: Any = dtypes.int64) -> None:
        self.dtype = as_dtype(dtype)
        self.ragged_rank = ragged_rank
        self.row_splits_dtype = as_dtype(row_splits_dtype)

    def __repr__(self) -> str:
        return f"RaggedTensorType({self.dtype!r}, {self.ragged_rank!r})"


def is_ragged_map(elems: Any, dtype: Any) -> bool:
    """Whether elements or results of a `map_fn` are ragged."""
    return any(isinstance(e, RaggedTensor) for e in flatten(elems)) or any(
        isinstance(d, RaggedTensorType) for d in flatten(dtype)
    )


def ragged_map_fn(
    fn: Callable[..., Any], elems: Any, dtype: Any, infer_shape: bool, loop: dict[str, Any]
) -> Any:
    """As `map_fn`, for ``elems`` and results of which some are ragged.

    An element of a ragged tensor of rank 1 is a tensor, of one of a higher rank a ragged tensor. Raises
    `ValueError` where ``fn`` makes anything of another ragged rank than ``dtype`` says.
    """
    tensors = [e if isinstance(e, RaggedTensor) else convert_to_tensor(e) for e in flatten(elems)]
    structure = elems if dtype is None else dtype
    results = [
        _Result(kind, infer_shape)
        for kind in (map(_kind_of, tensors) if dtype is None else flatten(dtype))
    ]
    count = cast(num_rows(tensors[0], dtypes.int64), dtypes.int32)

    def compute(i: Any, arrays: Any) -> Any:
        made = fn(pack_like(elems, [t[i] for t in tensors]))
        assert_same_structure(structure, made, False)
        written = [
            result.write(own, i, value)
            for result, own, value in zip(results, arrays, flatten(made), strict=True)
        ]
        return i + 1, written

    start = [result.arrays(count) for result in results]
    _, arrays = while_loop(
        lambda i, _: less(i, count), compute, (convert_to_tensor(0), start), **loop
    )
    stacked = [result.stack(own) for result, own in zip(results, arrays, strict=True)]
    return pack_like(structure, stacked)


def _kind_of(tensor: Any) -> Any:
    if isinstance(tensor, RaggedTensor):
        return RaggedTensorType(tensor.dtype, tensor.ragged_rank, tensor.row_splits.dtype)
    return tensor.dtype.base_dtype


class _Result:
    """One component of the results: an array for its values, and one for the row lengths of each level."""

    def __init__(self, kind: Any, infer_shape: bool) -> None:
        self.ragged = kind if isinstance(kind, RaggedTensorType) else None
        self.dtype = as_dtype(kind) if self.ragged is None else self.ragged.dtype.base_dtype
        self.infer_shape = infer_shape

    def arrays(self, count: Any) -> list[TensorArray]:
        if self.ragged is None:
            return [TensorArray(self.dtype, size=count, infer_shape=self.infer_shape)]
        kinds = [self.dtype, *[self.ragged.row_splits_dtype] * self.ragged.ragged_rank]
        return [TensorArray(kind, size=count, infer_shape=False) for kind in kinds]

    def write(self, arrays: list[TensorArray], i: Any, value: Any) -> list[TensorArray]:
        if self.ragged is None:
            if isinstance(value, RaggedTensor):
                raise ValueError(
                    f"Expected `fn` to return: {self.dtype.name}. But it returned: {value}."
                )
            return [arrays[0].write(i, value)]
        if not isinstance(value, RaggedTensor):
            value = convert_to_tensor(value, self.dtype)
        own_rank = value.ragged_rank if isinstance(value, RaggedTensor) else 0
        if own_rank + 1 != self.ragged.ragged_rank or value.dtype.base_dtype is not self.dtype:
            raise ValueError(
                f"Expected `fn` to return: {self.ragged} less its first axis. But it returned: {value}."
            )
        inner = value.nested_row_lengths() if isinstance(value, RaggedTensor) else ()
        flat = value.flat_values if isinstance(value, RaggedTensor) else value
        lengths = [array.reshape(num_rows(value, self.ragged.row_splits_dtype), [1]), *inner]
        parts = [flat, *(cast(each, self.ragged.row_splits_dtype) for each in lengths)]
        return [a.write(i, part) for a, part in zip(arrays, parts, strict=True)]

    def stack(self, arrays: list[TensorArray]) -> Any:
        if self.ragged is None:
            return arrays[0].stack()
        flat, *lengths = (each.concat() for each in arrays)
        return RaggedTensor.from_nested_row_lengths(flat, lengths)
