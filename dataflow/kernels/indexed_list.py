"""Kernels of the ops in `dataflow.ops.indexed_list`.

A list by index is an `ItemList`. Lists that were pushed are pairs (`dataflow.kernels.tensor_list`); each kernel
takes both, and what takes a pair can take an `ItemList`, which unpacks into the others and its last element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.concat_split import stack_kernel
from dataflow.kernels.item_list import (
    ItemList,
    Sizes,
    check_shape,
    is_list,
    items_of,
    merged_sizes,
    read_sizes,
    shapes_fit,
    sizes_of,
    wrong_list,
)
from dataflow.kernels.registry import kernel


def popped(xp: Module, handle: ItemList, element_shape: Any, dtype: DType) -> tuple[Any, Any]:
    """The list without its last element, and that element: zeros where it is not set."""
    rest = ItemList(handle.items[:-1], handle.sizes, handle.most)
    last = handle.items[-1]
    if last is None:
        last = _zeros(xp, read_sizes(element_shape), handle, [], dtype)
    return rest, last


def add_lists(lists: Sequence[Any]) -> Any:
    """The sums of the elements; what is missing or not set counts as zero."""
    all_items = [items_of(x) for x in lists]
    sizes: Sizes = None
    for one in lists:
        sizes = merged_sizes(sizes, sizes_of(one))
    total: list[Any] = [None] * max(map(len, all_items))
    for items in all_items:
        for i, item in enumerate(items):
            if item is None:
                continue
            if total[i] is None:
                total[i] = item
            else:
                total[i] = add_lists([total[i], item]) if is_list(item) else total[i] + item
    return ItemList(total, sizes)


def zeros_like_list(handle: Any) -> Any:
    """A list of as many zeros, each like its element; what is not set stays so."""
    if isinstance(handle, tuple) and not handle:
        return ()
    zeros = [
        zeros_like_list(item) if is_list(item) else None if item is None else _zero(item)
        for item in items_of(handle)
    ]
    return ItemList(zeros, sizes_of(handle))


def _zero(item: Any) -> Any:
    if item.dtype.kind == "O":
        return np.full(np.shape(item), b"", object)
    return item * item.dtype.type(0) if np.ndim(item) else item.dtype.type(0)


def _zeros(xp: Module, sizes: Sizes, handle: Any, items: Sequence[Any], dtype: DType) -> Any:
    """The value of an element that is not set: zeros of the shape that is asked for, or that others have."""
    if dtype.kind == "x":
        return ()
    found = next((np.shape(x) for x in items if x is not None), None)
    for other in (sizes_of(handle), found):
        sizes = merged_sizes(sizes, other)
    if sizes is None or None in sizes:
        raise wrong_list(
            f"Trying to read an element of a list that is not set, of the shape {sizes}: "
            "needed is a shape whose sizes are all known."
        )
    if dtype.numpy.kind == "O":
        return np.full(sizes, b"", object)
    return xp.zeros(sizes, dtype.numpy)[()]


def _checked_index(index: Any, items: Sequence[Any]) -> int:
    index = int(index)
    if not 0 <= index < len(items):
        raise wrong_list(f"Trying to access element {index} in a list with {len(items)} elements.")
    return index  # type: ignore[no-any-return]


def _joined(xp: Module, handle: Any, items: Sequence[Any], element_shape: Any, dtype: DType) -> Any:
    sizes = read_sizes(element_shape)
    first = next((np.shape(item) for item in items if item is not None), None)
    for item in items:
        if item is not None and np.shape(item) != first:
            raise wrong_list(
                f"Incompatible shapes of elements: {list(first or ())} and {list(np.shape(item))}."
            )
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
        raise wrong_list(
            f"The num_elements to reserve must be a non negative number, but got {num_elements}"
        )
    return ItemList([None] * int(num_elements), read_sizes(element_shape))


@kernel("TensorListLength")
def tensor_list_length_kernel(xp: Module, input_handle: Any) -> Any:
    return np.int32(len(items_of(input_handle)))


@kernel("TensorListElementShape")
def tensor_list_element_shape_kernel(xp: Module, input_handle: Any, *, shape_type: DType) -> Any:
    sizes = sizes_of(input_handle)
    if sizes is None:
        return shape_type.numpy.type(-1)
    return np.array([-1 if size is None else size for size in sizes], shape_type.numpy)


@kernel("TensorListFromTensor", any_dtype=True)
def tensor_list_from_tensor_kernel(xp: Module, tensor: Array, element_shape: Array) -> Any:
    if not np.ndim(tensor):
        raise wrong_list("Tensor must be at least a vector, but saw shape: []")
    return ItemList(list(tensor), _declared(tensor, element_shape))


@kernel("TensorListStack", any_dtype=True)
def tensor_list_stack_kernel(
    xp: Module, input_handle: Any, element_shape: Array, *, element_dtype: DType, num_elements: int
) -> Any:
    items = items_of(input_handle)
    if 0 <= num_elements != len(items):
        raise wrong_list(
            f"Operation expected a list with {num_elements} elements but got a list with {len(items)} elements."
        )
    return _joined(xp, input_handle, items, element_shape, element_dtype)


@kernel("TensorListGetItem", any_dtype=True)
def tensor_list_get_item_kernel(
    xp: Module, input_handle: Any, index: Array, element_shape: Array, *, element_dtype: DType
) -> Any:
    items = items_of(input_handle)
    found = items[_checked_index(index, items)]
    if found is None:
        return _zeros(xp, read_sizes(element_shape), input_handle, items, element_dtype)
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
    items = list(items_of(input_handle))
    if resize_if_index_out_of_bounds:
        items += [None] * (int(index) + 1 - len(items))
    check_shape(item, sizes := sizes_of(input_handle))
    items[_checked_index(index, items)] = item
    return ItemList(items, sizes)


@kernel("TensorListResize")
def tensor_list_resize_kernel(xp: Module, input_handle: Any, size: Array) -> Any:
    items, count = items_of(input_handle), int(size)
    if count < 0:
        raise wrong_list(f"TensorListSlice expects size to be non-negative. Got: {count}")
    if count == len(items):
        return input_handle
    return ItemList([*items[:count], *[None] * (count - len(items))], sizes_of(input_handle))


@kernel("TensorListGather", any_dtype=True)
def tensor_list_gather_kernel(
    xp: Module, input_handle: Any, indices: Array, element_shape: Array, *, element_dtype: DType
) -> Any:
    items = items_of(input_handle)
    chosen = [items[_checked_index(i, items)] for i in indices]
    return _joined(xp, input_handle, chosen, element_shape, element_dtype)


@kernel("TensorListScatterV2", any_dtype=True)
def tensor_list_scatter_kernel(
    xp: Module, tensor: Array, indices: Array, element_shape: Array, num_elements: Array
) -> Any:
    if len(indices) != len(tensor):
        raise wrong_list(
            f"Expected as many indices as parts of the tensor, got {len(indices)} and {len(tensor)}"
        )
    count = int(num_elements)
    if count < -1:
        raise wrong_list(f"TensorListScatter expects num_elements >= -1, found: {count}")
    if count < 0:
        count = max(map(int, indices), default=-1) + 1
    items: list[Any] = [None] * count
    for i, part in zip(indices, tensor, strict=True):
        items[_checked_index(i, items)] = part
    return ItemList(items, _declared(tensor, element_shape))


@kernel("TensorListScatterIntoExistingList", any_dtype=True)
def tensor_list_scatter_into_kernel(
    xp: Module, input_handle: Any, tensor: Array, indices: Array
) -> Any:
    if len(indices) != len(tensor):
        raise wrong_list(
            f"Expected as many indices as parts of the tensor, got {len(indices)} and {len(tensor)}"
        )
    items, sizes = list(items_of(input_handle)), sizes_of(input_handle)
    items += [None] * (max(map(int, indices), default=-1) + 1 - len(items))
    for i, part in zip(indices, tensor, strict=True):
        check_shape(part, sizes)
        items[_checked_index(i, items)] = part
    return ItemList(items, sizes)


def _declared(tensor: Array, element_shape: Any) -> Sizes:
    """The shape that elements are to have. Raises `InvalidArgumentError` where ``tensor``'s parts have another."""
    sizes = read_sizes(element_shape)
    merged_sizes(sizes, tensor.shape[1:])
    return sizes


