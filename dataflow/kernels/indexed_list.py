"""Kernels of the ops in `dataflow.ops.indexed_list`.

A list by index is an `ItemList`. Lists that were pushed are pairs (`dataflow.kernels.tensor_list`); each kernel
takes both, and what takes a pair can take an `ItemList`, which unpacks into the others and its last element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.concat_split import stack_kernel
from dataflow.kernels.registry import kernel

#: What is known of the elements' shape; ``None`` for a rank or a size that is not.
Sizes = tuple[int | None, ...] | None


class ItemList:
    """Elements by index, ``None`` for those that are not set; nobody changes ``items``."""

    __slots__ = ("items", "sizes")

    def __init__(self, items: Sequence[Any], sizes: Sizes) -> None:
        self.items, self.sizes = items, sizes

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        if not self.items or self.items[-1] is None:
            raise _wrong("Trying to pop from an empty list, or an element that is not set.")
        return iter((ItemList(self.items[:-1], self.sizes), self.items[-1]))


def _wrong(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def is_list(value: Any) -> bool:
    """True for a list of tensors of either kind."""
    return isinstance(value, (tuple, ItemList))


def _items(handle: Any) -> Sequence[Any]:
    """The elements of a list of either kind, the first one first."""
    last: list[Any] = []
    while isinstance(handle, tuple):
        if not handle:
            return last[::-1]
        handle, element = handle
        last.append(element)
    return [*handle.items, *last[::-1]] if last else handle.items


def _sizes_of(handle: Any) -> Sizes:
    while isinstance(handle, tuple) and handle:
        handle = handle[0]
    return handle.sizes if isinstance(handle, ItemList) else None


def _read_sizes(element_shape: Any) -> Sizes:
    if np.ndim(element_shape) == 0:
        return None
    return tuple(None if size < 0 else int(size) for size in np.asarray(element_shape))


def add_lists(lists: Sequence[Any]) -> Any:
    """The sums of the elements; what is missing or not set counts as zero."""
    all_items = [_items(x) for x in lists]
    total: list[Any] = [None] * max(map(len, all_items))
    for items in all_items:
        for i, item in enumerate(items):
            if item is None:
                continue
            if total[i] is None:
                total[i] = item
            else:
                total[i] = add_lists([total[i], item]) if is_list(item) else total[i] + item
    return ItemList(total, next((s for s in map(_sizes_of, lists) if s is not None), None))


def zeros_like_list(handle: Any) -> Any:
    """A list with as many elements, none of which is set."""
    return ItemList([None] * len(_items(handle)), _sizes_of(handle)) if handle else ()


def _zeros(xp: Module, sizes: Sizes, handle: Any, items: Sequence[Any], dtype: DType) -> Any:
    """The value of an element that is not set: zeros of the shape that is asked for, or that others have."""
    if dtype.kind == "x":
        return ()
    found = next((np.shape(x) for x in items if x is not None), None)
    for other in (_sizes_of(handle), found):
        if sizes is None:
            sizes = other
        elif other is not None and len(other) == len(sizes):
            sizes = tuple(b if a is None else a for a, b in zip(sizes, other, strict=True))
    if sizes is None or None in sizes:
        raise _wrong(
            f"Trying to read an element of a list that is not set, of the shape {sizes}: "
            "needed is a shape whose sizes are all known."
        )
    if dtype.numpy.kind == "O":
        return np.full(sizes, b"", object)
    return xp.zeros(sizes, dtype.numpy)[()]


def _checked_index(index: Any, items: Sequence[Any]) -> int:
    index = int(index)
    if not 0 <= index < len(items):
        raise _wrong(f"Trying to access element {index} in a list with {len(items)} elements.")
    return index  # type: ignore[no-any-return]


def _joined(xp: Module, handle: Any, items: Sequence[Any], element_shape: Any, dtype: DType) -> Any:
    sizes = _read_sizes(element_shape)
    missing: Any = None
    if not items or any(item is None for item in items):
        missing = _zeros(xp, sizes, handle, items, dtype)
    if not items:
        return xp.zeros((0, *np.shape(missing)), missing.dtype)
    return stack_kernel(xp, [missing if item is None else item for item in items], axis=0)


@kernel("TensorListReserve")
def tensor_list_reserve_kernel(
    xp: Module, element_shape: Array, num_elements: Array, *, element_dtype: DType
) -> Any:
    if num_elements < 0:
        raise _wrong(
            f"The num_elements to reserve must be a non negative number, but got {num_elements}"
        )
    return ItemList([None] * int(num_elements), _read_sizes(element_shape))


@kernel("TensorListLength")
def tensor_list_length_kernel(xp: Module, input_handle: Any) -> Any:
    return np.int32(len(_items(input_handle)))


@kernel("TensorListElementShape")
def tensor_list_element_shape_kernel(xp: Module, input_handle: Any, *, shape_type: DType) -> Any:
    sizes = _sizes_of(input_handle)
    if sizes is None:
        return shape_type.numpy.type(-1)
    return np.array([-1 if size is None else size for size in sizes], shape_type.numpy)


@kernel("TensorListFromTensor", any_dtype=True)
def tensor_list_from_tensor_kernel(xp: Module, tensor: Array, element_shape: Array) -> Any:
    if not np.ndim(tensor):
        raise _wrong("Tensor must be at least a vector, but saw shape: []")
    return ItemList(list(tensor), tensor.shape[1:])


@kernel("TensorListStack", any_dtype=True)
def tensor_list_stack_kernel(
    xp: Module, input_handle: Any, element_shape: Array, *, element_dtype: DType, num_elements: int
) -> Any:
    items = _items(input_handle)
    if 0 <= num_elements != len(items):
        raise _wrong(
            f"Operation expected a list with {num_elements} elements but got a list with {len(items)} elements."
        )
    return _joined(xp, input_handle, items, element_shape, element_dtype)


@kernel("TensorListGetItem", any_dtype=True)
def tensor_list_get_item_kernel(
    xp: Module, input_handle: Any, index: Array, element_shape: Array, *, element_dtype: DType
) -> Any:
    items = _items(input_handle)
    found = items[_checked_index(index, items)]
    if found is None:
        return _zeros(xp, _read_sizes(element_shape), input_handle, items, element_dtype)
    return found


@kernel("TensorListSetItem", any_dtype=True)
def tensor_list_set_item_kernel(
    xp: Module,
    input_handle: Any,
    index: Array,
    item: Any,
    *,
    resize_if_index_out_of_bounds: bool,
) -> Any:
    items = list(_items(input_handle))
    if resize_if_index_out_of_bounds:
        items += [None] * (int(index) + 1 - len(items))
    items[_checked_index(index, items)] = item
    return ItemList(items, _sizes_of(input_handle))


@kernel("TensorListResize")
def tensor_list_resize_kernel(xp: Module, input_handle: Any, size: Array) -> Any:
    items, count = _items(input_handle), int(size)
    if count < 0:
        raise _wrong(f"TensorListSlice expects size to be non-negative. Got: {count}")
    if count == len(items):
        return input_handle
    return ItemList([*items[:count], *[None] * (count - len(items))], _sizes_of(input_handle))


@kernel("TensorListGather", any_dtype=True)
def tensor_list_gather_kernel(
    xp: Module, input_handle: Any, indices: Array, element_shape: Array, *, element_dtype: DType
) -> Any:
    items = _items(input_handle)
    chosen = [items[_checked_index(i, items)] for i in indices]
    return _joined(xp, input_handle, chosen, element_shape, element_dtype)


@kernel("TensorListScatterV2", any_dtype=True)
def tensor_list_scatter_kernel(
    xp: Module, tensor: Array, indices: Array, element_shape: Array, num_elements: Array
) -> Any:
    if len(indices) != len(tensor):
        raise _wrong(
            f"Expected as many indices as parts of the tensor, got {len(indices)} and {len(tensor)}"
        )
    count = int(num_elements)
    if count < 0:
        count = max(map(int, indices), default=-1) + 1
    items: list[Any] = [None] * count
    for i, part in zip(indices, tensor, strict=True):
        items[_checked_index(i, items)] = part
    return ItemList(items, tensor.shape[1:])


@kernel("TensorListConcatV2", any_dtype=True)
def tensor_list_concat_kernel(
    xp: Module,
    input_handle: Any,
    element_shape: Array,
    leading_dims: Array,
    *,
    element_dtype: DType,
) -> Any:
    items = list(_items(input_handle))
    sizes = _read_sizes(element_shape)
    for i, item in enumerate(items):
        if item is None:
            first = int(leading_dims[i]) if i < len(leading_dims) else None
            rest = None if sizes is None else (first, *sizes[1:])
            items[i] = _zeros(xp, rest, input_handle, items, element_dtype)
        elif not np.ndim(item):
            raise _wrong(f"Concat saw a scalar shape at index {i} but requires at least vectors.")
    lengths = np.array([len(item) for item in items], np.int64)
    if not items:
        rest = None if sizes is None else (0, *sizes[1:])
        return _zeros(xp, rest, input_handle, items, element_dtype), lengths
    return xp.concatenate(items), lengths


@kernel("TensorListSplit", any_dtype=True)
def tensor_list_split_kernel(
    xp: Module, tensor: Array, element_shape: Array, lengths: Array
) -> Any:
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    if total != len(tensor):
        raise _wrong(
            f"Attempting to split {len(tensor)} rows into parts that have {total} together: "
            "the lengths must add up to the first size of the tensor."
        )
    parts = [tensor[end - size : end] for size, end in zip(lengths, ends, strict=True)]
    return ItemList(parts, _read_sizes(element_shape))