@kernel("TensorListConcatV2", any_dtype=True)
def tensor_list_concat_kernel(
    xp: Module,
    input_handle: Any,
    element_shape: Array,
    leading_dims: Array,
    *,
    element_dtype: DType,
) -> Any:
    items = list(items_of(input_handle))
    sizes = read_sizes(element_shape)
    if sizes_of(input_handle) == () or sizes == ():
        raise wrong_list("Concat requires elements to be at least vectors, found scalars instead.")
    own = merged_sizes(sizes, sizes_of(input_handle))
    found = next((np.shape(item) for item in items if item is not None), None)
    for i, item in enumerate(items):
        if item is None:
            first = int(leading_dims[i]) if i < len(leading_dims) else None
            items[i] = _zeros(xp, _padding(own, found, first), (), [], element_dtype)
        elif not np.ndim(item):
            raise wrong_list(
                f"Concat saw a scalar shape at index {i} but requires at least vectors."
            )
    lengths = np.array([len(item) for item in items], np.int64)
    if not items:
        return _zeros(xp, _padding(own, None, 0), (), [], element_dtype), lengths
    return xp.concatenate(items), lengths


def _padding(own: Sizes, found: Sizes, first: int | None) -> Sizes:
    """The shape of an element that is not set and joined to others, which may differ in their first size."""
    known = own if found is None else found
    if known is None:
        return None
    rest = merged_sizes(known[1:], None if own is None else own[1:])
    if first is None:
        first = own[0] if own is not None and own[0] is not None else known[0]
    return (first, *(rest or ()))


@kernel("TensorListSplit", any_dtype=True)
def tensor_list_split_kernel(
    xp: Module, tensor: Array, element_shape: Array, lengths: Array
) -> Any:
    sizes = read_sizes(element_shape)
    if not np.ndim(tensor):
        raise wrong_list("Tensor must be at least a vector, but saw shape: []")
    if np.ndim(lengths) != 1:
        raise wrong_list(
            f"Expected lengths to be a vector, received shape: {list(np.shape(lengths))}"
        )
    if sizes == ():
        raise wrong_list(
            "TensorListSplit requires element_shape to be at least of rank 1, but saw: []"
        )
    if sizes is not None and not shapes_fit(tensor.shape[1:], sizes[1:]):
        raise wrong_list(
            f"tensor shape {list(tensor.shape)} is not compatible with element_shape {list(sizes)}"
        )
    if np.any(lengths < 0):
        raise wrong_list(f"Invalid value in lengths: {np.min(lengths)}")
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    if total != len(tensor):
        raise wrong_list(
            f"Attempting to split {len(tensor)} rows into parts that have {total} together: "
            "the lengths must add up to the first size of the tensor."
        )
    parts = [tensor[end - size : end] for size, end in zip(lengths, ends, strict=True)]
    return ItemList(parts, sizes)


@kernel("TensorListConcatLists")
def tensor_list_concat_lists_kernel(
    xp: Module, input_a: Any, input_b: Any, *, element_dtype: DType
) -> Any:
    return _each(lambda a, b: _with_all(a, items_of(b), sizes_of(b)), input_a, input_b)


@kernel("TensorListPushBackBatch", any_dtype=True)
def tensor_list_push_back_batch_kernel(xp: Module, input_handles: Any, tensor: Array) -> Any:
    if np.ndim(tensor) == 0 or len(tensor) != np.size(input_handles):
        raise wrong_list(
            f"Expected an element for each list, got {list(np.shape(tensor))} for "
            f"{np.size(input_handles)} lists."
        )
    rows = np.empty(len(tensor), object)
    for i in range(len(tensor)):
        rows[i] = tensor[i]
    return _each(lambda handle, row: _with_all(handle, [row], None), input_handles, rows)


def _with_all(handle: Any, items: Sequence[Any], sizes: Sizes) -> ItemList:
    """A list with more elements at its end, which has the shape of both."""
    own = merged_sizes(sizes_of(handle), sizes)
    for item in items:
        if item is not None:
            check_shape(item, own)
    return ItemList([*items_of(handle), *items], own)


def _each(function: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    """``function`` of the elements of two arrays of the same shape; of two lists, where there is one each."""
    if is_list(first) and is_list(second):
        return function(first, second)
    if np.shape(first) != np.shape(second):
        raise wrong_list("There must be as many lists on both sides.")
    made = np.empty(first.size, object)
    for i, pair in enumerate(zip(first.reshape(-1), second.reshape(-1), strict=True)):
        made[i] = function(*pair)
    return made.reshape(first.shape)
